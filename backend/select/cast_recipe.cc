#include "backend/select/cast_recipe.h"

#include <cmath>

#include "backend/select/recipe_search.h"
#include "isa/type/number.h"

namespace tilevm::backend {
namespace {

using isa::DType;
using Op = RecipeStep::Op;

constexpr std::uint32_t both_halves(std::uint32_t half) { return half * 0x00010001U; }
constexpr std::uint32_t all_bytes(std::uint32_t byte) { return byte * 0x01010101U; }

bool is_small(const DType& type) { return type.bits <= 8; }

std::uint32_t code_of(const DType& type, double value) {
  return static_cast<std::uint32_t>(isa::encode(type, isa::number_from(value)));
}

bool holds(const DType& type, double value) {
  return isa::representable(type, isa::number_from(value));
}

Op fma_of(const DType& type) { return type == isa::f16 ? Op::f16_fma : Op::bf16_fma; }

/// value * factor + addend in both halves; -0 as the addend keeps the sign of zero.
int multiply_add(RecipeSteps& steps, const DType& type, int value, double factor, double addend) {
  return steps.add({fma_of(type), value, -1, both_halves(code_of(type, factor)),
                    both_halves(code_of(type, addend))});
}

/// An integer's value is code * factor + offset, once its sign bit is inverted.
struct IntegerCode {
  double factor = 1, offset = 0;
  std::uint32_t inverted = 0;
};

IntegerCode integer_code(const DType& type, const Adjustment& adjustment = {}) {
  IntegerCode code;
  if (type.is_bipolar()) code = {2, 1 - std::exp2(type.bits), 0};
  if (type.is_signed_int()) {
    code = {1, -std::exp2(type.bits - 1), std::uint32_t{1} << (type.bits - 1)};
  }
  code.factor *= adjustment.factor;
  code.offset = code.offset * adjustment.factor + adjustment.offset;
  return code;
}

/// The bits of a code, in order, from bit s on.
std::vector<int> in_order(int bits, int s) {
  std::vector<int> positions;
  for (int b = 0; b < bits; ++b) positions.push_back(s + b);
  return positions;
}

WordForm pair_form(const DType& from) {
  return {.element_bits = from.bits, .lane_bits = 16, .lanes = {0, 16}, .forms = {}, .finish = {}};
}

/// A multiply-add whose constants may differ from half to half.
struct Scaling {
  double factor, addend;
};
int scale_halves(RecipeSteps& steps, const DType& to, int gathered,
                 const std::vector<Scaling>& scalings, const std::vector<int>& chosen) {
  const Scaling &low = scalings[static_cast<std::size_t>(chosen[0])],
                &high = scalings[static_cast<std::size_t>(chosen[1])];
  return steps.add({fma_of(to), gathered, -1,
                    code_of(to, low.factor) | code_of(to, high.factor) << 16,
                    code_of(to, low.addend) | code_of(to, high.addend) << 16});
}

/// 2^m + q 2^s, m the mantissa bits of the result, by writing q into the mantissa of 2^m.
WordForm with_magic(const DType& from, const DType& to, const IntegerCode& code) {
  const int mantissa = to.mantissa_bits;
  WordForm form = pair_form(from);
  std::vector<Scaling> scalings;
  for (int s = 0; s + from.bits <= mantissa; ++s) {
    const double factor = code.factor * std::exp2(-s);
    const double addend = code.offset - factor * std::exp2(mantissa);
    if (!holds(to, factor) || !holds(to, addend)) continue;
    form.forms.push_back(
        {in_order(from.bits, s), code_of(to, std::exp2(mantissa)) ^ code.inverted << s});
    scalings.push_back({factor, addend});
  }
  form.finish = [to, scalings](RecipeSteps& steps, int gathered, const std::vector<int>& chosen) {
    return scale_halves(steps, to, gathered, scalings, chosen);
  };
  return form;
}

/// q 2^s times the least number of the type, where that is the value already: subnormal, or in the
/// first binade above.
WordForm as_subnormals(const DType& from, const DType& to, const IntegerCode& code) {
  WordForm form = pair_form(from);
  const double least = std::exp2(1 - to.bias() - to.mantissa_bits);
  for (int s = 0; s + from.bits <= to.mantissa_bits + 1; ++s) {
    if (code.offset != 0 || code.factor != least * std::exp2(s)) continue;
    form.forms.push_back({in_order(from.bits, s), 0});
  }
  return form;
}

/// 2^e + q 2^(e + s - m), m the mantissa bits of the result, where that is the value already: q
/// is in the mantissa of 2^e.
WordForm in_mantissa(const DType& from, const DType& to, const IntegerCode& code) {
  WordForm form = pair_form(from);
  int exponent = 0;
  const bool is_power = std::frexp(code.offset, &exponent) == 0.5;
  if (!is_power || exponent - 1 < 1 - to.bias() || !holds(to, code.offset)) return form;
  for (int s = 0; s + from.bits <= to.mantissa_bits; ++s) {
    if (code.factor != std::exp2(exponent - 1 + s - to.mantissa_bits)) continue;
    form.forms.push_back({in_order(from.bits, s), code_of(to, code.offset) ^ code.inverted << s});
  }
  return form;
}

/// q 2^(s - 133) in bf16: subnormal, or in the first binade above.
WordForm with_subnormals(const DType& from, const IntegerCode& code) {
  WordForm form = pair_form(from);
  std::vector<Scaling> scalings;
  for (int s = 0; s + from.bits <= 8 && holds(isa::bf16, code.offset); ++s) {
    if (!holds(isa::bf16, code.factor * std::exp2(6 - s))) continue;
    form.forms.push_back({in_order(from.bits, s), code.inverted << s});
    scalings.push_back({code.factor * std::exp2(6 - s), code.offset});
  }
  form.finish = [scalings](RecipeSteps& steps, int gathered, const std::vector<int>& chosen) {
    const int large = multiply_add(steps, isa::bf16, gathered, std::exp2(127), -0.0);
    return scale_halves(steps, isa::bf16, large, scalings, chosen);
  };
  return form;
}

/// Sign, exponent and mantissa of a small float in the fields of the result, times the power of two
/// by which the biases differ. A multiplication by one would only make a NaN canonical.
WordForm with_fields(const DType& from, const DType& to, double factor) {
  WordForm form = pair_form(from);
  std::vector<int> positions = in_order(from.bits - 1, to.mantissa_bits - from.mantissa_bits);
  positions.push_back(15);
  form.forms.push_back({std::move(positions), 0});
  const double scale = factor * std::exp2(to.bias() - from.bias());
  if (scale == 1 && from.specials() == isa::Specials::finite) return form;
  form.finish = [to, scale](RecipeSteps& steps, int gathered, const std::vector<int>&) {
    return multiply_add(steps, to, gathered, scale, -0.0);
  };
  return form;
}

/// f8e4m3 by fields: where all magnitude bits are set, a carry finds the exponent bit of a NaN.
WordForm f16_from_e4m3_fields() {
  WordForm form = with_fields(isa::f8e4m3, isa::f16, 1);
  form.finish = [scale = form.finish](RecipeSteps& steps, int gathered,
                                      const std::vector<int>& chosen) {
    const int carried = steps.add({Op::add, gathered, -1, both_halves(0x0080), 0});
    const int marked = steps.add({Op::and_xor, carried, gathered, both_halves(0x4000), 0});
    return scale(steps, marked, chosen);
  };
  return form;
}

/// f8e4m3 by the instruction for it, which takes two bytes.
WordForm f16_from_e4m3_bytes() {
  return {.element_bits = 8,
          .lane_bits = 8,
          .lanes = {0, 8},
          .forms = {{in_order(8, 0), 0}},
          .finish = [](RecipeSteps& steps, int gathered, const std::vector<int>&) {
            return steps.add({.op = Op::f16_from_e4m3, .a = gathered});
          }};
}

/// By way of f16, which holds every value, and f32.
WordForm bf16_through_f16(WordForm form) {
  form.finish = [to_f16 = form.finish](RecipeSteps& steps, int gathered,
                                       const std::vector<int>& chosen) {
    const int halves = to_f16(steps, gathered, chosen);
    const int low = steps.add({.op = Op::f32_from_f16, .a = halves, .x = 0});
    const int high = steps.add({.op = Op::f32_from_f16, .a = halves, .x = 1});
    return steps.add({.op = Op::bf16_from_f32, .a = low, .b = high});
  };
  return form;
}

std::optional<WordForm> float_form(const DType& from, const DType& to, const isa::Target& target,
                                   double factor) {
  // Scales are few; they are cast one by one (backend/prelude/element.cuh).
  if (from.is_unsigned_float()) return std::nullopt;
  const bool special = from.specials() != isa::Specials::finite;
  if (special && factor != 1) return std::nullopt;
  if (to == isa::bf16 && special) return bf16_through_f16(*float_form(from, isa::f16, target, 1));
  if (from == isa::f8e4m3) {
    return target.sm >= 89 ? f16_from_e4m3_bytes() : f16_from_e4m3_fields();
  }
  // The largest exponent of a finite type must not be that of Inf.
  const int room = to.exponent_bits - (special ? 0 : 1);
  if (from.exponent_bits > room) return std::nullopt;
  if (!holds(to, factor * std::exp2(to.bias() - from.bias()))) return std::nullopt;
  return with_fields(from, to, factor);
}

/// Four codes as bytes.
WordForm byte_form(const DType& from) {
  const std::uint32_t sign = integer_code(from).inverted;
  const bool widens = from.is_signed_int() && from.bits < 8;
  WordForm form{.element_bits = from.bits,
                .lane_bits = 8,
                .lanes = {0, 8, 16, 24},
                .forms = {{in_order(from.bits, 0), widens ? 0x80 | sign : 0}},
                .finish = {}};
  if (!widens) return form;
  form.finish = [sign](RecipeSteps& steps, int gathered, const std::vector<int>&) {
    const int sum = steps.add({Op::add, gathered, -1, 0 - all_bytes(sign), 0});
    return steps.add({Op::and_xor, sum, -1, ~std::uint32_t{0}, all_bytes(0x80)});
  };
  return form;
}

/// Whether the type holds every value of `from`, and every product with the factor.
bool stays_exact(const DType& from, const DType& to, double factor) {
  for (std::uint64_t code = 0; code >> from.bits == 0; ++code) {
    const double value = isa::to_double(isa::decode(from, code));
    if (!holds(to, value) || !holds(to, value * factor)) return false;
  }
  return true;
}

std::optional<WordForm> integer_form(const DType& from, const DType& to, const IntegerCode& code) {
  WordForm form = as_subnormals(from, to, code);
  if (form.forms.empty()) form = in_mantissa(from, to, code);
  if (form.forms.empty()) form = with_magic(from, to, code);
  if (form.forms.empty() && to == isa::bf16) form = with_subnormals(from, code);
  if (form.forms.empty()) return std::nullopt;
  return form;
}

}  // namespace

std::optional<WordForm> cast_form(const DType& from, const DType& to, const isa::Target& target,
                                  const Adjustment& adjustment) {
  if (!is_small(from)) return std::nullopt;
  const bool half = to == isa::f16 || to == isa::bf16;
  if (half && adjustment.factor != 1 && !stays_exact(from, to, adjustment.factor)) {
    return std::nullopt;
  }
  if (from.is_float()) {
    return half ? float_form(from, to, target, adjustment.factor) : std::nullopt;
  }
  if (half) return integer_form(from, to, integer_code(from, adjustment));
  const bool bytes = from.is_integer() && to.is_integer() && to.bits == 8 &&
                     adjustment.factor == 1 && adjustment.offset == 0;
  return bytes ? std::optional(byte_form(from)) : std::nullopt;
}

BitRecipe gather_recipe(const std::vector<SourceBit>& source_bits) {
  const WordForm bits{.element_bits = 1,
                      .lane_bits = 1,
                      .lanes = in_order(32, 0),
                      .forms = {{{0}, 0}},
                      .finish = {}};
  return make_recipe(bits, source_bits);
}

}  // namespace tilevm::backend
