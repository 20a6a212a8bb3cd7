// Casts and bits of tiles in registers.
#include <fmt/format.h>

#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_recipe.h"

namespace tilevm::backend {
namespace {

void emit_from(isa::VarId base, const BitRecipe& recipe, const isa::InstStmt& stmt,
               KernelEmission& kernel) {
  kernel.declare_tile(stmt);
  emit_recipe(recipe, kernel.name(stmt.results[0]), kernel.name(base), kernel.out);
}

}  // namespace

template <>
void emit_form(const RecipeCast& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  emit_from(form.base, form.recipe, stmt, kernel);
}

template <>
void emit_form(const FusedCast& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  emit_from(form.base, form.recipe, stmt, kernel);
}

template <>
void emit_form(const MovedBits& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  emit_from(form.base, form.recipe, stmt, kernel);
}

template <>
void emit_form(const CopiedBits& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::copy_words<{}>({}, {});",
                              tile_words(kernel.type<isa::RegisterType>(result)),
                              kernel.name(result), kernel.name(form.base)));
}

template <>
void emit_form(const ElidedView&, const isa::InstStmt&, KernelEmission&) {}

template <>
void emit_form(const ElidedCast&, const isa::InstStmt&, KernelEmission&) {}

template <>
void emit_form(const ElementCast& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& from = kernel.type<isa::RegisterType>(form.source);
  const isa::VarId result = stmt.results[0];
  kernel.declare_tile(stmt);
  const std::string from_type = kernel.element_type(from.dtype);
  kernel.out.line(fmt::format("tv::cast_tile<{}, {}, {}>({}, {});", from_type,
                              kernel.element_type(kernel.type<isa::RegisterType>(result).dtype),
                              from.layout.num_locals(), kernel.name(result),
                              kernel.name(form.source)));
}

}  // namespace tilevm::backend
