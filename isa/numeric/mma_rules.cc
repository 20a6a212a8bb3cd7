#include "isa/numeric/mma_rules.h"

namespace tilevm::isa {
namespace {

/// Which tensor-core generation a target has. The generations differ in how many products one
/// adder takes and in its width.
enum class Generation : std::uint8_t { ampere, ada, hopper, blackwell, blackwell_consumer };

Generation generation(const Target& target) {
  if (target.sm >= 120) return Generation::blackwell_consumer;
  if (target.sm >= 100) return Generation::blackwell;
  if (target.sm >= 90) return Generation::hopper;
  return target.sm >= 89 ? Generation::ada : Generation::ampere;
}

bool is_before_hopper(Generation g) { return g == Generation::ampere || g == Generation::ada; }

/// The top carry bit of the adder may not sink below the least exponent of the result's format:
/// the floor lies ceil(log2(4 * (block + 1))) below it, with the unit's block for f16.
int exponent_floor(Generation g, bool f16_result) {
  const int least_exponent = f16_result ? -14 : -126;
  return least_exponent - (is_before_hopper(g) ? 6 : 7);
}

/// Khattak and Mikaitis: arXiv 2512.07004, and the hardware results in their repository
/// MATLAB-tensor-core. MMA-Sim: arXiv 2511.10909.
struct Source {
  Evidence evidence;
  std::string_view words;
};

Source source_of_floats(Generation g) {
  switch (g) {
    case Generation::ampere:
      return {Evidence::published,
              "agrees with the results of an A100 and an A2 that Khattak and Mikaitis published, "
              "for one block; the cut of an instruction into blocks is their and MMA-Sim's claim, "
              "the exponent floor theirs"};
    case Generation::ada:
      return {Evidence::published,
              "agrees with the results of an Ada card and an L40S that Khattak and Mikaitis "
              "published, for one block; the cut of an instruction into blocks is their and "
              "MMA-Sim's claim, the exponent floor theirs"};
    case Generation::hopper:
      return {Evidence::measured, "found by probes of an H200"};
    case Generation::blackwell:
      return {
          Evidence::published,
          "agrees with the results of a B200 that Khattak and Mikaitis published, for one block; "
          "the exponent floor is their claim"};
    case Generation::blackwell_consumer:
      break;
  }
  return {Evidence::claimed, "claimed by MMA-Sim"};
}

Source source_of_f64(Generation g) {
  if (g == Generation::hopper) return source_of_floats(g);
  return {Evidence::claimed,
          "the PTX manual says that it equals multiply-adds; the ascending order is taken from "
          "what an H200 does"};
}

MmaRule block_rule(Generation g, int block, bool f16_result) {
  return {MmaMethod::blocks,
          block,
          is_before_hopper(g) ? 24 : 25,
          exponent_floor(g, f16_result),
          f16_result ? MmaRounding::f16_nearest_even : MmaRounding::f32_toward_zero,
          source_of_floats(g).evidence,
          source_of_floats(g).words};
}

std::optional<MmaRule> fp8_rule(Generation g, bool f16_result) {
  switch (g) {
    case Generation::ampere:
      return std::nullopt;
    case Generation::ada: {
      MmaRule rule = block_rule(g, 16, f16_result);
      rule.fraction_bits = 13;
      if (!f16_result) rule.output = MmaRounding::e8m13_toward_zero;
      return rule;
    }
    case Generation::hopper:
    case Generation::blackwell: {
      MmaRule rule = block_rule(g, 16, f16_result);
      rule.method = MmaMethod::fp8_split;
      return rule;
    }
    case Generation::blackwell_consumer:
      break;
  }
  return block_rule(g, 32, f16_result);
}

bool is_fp8(const DType& type) { return type == f8e4m3 || type == f8e5m2; }

bool is_integer_operand(const DType& type, int bits) {
  return type.is_integer() && type.bits == bits;
}

}  // namespace

std::optional<MmaRule> mma_rule(const Target& target, const DType& a, const DType& b,
                                const DType& accumulator) {
  if (target.sm < 80) return std::nullopt;
  const Generation g = generation(target);
  const bool f16_result = accumulator == f16;
  if (f16_result || accumulator == f32) {
    if (is_fp8(a) && is_fp8(b)) return fp8_rule(g, f16_result);
    const int block = is_before_hopper(g) ? 8 : 16;
    if (a != b) return std::nullopt;
    if (a == f16 || (a == bf16 && !f16_result)) return block_rule(g, block, f16_result);
    if (a == tf32 && !f16_result) return block_rule(g, block / 2, false);
    return std::nullopt;
  }
  const bool integers = (is_integer_operand(a, 8) && is_integer_operand(b, 8)) ||
                        (is_integer_operand(a, 4) && is_integer_operand(b, 4)) ||
                        (a == u1 && b == u1);
  if (accumulator == i32 && integers) {
    return MmaRule{MmaMethod::integer,        0, 0, 0, MmaRounding::none, Evidence::by_definition,
                   "an exact sum modulo 2^32"};
  }
  if (accumulator == f64 && a == f64 && b == f64) {
    return MmaRule{MmaMethod::f64_chain,  1, 0, 0, MmaRounding::none, source_of_f64(g).evidence,
                   source_of_f64(g).words};
  }
  return std::nullopt;
}

}  // namespace tilevm::isa
