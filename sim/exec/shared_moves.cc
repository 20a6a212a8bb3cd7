#include "sim/exec/shared_moves.h"

#include <optional>

#include "isa/type/bits.h"
#include "sim/access/access_reports.h"
#include "sim/arithmetic/combine_bits.h"
#include "sim/checks/granules.h"
#include "sim/checks/padding.h"
#include "sim/checks/shared_checks.h"
#include "sim/shadow/shadow_access.h"

namespace tilevm::sim {
namespace {

/// Whether all elements with which a store is to be combined have values; false after a fault.
bool check_memory_defined(const ResolvedAccess& resolved, Context& context) {
  const SharedAccess& access = *resolved.access;
  const std::uint8_t* const mask = context.state.shared.undefined.data();
  const auto found = find_offenders(access.parts->first_threads, access.tile.locals,
                                    [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
                                      const std::uint64_t bit = resolved.bit_of(t, i);
                                      if (isa::get_bits(mask, bit, access.tile.bits) == 0)
                                        return {};
                                      return Offender<>{element_index(resolved, t, i)};
                                    });
  if (found.count == 0) return true;
  fail_undefined_target(access.mnemonic, access.span, access.tensor,
                        access.parts->first_threads.size() * access.tile.locals, found, context);
  add_note(context.fault->diagnostic, "nothing had written them; store them before");
  return false;
}

/// Every element once, by the first thread that holds it.
void combine_shared(const ResolvedAccess& resolved, Context& context) {
  const SharedAccess& access = *resolved.access;
  const std::uint8_t* const registers = context.state.registers.at(access.tile.offset);
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      const std::uint64_t code = isa::get_bits(registers + t * access.tile.thread_bytes,
                                               i * access.tile.bits, access.tile.bits);
      combine_bits(context.state.shared.bytes.data(), resolved.bit_of(t, i), access.dtype,
                   *access.combines, code);
    }
  }
}

bool combine_tile(const SharedAccess& access, Context& context) {
  ResolvedAccess resolved;
  if (!resolve(access, context, resolved)) return false;
  if (!check_shared_access(resolved, SharedUse::combine, context)) return false;
  if (context.settings.checks.padding) {
    combine_shared_padding(resolved, context);
  } else if (may_be_undefined(access, context.state.shared) &&
             !check_memory_defined(resolved, context)) {
    return false;
  }
  if (context.state.shadow.kept) combine_shadow(resolved, context);
  combine_shared(resolved, context);
  return true;
}

}  // namespace

bool load_tile(const SharedAccess& access, Context& context) {
  ResolvedAccess resolved;
  if (!resolve(access, context, resolved)) return false;
  if (!check_shared_access(resolved, SharedUse::read, context)) return false;
  const SharedMemory& shared = context.state.shared;
  read_shared(resolved, shared.bytes.data(), context.state.registers.at(access.tile.offset));
  UndefinedRegisters& undefined = context.state.undefined;
  if (context.settings.checks.padding) {
    load_shared_padding(resolved, context);
  } else if (may_be_undefined(access, shared)) {
    read_shared(resolved, shared.undefined.data(), undefined.at(access.tile.offset));
    undefined.update(access.tile, Origin{access.mnemonic, access.span});
  } else if (undefined.any()) {
    undefined.clear(access.tile);
  }
  if (context.state.shadow.kept) load_shadow(resolved, context);
  return true;
}

bool store_tile(const SharedAccess& access, Context& context) {
  if (access.combines) return combine_tile(access, context);
  ResolvedAccess resolved;
  if (!resolve(access, context, resolved)) return false;
  if (!check_shared_access(resolved, SharedUse::write, context)) return false;
  SharedMemory& shared = context.state.shared;
  write_shared(resolved, context.state.registers.at(access.tile.offset), shared.bytes.data());
  if (context.settings.checks.padding) {
    store_shared_padding(resolved, context);
  } else if (may_be_undefined(access, shared)) {
    define_shared(resolved, shared);
  }
  if (context.state.shadow.kept) store_shadow(resolved, context);
  return true;
}

}  // namespace tilevm::sim
