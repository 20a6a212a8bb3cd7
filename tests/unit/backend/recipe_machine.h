// Runs bit recipes on the host, and makes the orders of bits that tests give them.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/select/cast_recipe.h"
#include "tests/unit/backend/emit_host_prelude.h"

namespace tilevm::backend {

/// The value of a step; `values` holds those of the steps before it.
inline std::uint32_t run_step(const RecipeStep& step, const std::uint32_t* source,
                              const std::vector<std::uint32_t>& values) {
  using Op = RecipeStep::Op;
  const std::uint32_t a = step.a >= 0 ? values[static_cast<std::size_t>(step.a)] : 0;
  const std::uint32_t b = step.b >= 0 ? values[static_cast<std::size_t>(step.b)] : step.y;
  switch (step.op) {
    case Op::word:
      return source[step.x];
    case Op::shift_left:
      return a << step.x;
    case Op::shift_right:
      return a >> step.x;
    case Op::rotate_left:
      return tv::rotate_left(a, step.x);
    case Op::funnel_right:
      return tv::funnel_right(a, b, step.x);
    case Op::permute_bytes:
      return tv::permute_bytes(a, b, step.x);
    case Op::and_xor:
      return tv::and_xor(a, step.x, b);
    case Op::add:
      return a + step.x;
    case Op::f16_fma:
      return tv::f16x2_fma(a, step.x, step.y);
    case Op::bf16_fma:
      return tv::bf16x2_fma(a, step.x, step.y);
    case Op::f16_from_e4m3:
      return tv::f16x2_from_e4m3x2(a);
    case Op::f32_from_f16:
      return tv::f32_from_f16(step.x == 0 ? a & 0xffff : a >> 16);
    case Op::bf16_from_f32:
      return tv::bf16x2_from_f32(a, b);
  }
  return 0;
}

inline std::vector<std::uint32_t> run_recipe(const BitRecipe& recipe,
                                             const std::vector<std::uint32_t>& source) {
  std::vector<std::uint32_t> results;
  for (int i = 0; i < recipe.repetitions; ++i) {
    std::vector<std::uint32_t> values;
    for (const RecipeStep& step : recipe.steps) {
      values.push_back(run_step(step, source.data() + i * recipe.source_words, values));
    }
    for (const int result : recipe.results) {
      results.push_back(values[static_cast<std::size_t>(result)]);
    }
  }
  return results;
}

/// Element after element.
inline std::vector<SourceBit> sequential(int elements, int bits) {
  std::vector<SourceBit> source_bits;
  for (int j = 0; j < elements * bits; ++j) source_bits.push_back(j);
  return source_bits;
}

/// The stream of the first elements of all pairs in the low halves of words, that of the second
/// ones in the high halves.
inline std::vector<SourceBit> lane_stream(int elements, int bits) {
  std::vector<SourceBit> source_bits;
  for (int i = 0; i < elements; ++i) {
    for (int b = 0; b < bits; ++b) {
      const int j = i / 2 * bits + b;
      source_bits.push_back(j / 16 * 32 + i % 2 * 16 + j % 16);
    }
  }
  return source_bits;
}

}  // namespace tilevm::backend
