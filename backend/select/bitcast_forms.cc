// Forms of the instructions that move or convert the bits of tiles in registers.
#include <algorithm>
#include <utility>

#include "backend/select/cast_recipe.h"
#include "backend/select/default_forms.h"
#include "backend/select/recipe_search.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::backend {
namespace {

/// The form of an instruction whose result is bits of another tile. The compiler removes a mere
/// copy.
Form select_bits(BitOrigin origin, const InstStmt& stmt, const Selection& selection) {
  if (selection.chains.is_elided(stmt.results[0])) return ElidedView{origin.base};
  if (std::is_sorted(origin.source_bits.begin(), origin.source_bits.end()))
    return CopiedBits{origin.base};
  return MovedBits{origin.base, gather_recipe(origin.source_bits)};
}

/// Bytes that an element takes in shared memory on its way to another thread.
int exchanged_bytes(const isa::DType& dtype) {
  return dtype.bits <= 8 ? 1 : dtype.bits <= 16 ? 2 : dtype.bits <= 32 ? 4 : 8;
}

}  // namespace

Form select_form(const isa::Cast& inst, const InstStmt& stmt, const Selection& selection) {
  const isa::RegisterType& from = selection.tile(inst.src.var);
  const isa::Target& target = selection.program.target();
  if (casts_bits(from.dtype, inst.dtype, target)) {
    const BitOrigin origin = selection.chains.origin(inst.src.var);
    return RecipeCast{origin.base,
                      make_recipe(*cast_form(from.dtype, inst.dtype, target), origin.source_bits)};
  }
  // A cast to the same type makes NaN canonical, and the bits of tf32 that have no meaning zero.
  const bool is_same = from.dtype == inst.dtype && inst.dtype != isa::tf32;
  if (is_same && selection.chains.is_for_arithmetic(stmt.results[0])) {
    return select_bits(selection.chains.origin(inst.src.var), stmt, selection);
  }
  const bool to_half = inst.dtype == isa::f16 || inst.dtype == isa::bf16;
  const bool in_pairs =
      from.dtype == isa::f32 && to_half && from.layout.num_locals() % 2 == 0;  // tv::cast_tile
  return ElementCast{inst.src.var, in_pairs};
}

Form select_form(const isa::View& inst, const InstStmt& stmt, const Selection& selection) {
  return select_bits(selection.chains.origin(inst.src.var), stmt, selection);
}

Form select_form(const isa::ConvertLayout& inst, const InstStmt& stmt, const Selection& selection) {
  const isa::RegisterType& source = selection.tile(inst.src.var);
  if (!isa::thread_local_equivalent(source.layout, inst.layout)) {
    auto plan = isa::plan_warp_exchange(source.layout, inst.layout, source.dtype.bits);
    if (plan) return ShuffledElements{inst.src.var, std::move(*plan)};
    const int bytes = exchanged_bytes(source.dtype);
    return ExchangedElements{inst.src.var, bytes,
                             isa::exchange_order(source.layout, inst.layout, bytes)};
  }
  BitOrigin origin = selection.chains.origin(inst.src.var);
  std::vector<SourceBit> source_bits = converted_bits(selection.tile(inst.src.var), inst.layout);
  for (SourceBit& source_bit : source_bits)
    source_bit = origin.source_bits[static_cast<std::size_t>(source_bit)];
  return select_bits({origin.base, std::move(source_bits)}, stmt, selection);
}

}  // namespace tilevm::backend
