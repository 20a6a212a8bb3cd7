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
bool check_memory_defined(const SharedAccess& access, const TableLookup& runs,
                          const TileOrigin& origin, Context& context) {
  const std::uint8_t* const mask = context.state.shared.undefined.data();
  const auto found = find_offenders(access.parts->first_threads, access.tile.locals,
                                    [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
                                      const std::uint64_t bit = runs.bit_of(t, i, access.tile.bits);
                                      if (isa::get_bits(mask, bit, access.tile.bits) == 0)
                                        return {};
                                      return Offender<>{element_index(access, origin, t, i)};
                                    });
  if (found.count == 0) return true;
  fail_undefined_target(access.mnemonic, access.span, access.tensor,
                        access.parts->first_threads.size() * access.tile.locals, found, context);
  add_note(context.fault->diagnostic, "nothing had written them; store them before");
  return false;
}

/// Every element once, by the first thread that holds it.
void combine_shared(const SharedAccess& access, const TableLookup& runs, Context& context) {
  const std::uint8_t* const registers = context.state.registers.at(access.tile.offset);
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      const std::uint64_t code = isa::get_bits(registers + t * access.tile.thread_bytes,
                                               i * access.tile.bits, access.tile.bits);
      combine_bits(context.state.shared.bytes.data(), runs.bit_of(t, i, access.tile.bits),
                   access.dtype, *access.combines, code);
    }
  }
}

bool combine_tile(const SharedAccess& access, Context& context) {
  TileOrigin origin{};
  if (!find_shared_origin(access, context, origin)) return false;
  if (!check_shared_access(access, origin, SharedUse::combine, context)) return false;
  const TableLookup runs = find_runs(access, context, origin);
  if (context.settings.checks.padding) {
    combine_shared_padding(access, runs, context);
  } else if (may_be_undefined(access, context.state.shared) &&
             !check_memory_defined(access, runs, origin, context)) {
    return false;
  }
  if (context.state.shadow.kept) combine_shadow(runs, access, context);
  combine_shared(access, runs, context);
  return true;
}

}  // namespace

bool load_tile(const SharedAccess& access, Context& context) {
  TileOrigin origin{};
  if (!find_shared_origin(access, context, origin)) return false;
  if (!check_shared_access(access, origin, SharedUse::read, context)) return false;
  const TableLookup runs = find_runs(access, context, origin);
  const SharedMemory& shared = context.state.shared;
  read_shared(runs, access, shared.bytes.data(), context.state.registers.at(access.tile.offset));
  UndefinedRegisters& undefined = context.state.undefined;
  if (may_be_undefined(access, shared)) {
    read_shared(runs, access, shared.undefined.data(), undefined.at(access.tile.offset));
    undefined.update(access.tile, context.settings.checks.padding
                                      ? context.state.padding[access.tensor_number]
                                      : Origin{access.mnemonic, access.span});
  } else if (undefined.any()) {
    undefined.clear(access.tile);
  }
  if (context.state.shadow.kept) load_shadow(runs, access, context);
  return true;
}

bool store_tile(const SharedAccess& access, Context& context) {
  if (access.combines) return combine_tile(access, context);
  TileOrigin origin{};
  if (!find_shared_origin(access, context, origin)) return false;
  if (!check_shared_access(access, origin, SharedUse::write, context)) return false;
  const TableLookup runs = find_runs(access, context, origin);
  SharedMemory& shared = context.state.shared;
  write_shared(runs, access, context.state.registers.at(access.tile.offset), shared.bytes.data());
  if (context.settings.checks.padding) {
    store_shared_padding(access, runs, context);
  } else if (may_be_undefined(access, shared)) {
    define_shared(runs, access, shared);
  }
  if (context.state.shadow.kept) store_shadow(runs, access, context);
  return true;
}

}  // namespace tilevm::sim
