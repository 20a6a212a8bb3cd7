#include "isa/numeric/mma_rules.h"

#include <array>
#include <bit>

namespace tilevm::isa {
namespace {

/// Which tensor-core generation a target has, in the order of time. The generations differ in how
/// many products one adder takes and in its width.
enum class Generation : std::uint8_t {
  volta,
  turing,
  ampere,
  ada,
  hopper,
  blackwell,
  blackwell_consumer
};

std::optional<Generation> generation(const Target& target) {
  if (target.sm >= 120) return Generation::blackwell_consumer;
  if (target.sm >= 100) return Generation::blackwell;
  if (target.sm >= 90) return Generation::hopper;
  if (target.sm >= 89) return Generation::ada;
  if (target.sm >= 80) return Generation::ampere;
  if (target.sm >= 75) return Generation::turing;
  if (target.sm >= 70) return Generation::volta;
  return std::nullopt;
}

constexpr DType e3m2 = small_float(3, 2), e2m3 = small_float(2, 3), e2m1 = small_float(2, 1);
constexpr DType i4 = signed_int(4), u4 = unsigned_int(4);

bool is_fp8(const DType& type) { return type == f8e4m3 || type == f8e5m2; }

/// A type of PTX's `kind::f8f6f4`.
bool is_f8f6f4(const DType& type) {
  return is_fp8(type) || type == e3m2 || type == e2m3 || type == e2m1;
}

bool is_integer_operand(const DType& type, int bits) {
  return type.is_integer() && type.bits == bits;
}

// --- Evidence ------------------------------------------------------------------------------------

/// Khattak and Mikaitis: arXiv 2512.07004, and the hardware results in their repository
/// MATLAB-tensor-core. MMA-Sim: arXiv 2511.10909.
struct Source {
  Evidence evidence;
  std::string_view words;
};

Source source_of_ada_fp8() {
  return {Evidence::published,
          "agrees with the results of an Ada card and an L40S that Khattak and Mikaitis "
          "published, for whole instructions"};
}

Source source_of_mma(Generation g) {
  switch (g) {
    case Generation::volta:
      return {Evidence::published,
              "agrees with the results of a V100 that Khattak and Mikaitis published, those of f16 "
              "with 22 fraction bits or more; the exponent floor is their claim"};
    case Generation::turing:
      return {Evidence::claimed,
              "claimed by MMA-Sim; the exponent floor follows from the block as it does in the "
              "claims of Khattak and Mikaitis for other architectures"};
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
  return {Evidence::claimed, "claimed by MMA-Sim; the exponent floor is taken from sm_90"};
}

/// The source of an architecture of which nobody published results: the rule is that of the
/// generation's other one.
std::optional<Source> source_of_unknown(const Target& target) {
  switch (modelled_after(target.sm) == target.sm ? 0 : target.sm) {
    case 0:
      return std::nullopt;
    case 88:
      return Source{Evidence::claimed, "taken from sm_80: no results of sm_88 are published"};
    case 121:
      return Source{Evidence::claimed, "taken from sm_120: no results of sm_121 are published"};
    default:
      return Source{Evidence::claimed,
                    "taken from sm_100: no results of sm_103, sm_107 and sm_110 are published"};
  }
}

Source source_of_wgmma() {
  return {Evidence::measured,
          "random operands on an H100, of every type and mix, dense and sparse, from shared memory "
          "and from registers: none of 1.2 * 10^8 outputs differs"};
}

Source source_of_sparse(const MmaClass& each, Generation g) {
  if (each.family == MmaFamily::wgmma) return source_of_wgmma();
  if (each.family == MmaFamily::mma && g == Generation::hopper) {
    return {Evidence::measured,
            "random operands on an H100 and probes of an H200: a block holds as many stored "
            "products as the dense instruction's"};
  }
  return {Evidence::claimed,
          "taken from the dense instruction, with as many stored products in a block as there: so "
          "it is with `mma.sp` on `f16` on an H200"};
}

Source source_of(const MmaClass& each, Generation g) {
  if (const auto unknown = source_of_unknown(each.target)) return *unknown;
  if (each.sparse) return source_of_sparse(each, g);
  if (each.family == MmaFamily::wgmma) return source_of_wgmma();
  if (each.scaling != MmaScaling::none && each.scaling != MmaScaling::mxf8f6f4) {
    return {Evidence::claimed,
            "claimed by MMA-Sim, which leaves out c = Inf; the exponent floor is taken from sm_90"};
  }
  const bool is_plain_fp8 = each.family == MmaFamily::mma && each.scaling == MmaScaling::none &&
                            is_fp8(each.a) && is_fp8(each.b);
  if (is_f8f6f4(each.a) && !is_plain_fp8) {
    return {Evidence::claimed,
            "claimed by MMA-Sim, which leaves out floats of 6 bits; the exponent floor is taken "
            "from sm_90"};
  }
  if (each.family == MmaFamily::tcgen05) return source_of_mma(Generation::blackwell_consumer);
  if (g == Generation::ada && is_fp8(each.a)) return source_of_ada_fp8();
  return source_of_mma(g);
}

Source source_of_f64(Generation g) {
  if (g == Generation::hopper) return source_of_mma(g);
  return {Evidence::claimed,
          "the PTX manual says that it equals multiply-adds; the ascending order is taken from "
          "what an H200 does"};
}

// --- Rules ---------------------------------------------------------------------------------------

/// The top carry bit of the adder may not sink below the least exponent of the result's format: the
/// floor is ceil(log2(4 * (block + 1))) below it, with the unit's block for f16.
int exponent_floor(int f16_block, bool f16_result) {
  const int least_exponent = f16_result ? -14 : -126;
  const auto carries = 4 * static_cast<unsigned>(f16_block + 1);
  return least_exponent - static_cast<int>(std::bit_width(carries - 1));
}

/// The rule of f16 operands, from which those of the other types differ in single fields.
MmaRule f16_rule(Generation g, bool f16_result) {
  MmaRule rule;
  switch (g) {
    case Generation::volta:
      rule.block = 4;
      rule.fraction_bits = 23;
      break;
    case Generation::turing:
    case Generation::ampere:
    case Generation::ada:
      rule.block = 8;
      rule.fraction_bits = 24;
      break;
    case Generation::hopper:
    case Generation::blackwell:
    case Generation::blackwell_consumer:
      rule.block = 16;
      rule.fraction_bits = 25;
      break;
  }
  rule.min_exponent = exponent_floor(rule.block, f16_result);
  rule.output = f16_result ? MmaRounding::f16_nearest_even : MmaRounding::f32_toward_zero;
  return rule;
}

/// The adder of fp8 on Ada, and of wgmma.
MmaRule narrow_adder(MmaRule rule, int block) {
  rule.block = block;
  rule.fraction_bits = 13;
  if (rule.output == MmaRounding::f32_toward_zero) rule.output = MmaRounding::e8m13_toward_zero;
  return rule;
}

/// mma.sp of floats of 8 bits and fewer with an accumulator of f16 is new with sm_120a and sm_120f.
bool lacks_f16_sums(const MmaClass& each, Generation g) {
  return each.family == MmaFamily::mma && each.sparse && each.accumulator == f16 &&
         !(g == Generation::blackwell_consumer && has_suffix(each.target));
}

std::optional<MmaRule> f8f6f4_rule(const MmaClass& each, Generation g, MmaRule rule) {
  if (lacks_f16_sums(each, g)) return std::nullopt;
  const bool all_fp8 = is_fp8(each.a) && is_fp8(each.b);
  if (each.family == MmaFamily::wgmma) {
    return all_fp8 ? std::optional(narrow_adder(rule, 32)) : std::nullopt;
  }
  const bool is_native = each.family == MmaFamily::tcgen05 || g == Generation::blackwell_consumer;
  if (is_native && (all_fp8 || each.family == MmaFamily::tcgen05 || has_suffix(each.target))) {
    rule.block = 32;
    return rule;
  }
  if (!all_fp8 || g < Generation::ada) return std::nullopt;
  if (g == Generation::ada) return narrow_adder(rule, 16);
  rule.method = MmaMethod::fp8_split;
  return rule;
}

bool takes_scales(const MmaClass& each, Generation g) {
  switch (each.family) {
    case MmaFamily::mma:
      return g == Generation::blackwell_consumer && has_suffix(each.target);
    case MmaFamily::wgmma:
      return false;
    case MmaFamily::tcgen05:
      return true;
  }
  TILEVM_NO_ENUMERATOR();
}

std::optional<MmaRule> scaled_rule(const MmaClass& each, Generation g, MmaRule rule) {
  if (!takes_scales(each, g) || each.sparse || each.accumulator != f32) return std::nullopt;
  rule.scaling = each.scaling;
  if (each.scaling == MmaScaling::mxf8f6f4) {
    if (!is_f8f6f4(each.a) || !is_f8f6f4(each.b)) return std::nullopt;
    rule.block = 32;
    return rule;
  }
  if (each.a != e2m1 || each.b != e2m1) return std::nullopt;
  rule.block = 64;
  rule.group = 16;
  rule.fraction_bits = 35;
  return rule;
}

std::optional<MmaRule> float_rule(const MmaClass& each, Generation g) {
  const bool f16_result = each.accumulator == f16;
  MmaRule rule = f16_rule(g, f16_result);
  if (each.scaling != MmaScaling::none) return scaled_rule(each, g, rule);
  if (is_f8f6f4(each.a) && is_f8f6f4(each.b)) return f8f6f4_rule(each, g, rule);
  if (each.a != each.b) return std::nullopt;
  if (each.a == f16) return rule;
  if (f16_result || g < Generation::ampere) return std::nullopt;
  if (each.a == bf16) return rule;
  if (each.a != tf32) return std::nullopt;
  rule.block /= 2;
  return rule;
}

bool takes_integers(const MmaClass& each) {
  const auto both = [&](int bits) {
    return is_integer_operand(each.a, bits) && is_integer_operand(each.b, bits);
  };
  const bool are_bits = each.a == u1 && each.b == u1;
  switch (each.family) {
    case MmaFamily::mma:
      return both(8) || both(4) || (are_bits && !each.sparse);
    case MmaFamily::wgmma:
      return both(8) || (are_bits && !each.sparse);
    case MmaFamily::tcgen05:  // no code of a family has kind::i8
      return both(8) && !each.target.family && (each.target.sm == 100 || each.target.sm == 110);
  }
  TILEVM_NO_ENUMERATOR();
}

std::optional<MmaRule> integer_rule(const MmaClass& each, Generation g) {
  if (g < Generation::turing || !takes_integers(each) || each.scaling != MmaScaling::none)
    return std::nullopt;
  MmaRule rule;
  rule.method = MmaMethod::integer;
  rule.evidence = Evidence::by_definition;
  rule.source = "an exact sum modulo 2^32";
  return rule;
}

std::optional<MmaRule> f64_rule(const MmaClass& each, Generation g) {
  const bool is_plain = each.family == MmaFamily::mma && !each.sparse &&
                        each.scaling == MmaScaling::none && each.a == f64 && each.b == f64;
  if (g < Generation::ampere || !is_plain) return std::nullopt;
  MmaRule rule;
  rule.method = MmaMethod::f64_chain;
  rule.block = 1;
  rule.evidence = source_of_f64(g).evidence;
  rule.source = source_of_f64(g).words;
  return rule;
}

bool has_family(const MmaClass& each, Generation g) {
  const Target native = compile_target(each.target);
  switch (each.family) {
    case MmaFamily::mma:
      return !each.sparse || g >= Generation::ampere;
    case MmaFamily::wgmma:
      return g == Generation::hopper && has_suffix(native);
    case MmaFamily::tcgen05:
      return g == Generation::blackwell && has_suffix(native);
  }
  TILEVM_NO_ENUMERATOR();
}

/// The architectures of mma_classes().
std::vector<Target> architectures() {
  std::vector<Target> targets{{70, false}, {75, false}};
  for (const Target& target : known_targets()) {
    // Where there is a suffixed form it has all that the plain one has.
    if (targets.back().sm == target.sm) targets.pop_back();
    targets.push_back(target);
  }
  return targets;
}

/// The types of a, b and the accumulator in mma_classes().
std::vector<std::array<DType, 3>> operand_types() {
  constexpr std::array operands{f16,  bf16, tf32, f64, f8e4m3, f8e5m2, e3m2,
                                e2m3, e2m1, i8,   u8,  i4,     u4,     u1};
  std::vector<std::array<DType, 3>> types;
  for (const DType& a : operands) {
    for (const DType& b : operands) {
      for (const DType& accumulator : {f32, f16, i32, f64}) types.push_back({a, b, accumulator});
    }
  }
  return types;
}

constexpr std::array<std::string_view, 5> scaling_names{
    "", " kind::mxf8f6f4", " kind::mxf4", " kind::mxf4nvf4, ue8m0", " kind::mxf4nvf4, ue4m3"};

}  // namespace

int products_per_scale(MmaScaling scaling) {
  switch (scaling) {
    case MmaScaling::none:
      return 0;
    case MmaScaling::mxf8f6f4:
    case MmaScaling::mxf4:
      return 32;
    case MmaScaling::mxf4nvf4_ue8m0:
    case MmaScaling::mxf4nvf4_ue4m3:
      break;
  }
  return 16;
}

std::string instruction_name(const MmaClass& each) {
  constexpr std::array<std::string_view, 3> families{"mma", "wgmma", "tcgen05.mma"};
  std::string name(families[static_cast<std::size_t>(each.family)]);
  if (each.sparse) name += ".sp";
  return name.append(scaling_names[static_cast<std::size_t>(each.scaling)]);
}

std::optional<MmaRule> mma_rule(const MmaClass& each) {
  const std::optional<Generation> g = generation(each.target);
  if (!g || !has_family(each, *g)) return std::nullopt;
  if (each.accumulator == i32) return integer_rule(each, *g);
  if (each.accumulator == f64) return f64_rule(each, *g);
  if (each.accumulator != f16 && each.accumulator != f32) return std::nullopt;
  std::optional<MmaRule> rule = float_rule(each, *g);
  if (!rule) return std::nullopt;
  rule->evidence = source_of(each, *g).evidence;
  rule->source = source_of(each, *g).words;
  return rule;
}

std::vector<MmaClass> mma_classes() {
  std::vector<MmaClass> classes;
  const auto add = [&](MmaFamily family, bool sparse, MmaScaling scaling, const Target& target) {
    for (const auto& [a, b, accumulator] : operand_types()) {
      const MmaClass each{target, a, b, accumulator, family, sparse, scaling};
      if (mma_rule(each)) classes.push_back(each);
    }
  };
  for (const MmaFamily family : {MmaFamily::mma, MmaFamily::wgmma, MmaFamily::tcgen05}) {
    for (const bool sparse : {false, true}) {
      for (std::size_t scaling = 0; scaling < scaling_names.size(); ++scaling) {
        for (const Target& target : architectures()) {
          add(family, sparse, static_cast<MmaScaling>(scaling), target);
        }
      }
    }
  }
  return classes;
}

}  // namespace tilevm::isa
