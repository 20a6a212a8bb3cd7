#include "backend/emit/explain.h"

#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilevm::backend {
namespace {

using isa::AccessForm;

std::string one_access(const isa::AccessPlan& plan, bool stores) {
  const int bits = plan.place.dtype.bits;
  switch (plan.form) {
    case AccessForm::bits:
      return fmt::format("1 element of {} bit{}{}", bits, bits == 1 ? "" : "s",
                         stores ? " by compare-and-swap" : "");
    case AccessForm::bytes:
      return fmt::format("{} byte{}{}", fmt::join(plan.widths, " + "),
                         plan.widths.back() == 1 ? "" : "s",
                         plan.in_order() ? "" : ", elements put in order");
    case AccessForm::matrix:
      return fmt::format("{}matrix.x{}{}", stores ? "st" : "ld", plan.matrices,
                         plan.transposed ? ".trans" : "");
    case AccessForm::copy:
      return fmt::format("cp.async {}", plan.elements * bits / 8);
  }
  return {};
}

/// The expression that an obstacle speaks of, if there is one.
const isa::Expr* culprit(const isa::AccessPlan& plan, const isa::Type& tensor) {
  using Kind = isa::Obstacle::Kind;
  const auto dim = static_cast<std::size_t>(plan.obstacle.dim);
  if (plan.obstacle.kind == Kind::offset) return &plan.place.dimensions[dim].offset;
  const auto* view = std::get_if<isa::GlobalType>(&tensor);
  if (view == nullptr) return nullptr;
  if (plan.obstacle.kind == Kind::extent) return &view->extents[dim];
  const auto* strides = view->layout.strides();
  return plan.obstacle.kind == Kind::stride && strides != nullptr ? &(*strides)[dim] : nullptr;
}

}  // namespace

std::string explain_access(const isa::AccessPlan& plan, bool stores) {
  return fmt::format("{} x {}{}", plan.count, one_access(plan, stores),
                     plan.tests_bounds() ? ", bounds tested" : "");
}

std::string explain_bulk_copy(const BulkCopy& copy) {
  return fmt::format("{} x cp.async.bulk {}", copy.rows, copy.bytes);
}

std::string explain_gate(const BulkCopies& copies, std::int64_t threads) {
  const std::int64_t last = threads / 32 - 1;
  if (copies.copiers() == last) return fmt::format("warp {} waits", last);
  return fmt::format("warps {} to {} wait", copies.copiers(), last);
}

std::string explain_obstacle(const isa::AccessPlan& plan, const isa::Type& tensor,
                             const SourceFile& source) {
  std::string text = describe(plan.obstacle);
  const isa::Expr* expr = culprit(plan, tensor);
  if (expr == nullptr || expr->span() == Span{}) return text;
  const LineColumn place = source.locate(expr->span().begin);
  return text + fmt::format(": `{}` at {}:{}", source.text(expr->span()), place.line, place.column);
}

std::string explain_dot(const isa::DotPlan& plan, const isa::DType& accumulator) {
  if (plan.method == isa::DotMethod::chain) {
    return fmt::format("{} chains of {} multiply-adds in {}", plan.chain.a_row.size(),
                       plan.chain.a_depth.size(), to_string(accumulator));
  }
  const isa::MmaShape& shape = *plan.shape;
  return fmt::format("{} x mma.sync.{} {}.{}.{}.{} a warp{}", count_instructions(plan), shape.name,
                     to_string(shape.accumulator), to_string(shape.a), to_string(shape.b),
                     to_string(shape.accumulator), plan.transposed ? ", of the transposes" : "");
}

std::string explain_recipe(const BitRecipe& recipe, std::int64_t elements) {
  const auto instructions = static_cast<double>(recipe.cost() * recipe.repetitions);
  return fmt::format("{:.2f} instructions an element",
                     instructions / static_cast<double>(elements));
}

std::string explain_elements(std::int64_t count, bool in_pairs) {
  return in_pairs ? fmt::format("{} x 2 elements", (count + 1) / 2)
                  : fmt::format("{} x 1 element", count);
}

std::string explain_words(std::int64_t words) { return fmt::format("{} x 32 bits", words); }

}  // namespace tilevm::backend
