#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_recipe.h"
#include "backend/emit/explain.h"
#include "backend/select/cast_recipe.h"
#include "backend/select/recipe_search.h"

namespace tilevm::backend {
namespace {

/// Writes the bits that a tile takes from elsewhere; the compiler removes a mere copy.
void emit_bits(const BitOrigin& origin, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  const std::string &to = kernel.name(result), &from = kernel.name(origin.base);
  if (kernel.chains().is_skipped(result)) {
    return kernel.chose(stmt, fmt::format("nothing: what reads it takes the bits of `{}`", from));
  }
  kernel.declare_tile(stmt);
  if (std::is_sorted(origin.places.begin(), origin.places.end())) {
    kernel.chose(stmt, fmt::format("nothing: the bits of `{}` as they are", from));
    const auto words = tile_words(kernel.type<isa::RegisterType>(result));
    kernel.out.line(fmt::format("tv::copy_words<{}>({}, {});", words, to, from));
    return;
  }
  const BitRecipe recipe = gather_recipe(origin.places);
  kernel.chose(stmt, fmt::format("{} instructions move bits of `{}`",
                                 recipe.cost() * recipe.repetitions, from));
  emit_recipe(recipe, to, from, kernel.out);
}

}  // namespace

void emit_cast(const AdjustedCast& cast, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  std::vector<WordForm> forms;
  for (const Adjustment& adjustment : cast.adjustments) {
    forms.push_back(*cast_form(kernel.type<isa::RegisterType>(cast.source).dtype,
                               kernel.type<isa::RegisterType>(result).dtype,
                               kernel.program().target(), adjustment));
  }
  const BitOrigin origin = kernel.chains().origin(cast.source);
  const BitRecipe recipe = make_recipe(forms, cast.of_word, origin.places);
  kernel.chose(stmt,
               explain_recipe(recipe, kernel.type<isa::RegisterType>(result).layout.num_locals()));
  kernel.declare_tile(stmt);
  emit_recipe(recipe, kernel.name(result), kernel.name(origin.base), kernel.out);
}

void emit_instruction(const isa::Cast& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& from = kernel.type<isa::RegisterType>(inst.src.var);
  if (kernel.adjustments().is_deferred(stmt)) {
    return kernel.chose(stmt, "nothing: a part of what reads it");
  }
  if (casts_bits(from.dtype, inst.dtype, kernel.program().target())) {
    return emit_cast({.source = inst.src.var}, stmt, kernel);
  }
  // A cast to the same type makes NaN canonical, and the bits of tf32 that have no meaning zero.
  const bool is_same = from.dtype == inst.dtype && inst.dtype != isa::tf32;
  if (is_same && kernel.chains().is_for_arithmetic(stmt.results[0])) {
    return emit_bits(kernel.chains().origin(inst.src.var), stmt, kernel);
  }
  const bool to_half = inst.dtype == isa::f16 || inst.dtype == isa::bf16;
  const bool in_pairs =
      from.dtype == isa::f32 && to_half && from.layout.num_locals() % 2 == 0;  // tv::cast_tile
  kernel.chose(stmt, explain_elements(from.layout.num_locals(), in_pairs));
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::cast_tile<{}, {}, {}>({}, {});", kernel.element_type(from.dtype),
                              kernel.element_type(inst.dtype), from.layout.num_locals(),
                              kernel.name(stmt.results[0]), kernel.name(inst.src.var)));
}

void emit_instruction(const isa::View& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  emit_bits(kernel.chains().origin(inst.src.var), stmt, kernel);
}

void emit_instruction(const isa::ConvertLayout& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  BitOrigin origin = kernel.chains().origin(inst.src.var);
  std::vector<BitPlace> places =
      converted_places(kernel.type<isa::RegisterType>(inst.src.var), inst.layout);
  for (BitPlace& place : places) place = origin.places[static_cast<std::size_t>(place)];
  emit_bits({origin.base, std::move(places)}, stmt, kernel);
}

}  // namespace tilevm::backend
