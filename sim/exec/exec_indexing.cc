// Instructions that give scalars: where a block stands, and what an element is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "isa/layout/layout_ops.h"
#include "isa/rules/support.h"
#include "isa/type/bits.h"
#include "sim/access/global_access.h"
#include "sim/access/shared_access.h"
#include "sim/checks/shared_checks.h"
#include "sim/exec/global_moves.h"
#include "sim/exec/semantics.h"

namespace tilevm::sim {
namespace {

/// An element as all threads of the group read it: a tile without dimensions, which all hold.
Tile element_tile(const isa::DType& type, const Preparation& preparation) {
  Tile tile;
  tile.threads = static_cast<std::size_t>(preparation.info.threads_at(preparation.stmt.id));
  tile.locals = 1;
  tile.bits = type.bits;
  tile.thread_bytes = (tile.bits + 7U) / 8;
  return tile;
}
std::shared_ptr<const LayoutParts> element_parts(const Preparation& preparation) {
  return preparation.tables.parts(
      *isa::replicated(preparation.info.threads_at(preparation.stmt.id)));
}

/// The element's code as the bits of a scalar: extended by its sign.
std::uint64_t scalar_bits(const isa::DType& type, std::uint64_t code) {
  if (!type.is_signed_int()) return code;
  const unsigned unused = 64U - type.bits;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(code << unused) >> unused);
}

/// Control flow may depend on a scalar, so it has a value.
bool undefined_scalar(Span span, const std::string& element, Context& context) {
  return context.fail(Code::uninitialized_read, span,
                      fmt::format("`LoadScalar` reads {}, which has no defined value", element));
}

Action load_scalar(isa::RegisterOperand src, const isa::LoadScalar&,
                   const Preparation& preparation) {
  const isa::DType type = preparation.register_type(src.var).dtype;
  return [tile = preparation.tile(src.var), type,
          slot = static_cast<std::size_t>(preparation.result().index)](Context& context) {
    const std::uint64_t code = isa::get_bits(context.state.registers.at(tile.offset), 0, type.bits);
    context.state.scalars[slot] = scalar_bits(type, code);
    return true;
  };
}

Action load_scalar(isa::SharedOperand src, const isa::LoadScalar& inst,
                   const Preparation& preparation) {
  const isa::DType type = preparation.shared_type(src.var).dtype;
  return [access = make_shared_access(src.var, {}, inst.offset, element_tile(type, preparation),
                                      element_parts(preparation), preparation),
          type, slot = static_cast<std::size_t>(preparation.result().index)](Context& context) {
    ResolvedAccess resolved;
    if (!resolve(access, context, resolved)) return false;
    if (!check_shared_access(resolved, SharedUse::read, context)) return false;
    const std::uint64_t bit = resolved.bit_of(0, 0);
    const SharedMemory& shared = context.state.shared;
    if (!context.settings.checks.padding && may_be_undefined(access, shared) &&
        isa::get_bits(shared.undefined.data(), bit, type.bits) != 0) {
      const auto rank = static_cast<std::ptrdiff_t>(access.offsets.size());
      const auto begin = resolved.origin.begin.begin();
      return undefined_scalar(
          access.span, fmt::format("`{}[{}]`", access.tensor, fmt::join(begin, begin + rank, ", ")),
          context);
    }
    context.state.scalars[slot] =
        scalar_bits(type, isa::get_bits(shared.bytes.data(), bit, type.bits));
    return true;
  };
}

Action load_scalar(isa::GlobalOperand src, const isa::LoadScalar& inst,
                   const Preparation& preparation) {
  const isa::DType type = preparation.global_type(src.var).dtype;
  return [access = make_global_access(src.var, {}, inst.offset, element_tile(type, preparation),
                                      element_parts(preparation), preparation),
          type, slot = static_cast<std::size_t>(preparation.result().index)](Context& context) {
    std::uint64_t code = 0;
    if (!load_element(access, context, code)) return false;
    context.state.scalars[slot] = scalar_bits(type, code);
    return true;
  };
}

}  // namespace

/// One i32 for each grid extent; x is the first.
template <>
Action prepare(const isa::BlockIndices&, const Preparation& preparation) {
  std::vector<std::size_t> slots;
  for (const isa::VarId result : preparation.stmt.results) {
    slots.push_back(static_cast<std::size_t>(result.index));
  }
  return [slots = std::move(slots)](Context& context) {
    for (std::size_t d = 0; d < slots.size(); ++d) {
      context.state.scalars[slots[d]] = static_cast<std::uint64_t>(context.state.block[d]);
    }
    return true;
  };
}

/// Nothing is masked: the element is there, and has a value.
template <>
Action prepare(const isa::LoadScalar& inst, const Preparation& preparation) {
  return std::visit([&](const auto& src) { return load_scalar(src, inst, preparation); },
                    inst.src.value);
}

/// What is read from memory is checked in the action.
template <>
UndefinedTransfer undefined_transfer(const isa::LoadScalar& inst, const Preparation& preparation) {
  return use_transfer(tile_operands(inst), preparation);
}

}  // namespace tilevm::sim
