#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend/cast_recipe.h"
#include "backend/emit_kernel.h"
#include "backend/emit_recipe.h"

namespace tilevm::backend {
namespace {

/// Writes the bits that a tile takes from elsewhere; the compiler removes a mere copy.
void emit_bits(const BitOrigin& origin, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  if (kernel.chains().is_skipped(result)) return;
  kernel.declare_tile(stmt);
  const std::string &to = kernel.name(result), &from = kernel.name(origin.base);
  if (std::is_sorted(origin.places.begin(), origin.places.end())) {
    const auto words = tile_words(kernel.type<isa::RegisterType>(result));
    kernel.out.line(fmt::format("tv::copy_words<{}>({}, {});", words, to, from));
    return;
  }
  emit_recipe(gather_recipe(origin.places), to, from, kernel.out);
}

}  // namespace

void emit_cast(const AdjustedCast& cast, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  const auto form = cast_form(kernel.type<isa::RegisterType>(cast.source).dtype,
                              kernel.type<isa::RegisterType>(result).dtype,
                              kernel.program().target(), cast.adjustment);
  const BitOrigin origin = kernel.chains().origin(cast.source);
  kernel.declare_tile(stmt);
  emit_recipe(make_recipe(*form, origin.places), kernel.name(result), kernel.name(origin.base),
              kernel.out);
}

void emit_instruction(const isa::Cast& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& from = kernel.type<isa::RegisterType>(inst.src.var);
  if (kernel.adjustments().is_deferred(stmt)) return;
  if (casts_bits(from.dtype, inst.dtype, kernel.program().target())) {
    return emit_cast({inst.src.var, {}}, stmt, kernel);
  }
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
