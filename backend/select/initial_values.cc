// How the elements of a new tile get their values.
//
// Elements take the values of a list in turn. Where the thread decides which, values that are
// equally far apart are computed: a list would be a table in local memory.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "backend/select/default_forms.h"
#include "isa/layout/element_values.h"
#include "isa/type/number.h"

namespace tilevm::backend {
namespace {

/// A constant that is an integer of 24 bits and a sign, which f32 holds exactly.
std::optional<std::int64_t> small_integer(const isa::Expr& value) {
  constexpr std::int64_t most = 1 << 24;
  std::optional<std::int64_t> integer = value.constant_int();
  const auto scalar = value.constant_value();
  if (!integer && scalar && scalar->kind == isa::ScalarKind::f32) {
    const double real = isa::to_double(isa::decode(isa::f32, scalar->bits));
    if (real == std::trunc(real) && std::abs(real) <= most)
      integer = static_cast<std::int64_t>(real);
  }
  return integer && std::abs(*integer) <= most ? integer : std::nullopt;
}

/// The progression of which the codes of these values are, cast from i32.
std::optional<ComputedElements> find_progression(const std::vector<isa::Expr>& values,
                                                 const isa::DType& dtype) {
  const auto first = small_integer(values[0]), second = small_integer(values[1]);
  if (!first || !second) return std::nullopt;
  const ComputedElements found{*first, *second - *first};
  if (std::abs(found.step) * static_cast<std::int64_t>(values.size()) > 1 << 30) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto constant = values[k].constant_value();
    if (!constant) return std::nullopt;
    const std::int64_t value = found.first + found.step * static_cast<std::int64_t>(k);
    const std::uint64_t code = isa::cast(isa::element_type(constant->kind), dtype, constant->bits);
    if (code != isa::cast(isa::i32, dtype, static_cast<std::uint32_t>(value))) {
      return std::nullopt;
    }
  }
  return found;
}

}  // namespace

Form select_form(const isa::AllocateRegister& inst, const InstStmt& stmt,
                 const Selection& selection) {
  if (!inst.init || inst.init->values.size() < 2) return FilledElements{};
  const std::vector<isa::Expr>& values = inst.init->values;
  const isa::RegisterType& type = selection.tile(stmt.results[0]);
  if (isa::local_turns(type.layout, static_cast<std::int64_t>(values.size()))) {
    return ListedElements{.by_local = true};
  }
  if (const auto progression = find_progression(values, type.dtype)) return *progression;
  return ListedElements{.by_local = false};
}

}  // namespace tilevm::backend
