#include "sim/state/access_record.h"

#include <array>

#include <fmt/format.h>

namespace tilevm::sim {
namespace {

/// The types that combine in memory.
constexpr std::array combined_types{isa::i32, isa::u32, isa::i64, isa::u64,
                                    isa::f32, isa::f64, isa::f16, isa::bf16};

std::size_t number_of(const isa::DType& type) {
  std::size_t number = 0;
  while (number < combined_types.size() && combined_types[number] != type) ++number;
  return number;
}

}  // namespace

bool may_combine(const isa::DType& type) { return number_of(type) < combined_types.size(); }

Combination combination(isa::ReduceOp op, const isa::DType& type) {
  const std::size_t number = number_of(type);
  TILEVM_CHECK(number < combined_types.size(), "the verifier admits no other type");
  return static_cast<Combination>(1 + static_cast<std::size_t>(op) * combined_types.size() +
                                  number);
}

std::string combination_text(Combination combination) {
  if (combination == mixed_combination) return "several operations";
  const std::size_t number = combination - 1U;
  return fmt::format("`{}` of {}",
                     to_string(static_cast<isa::ReduceOp>(number / combined_types.size())),
                     to_string(combined_types[number % combined_types.size()]));
}

}  // namespace tilevm::sim
