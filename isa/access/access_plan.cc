#include "isa/access/access_plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilevm::isa {
namespace {

std::string widths_text(const AccessPlan& plan) {
  if (plan.form == AccessForm::bits) return "an element narrower than a byte";
  if (plan.form == AccessForm::matrix) {
    return fmt::format("{} {}of 8 rows of 16 bytes",
                       plan.matrices == 1 ? "a matrix" : fmt::format("{} matrices", plan.matrices),
                       plan.transposed ? "(transposed) " : "");
  }
  return fmt::format("{} bytes", fmt::join(plan.widths, " + "));
}

}  // namespace

std::int64_t AccessPlan::local_place(std::int64_t i, std::int64_t j) const {
  std::int64_t local = 0;
  for (const AccessDigit& digit : outer) local += i / digit.divisor % digit.size * digit.step;
  for (const AccessDigit& digit : inner) local += j / digit.divisor % digit.size * digit.step;
  return local;
}

bool AccessPlan::in_order() const {
  return std::all_of(inner.begin(), inner.end(),
                     [](const AccessDigit& digit) { return digit.step == digit.divisor; });
}

bool AccessPlan::tests_bounds() const {
  return std::any_of(mapping.dimensions.begin(), mapping.dimensions.end(),
                     [](const auto& dimension) { return !dimension.inside; });
}

namespace {

/// Every integer is a multiple of 1, so that says nothing.
std::string known_multiple(std::int64_t value) {
  return value == 1 ? "may be any number"
                    : fmt::format("is only known to be a multiple of {}", value);
}

}  // namespace

std::string describe(const MissedReason& missed) {
  using Kind = MissedReason::Kind;
  switch (missed.kind) {
    case Kind::none:
      return "";
    case Kind::registers:
      return "neighbours in memory do not follow one another in a thread";
    case Kind::count:
      return fmt::format("a thread has {} elements in a row", missed.value);
    case Kind::order:
      return "elements may share a place, so their order is kept";
    case Kind::offset:
      return fmt::format("the offset of dimension {} {}", missed.dim, known_multiple(missed.value));
    case Kind::stride:
      return missed.value == 1
                 ? fmt::format("the strides of dimension {} may be any numbers", missed.dim)
                 : fmt::format("the strides of dimension {} are only known to be multiples of {}",
                               missed.dim, missed.value);
    case Kind::extent:
      return fmt::format("the extent of dimension {} {}", missed.dim, known_multiple(missed.value));
    case Kind::layout:
      return fmt::format("the memory layout does not keep {} elements together and aligned",
                         missed.value);
    case Kind::index:
      return "neighbours have indices of their own";
    case Kind::swizzle:
      return fmt::format("the swizzle keeps {} elements together", missed.value);
  }
  return "";
}

std::string describe(const AccessPlan& plan) {
  const std::string what = plan.form == AccessForm::copy ? "copy" : "access";
  const std::string plural = plan.form == AccessForm::copy ? "copies" : "accesses";
  const std::string why = describe(plan.missed);
  return fmt::format("{} {} of {}{}{}", plan.count, plan.count == 1 ? what : plural,
                     widths_text(plan), why.empty() ? "" : ": ", why);
}

}  // namespace tilevm::isa
