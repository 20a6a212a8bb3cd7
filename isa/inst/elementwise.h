// Instructions that work on tiles element by element: families of one struct template each, so that
// what is said of an operation stands once. More than 400 lines: the words of one long list.
#pragma once

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"
#include "isa/type/operations.h"

namespace tilevm::isa {

namespace detail {

constexpr Description elementwise(std::string_view mnemonic, std::string_view summary,
                                  std::string_view detail) {
  return {.mnemonic = mnemonic,
          .category = Category::compute,
          .sync = Sync::none,
          .result = ResultKind::register_tile,
          .summary = summary,
          .detail = detail,
          .elementwise = true};
}
/// Sums and products: NaN operands give the canonical NaN.
constexpr Description arithmetic(std::string_view mnemonic, std::string_view summary,
                                 std::string_view detail) {
  Description description = elementwise(mnemonic, summary, detail);
  description.canonical_nan = true;
  return description;
}

inline constexpr std::string_view arithmetic_detail =
    "Integers wrap; floats round to nearest even; types narrower than 16 bits, and tf32, are "
    "converted to i32, u32 or f32, operated on, and cast back. Both tiles have one element type, "
    "and one layout or shapes that broadcast (docs/reference/arithmetic.md, Broadcasting).";
inline constexpr std::string_view choice_detail =
    "The result is one of the two elements. -0 is less than +0; a NaN loses against every number, "
    "and two of them give the canonical NaN. Types and layouts are as for Add.";
inline constexpr std::string_view comparison_detail =
    "The result is a tile of u1, 1 where it holds. -0 equals +0; with a NaN nothing holds but Ne. "
    "Types and layouts are as for Add.";
inline constexpr std::string_view bitwise_detail =
    "On integers of any width; View turns other types into integers. Layouts are as for Add.";
inline constexpr std::string_view shift_detail =
    "On integers of any width. The count is an element of the second tile, read as unsigned; at "
    "the width of the type and beyond all bits are shifted out. Layouts are as for Add.";
inline constexpr std::string_view function_detail =
    "A fixed sequence of f32 operations, the same on every engine; docs/reference/arithmetic.md, "
    "Functions, "
    "has its largest error. Defined on floats but f64; narrower ones and tf32 are converted to "
    "f32, "
    "and the result is cast back.";
inline constexpr std::string_view integral_detail =
    "On floats. The result is exact where the type has it, else the largest finite value; zeros "
    "keep "
    "their sign, Inf stays, NaN becomes canonical.";
inline constexpr std::string_view root_detail =
    "Rounded correctly, on f32 and f64. Narrower floats and tf32 are converted to f32, and the "
    "result is cast back (docs/reference/arithmetic.md, Functions).";

inline constexpr std::string_view approx_f32_detail =
    "The bits of the instruction, on a GPU by the instruction itself; "
    "docs/reference/approximations.md says "
    "what they are, how far they are off, and on which GPUs they were compared. Defined on f32.";
inline constexpr std::string_view approx_f16_detail =
    "The bits of the instruction, on a GPU by the instruction itself; "
    "docs/reference/approximations.md says "
    "what they are, how far they are off, and on which GPUs they were compared. Defined on f32 and "
    "f16.";
inline constexpr std::string_view approx_bf16_detail =
    "The bits of the instruction, on a GPU by the instruction itself; "
    "docs/reference/approximations.md says "
    "what they are, how far they are off, and on which GPUs they were compared. Defined on f32 and "
    "bf16.";
inline constexpr std::string_view approx_f64_detail =
    "The bits of the instruction, on a GPU by the instruction itself; "
    "docs/reference/approximations.md says "
    "what they are, how far they are off, and on which GPUs they were compared. Defined on f32 and "
    "f64, of which only the upper 32 bits are read and written: the lower ones of results are 0.";
inline constexpr std::string_view approx_halves_detail =
    "The bits of the instruction, on a GPU by the instruction itself; "
    "docs/reference/approximations.md says "
    "what they are, how far they are off, and on which GPUs they were compared. Defined on f32, "
    "f16 and bf16.";
inline constexpr std::string_view quotient_detail =
    "The bits of the instruction, on a GPU by the instruction itself: a times the approximate "
    "reciprocal of b, which docs/reference/approximations.md describes. Defined on f32. Layouts "
    "are as for "
    "Add.";

}  // namespace detail

/// What differs between the members of the family c = Op(a, b).
constexpr Description describe(BinaryOp op) {
  using detail::arithmetic, detail::elementwise, detail::arithmetic_detail, detail::choice_detail;
  using detail::comparison_detail, detail::bitwise_detail, detail::shift_detail;
  switch (op) {
    case BinaryOp::add:
      return arithmetic("Add", "Adds two tiles element by element.", arithmetic_detail);
    case BinaryOp::sub:
      return arithmetic("Sub", "Subtracts the second tile from the first, element by element.",
                        arithmetic_detail);
    case BinaryOp::mul:
      return arithmetic("Mul", "Multiplies two tiles element by element.", arithmetic_detail);
    case BinaryOp::div:
      return elementwise(
          "Div", "Divides the first tile by the second, element by element.",
          "Integer quotients truncate toward zero, and a divisor of zero is a fault (TV0403); "
          "float quotients round to nearest even. Types, layouts and narrow types are as for Add.");
    case BinaryOp::mod:
      return elementwise(
          "Mod", "Gives the remainder of the first tile by the second, element by element.",
          "a - b * trunc(a / b), exactly, for integers and floats: it has the sign of a. An "
          "integer divisor of zero is a fault (TV0403); for floats, b = 0 or an infinite a give "
          "NaN. Types, layouts and narrow types are as for Add.");
    case BinaryOp::min:
      return elementwise("Min", "Gives the smaller of two elements.", choice_detail);
    case BinaryOp::max:
      return elementwise("Max", "Gives the larger of two elements.", choice_detail);
    case BinaryOp::bit_and:
      return elementwise("And", "Combines the bits of two tiles by and.", bitwise_detail);
    case BinaryOp::bit_or:
      return elementwise("Or", "Combines the bits of two tiles by or.", bitwise_detail);
    case BinaryOp::bit_xor:
      return elementwise("Xor", "Combines the bits of two tiles by exclusive or.", bitwise_detail);
    case BinaryOp::shl:
      return elementwise("Shl", "Shifts the elements of the first tile to the left.", shift_detail);
    case BinaryOp::shr:
      return elementwise("Shr",
                         "Shifts the elements of the first tile to the right; signed ones keep "
                         "their sign.",
                         shift_detail);
    case BinaryOp::eq:
      return elementwise("Eq", "Tells where two tiles are equal.", comparison_detail);
    case BinaryOp::ne:
      return elementwise("Ne", "Tells where two tiles differ.", comparison_detail);
    case BinaryOp::lt:
      return elementwise("Lt", "Tells where the first tile is less than the second.",
                         comparison_detail);
    case BinaryOp::le:
      return elementwise("Le", "Tells where the first tile is less than the second, or equal.",
                         comparison_detail);
    case BinaryOp::gt:
      return elementwise("Gt", "Tells where the first tile is greater than the second.",
                         comparison_detail);
    case BinaryOp::ge:
      return elementwise("Ge", "Tells where the first tile is greater than the second, or equal.",
                         comparison_detail);
    case BinaryOp::pow:
      return elementwise(
          "Pow", "Raises the elements of the first tile to the powers of the second.",
          "A fixed sequence of f32 operations, the same on every engine; "
          "docs/reference/arithmetic.md, "
          "Functions, has its largest error. 1 where the power is 0 or the base is 1; NaN where "
          "the base is negative and the power no integer. Defined on floats but f64. Layouts and "
          "narrow types are as for Add.");
    case BinaryOp::div_full:
      return elementwise("DivFull", "Divides the first tile by the second as PTX's div.full does.",
                         detail::quotient_detail);
    case BinaryOp::div_full_ftz:
      return elementwise("DivFullFtz",
                         "Divides the first tile by the second as PTX's div.full.ftz does.",
                         detail::quotient_detail);
    case BinaryOp::div_approx:
      return elementwise("DivApprox",
                         "Divides the first tile by the second as PTX's div.approx does.",
                         detail::quotient_detail);
    case BinaryOp::div_approx_ftz:
      return elementwise("DivApproxFtz",
                         "Divides the first tile by the second as PTX's div.approx.ftz does.",
                         detail::quotient_detail);
  }
  TILEVM_NO_ENUMERATOR();
}

template <BinaryOp op>
struct Binary {
  RegisterOperand a;
  RegisterOperand b;

  static constexpr auto schema =
      define<Binary>(describe(op), slot("a", &Binary::a, "the first tile"),
                     slot("b", &Binary::b, "the second tile"));
  friend bool operator==(const Binary&, const Binary&) = default;
};

using Add = Binary<BinaryOp::add>;
using Sub = Binary<BinaryOp::sub>;
using Mul = Binary<BinaryOp::mul>;
using Div = Binary<BinaryOp::div>;
using Mod = Binary<BinaryOp::mod>;
using Min = Binary<BinaryOp::min>;
using Max = Binary<BinaryOp::max>;
using And = Binary<BinaryOp::bit_and>;
using Or = Binary<BinaryOp::bit_or>;
using Xor = Binary<BinaryOp::bit_xor>;
using Shl = Binary<BinaryOp::shl>;
using Shr = Binary<BinaryOp::shr>;
using Eq = Binary<BinaryOp::eq>;
using Ne = Binary<BinaryOp::ne>;
using Lt = Binary<BinaryOp::lt>;
using Le = Binary<BinaryOp::le>;
using Gt = Binary<BinaryOp::gt>;
using Ge = Binary<BinaryOp::ge>;
using Pow = Binary<BinaryOp::pow>;
using DivFull = Binary<BinaryOp::div_full>;
using DivFullFtz = Binary<BinaryOp::div_full_ftz>;
using DivApprox = Binary<BinaryOp::div_approx>;
using DivApproxFtz = Binary<BinaryOp::div_approx_ftz>;

/// What differs between the members of the family b = Op(a).
constexpr Description describe(UnaryOp op) {
  using detail::elementwise, detail::function_detail, detail::root_detail;
  switch (op) {
    case UnaryOp::neg:
      return elementwise("Neg", "Negates a tile element by element.",
                         "Integers wrap; floats flip their sign bit, NaN becomes canonical.");
    case UnaryOp::abs:
      return elementwise("Abs", "Takes the absolute value of every element.",
                         "Integers wrap; floats clear their sign bit, NaN becomes canonical.");
    case UnaryOp::exp2:
      return elementwise("Exp2", "Raises 2 to the power of every element.", function_detail);
    case UnaryOp::exp:
      return elementwise("Exp", "Raises e to the power of every element.", function_detail);
    case UnaryOp::log2:
      return elementwise("Log2", "Takes the logarithm to the base 2 of every element.",
                         function_detail);
    case UnaryOp::log:
      return elementwise("Log", "Takes the natural logarithm of every element.", function_detail);
    case UnaryOp::sin:
      return elementwise("Sin", "Takes the sine of every element, in radians.", function_detail);
    case UnaryOp::cos:
      return elementwise("Cos", "Takes the cosine of every element, in radians.", function_detail);
    case UnaryOp::tanh:
      return elementwise("Tanh", "Takes the hyperbolic tangent of every element.", function_detail);
    case UnaryOp::sigmoid:
      return elementwise("Sigmoid", "Gives 1 / (1 + exp(-x)) of every element x.", function_detail);
    case UnaryOp::sqrt:
      return elementwise("Sqrt", "Takes the square root of every element.", root_detail);
    case UnaryOp::rsqrt:
      return elementwise("Rsqrt", "Gives 1 / sqrt(x) of every element x, rounded correctly.",
                         function_detail);
    case UnaryOp::rcp:
      return elementwise("Rcp", "Gives 1 / x of every element x.", root_detail);
    case UnaryOp::floor:
      return elementwise("Floor", "Takes the largest integer that is not above every element.",
                         detail::integral_detail);
    case UnaryOp::ceil:
      return elementwise("Ceil", "Takes the smallest integer that is not below every element.",
                         detail::integral_detail);
    case UnaryOp::round:
      return elementwise("Round",
                         "Takes the integer nearest to every element, of two the even one.",
                         detail::integral_detail);
    case UnaryOp::trunc:
      return elementwise("Trunc", "Cuts off the fraction of every element.",
                         detail::integral_detail);
    case UnaryOp::erf:
      return elementwise("Erf", "Takes the error function of every element.", function_detail);
    case UnaryOp::exp2_approximate:
      return elementwise(
          "Exp2Approximate", "Raises 2 to the power of every element, to 13 bits or so.",
          "A fixed sequence of f32 operations, the same on every engine, two thirds as long as "
          "that "
          "of Exp2: for results that are cast to 16 bits. Relative errors are up to 1.02e-4; "
          "results below 2^-126 are off by up to 2^-127. Types are those of Exp2.");
    case UnaryOp::ex2_approx:
      return elementwise("Ex2Approx",
                         "Raises 2 to the power of every element as PTX's ex2.approx does.",
                         detail::approx_f16_detail);
    case UnaryOp::ex2_approx_ftz:
      return elementwise("Ex2ApproxFtz",
                         "Raises 2 to the power of every element as PTX's ex2.approx.ftz does.",
                         detail::approx_bf16_detail);
    case UnaryOp::lg2_approx:
      return elementwise(
          "Lg2Approx",
          "Takes the logarithm to the base 2 of every element as PTX's lg2.approx does.",
          detail::approx_f32_detail);
    case UnaryOp::lg2_approx_ftz:
      return elementwise(
          "Lg2ApproxFtz",
          "Takes the logarithm to the base 2 of every element as PTX's lg2.approx.ftz does.",
          detail::approx_f32_detail);
    case UnaryOp::rcp_approx:
      return elementwise("RcpApprox", "Gives 1 / x of every element x as PTX's rcp.approx does.",
                         detail::approx_f32_detail);
    case UnaryOp::rcp_approx_ftz:
      return elementwise("RcpApproxFtz",
                         "Gives 1 / x of every element x as PTX's rcp.approx.ftz does.",
                         detail::approx_f64_detail);
    case UnaryOp::rsqrt_approx:
      return elementwise("RsqrtApprox",
                         "Gives 1 / sqrt(x) of every element x as PTX's rsqrt.approx does.",
                         detail::approx_f32_detail);
    case UnaryOp::rsqrt_approx_ftz:
      return elementwise("RsqrtApproxFtz",
                         "Gives 1 / sqrt(x) of every element x as PTX's rsqrt.approx.ftz does.",
                         detail::approx_f64_detail);
    case UnaryOp::sqrt_approx:
      return elementwise("SqrtApprox",
                         "Takes the square root of every element as PTX's sqrt.approx does.",
                         detail::approx_f32_detail);
    case UnaryOp::sqrt_approx_ftz:
      return elementwise("SqrtApproxFtz",
                         "Takes the square root of every element as PTX's sqrt.approx.ftz does.",
                         detail::approx_f32_detail);
    case UnaryOp::sin_approx:
      return elementwise("SinApprox",
                         "Takes the sine of every element, in radians as PTX's sin.approx does.",
                         detail::approx_f32_detail);
    case UnaryOp::sin_approx_ftz:
      return elementwise(
          "SinApproxFtz",
          "Takes the sine of every element, in radians as PTX's sin.approx.ftz does.",
          detail::approx_f32_detail);
    case UnaryOp::cos_approx:
      return elementwise("CosApprox",
                         "Takes the cosine of every element, in radians as PTX's cos.approx does.",
                         detail::approx_f32_detail);
    case UnaryOp::cos_approx_ftz:
      return elementwise(
          "CosApproxFtz",
          "Takes the cosine of every element, in radians as PTX's cos.approx.ftz does.",
          detail::approx_f32_detail);
    case UnaryOp::tanh_approx:
      return elementwise("TanhApprox",
                         "Takes the hyperbolic tangent of every element as PTX's tanh.approx does.",
                         detail::approx_halves_detail);
  }
  TILEVM_NO_ENUMERATOR();
}

template <UnaryOp op>
struct Unary {
  RegisterOperand a;

  static constexpr auto schema = define<Unary>(describe(op), slot("a", &Unary::a, "the tile"));
  friend bool operator==(const Unary&, const Unary&) = default;
};

using Neg = Unary<UnaryOp::neg>;
using Abs = Unary<UnaryOp::abs>;
using Exp2 = Unary<UnaryOp::exp2>;
using Exp = Unary<UnaryOp::exp>;
using Log2 = Unary<UnaryOp::log2>;
using Log = Unary<UnaryOp::log>;
using Sin = Unary<UnaryOp::sin>;
using Cos = Unary<UnaryOp::cos>;
using Tanh = Unary<UnaryOp::tanh>;
using Sigmoid = Unary<UnaryOp::sigmoid>;
using Sqrt = Unary<UnaryOp::sqrt>;
using Rsqrt = Unary<UnaryOp::rsqrt>;
using Rcp = Unary<UnaryOp::rcp>;
using Floor = Unary<UnaryOp::floor>;
using Ceil = Unary<UnaryOp::ceil>;
using Round = Unary<UnaryOp::round>;
using Trunc = Unary<UnaryOp::trunc>;
using Erf = Unary<UnaryOp::erf>;
using Exp2Approximate = Unary<UnaryOp::exp2_approximate>;
using Ex2Approx = Unary<UnaryOp::ex2_approx>;
using Ex2ApproxFtz = Unary<UnaryOp::ex2_approx_ftz>;
using Lg2Approx = Unary<UnaryOp::lg2_approx>;
using Lg2ApproxFtz = Unary<UnaryOp::lg2_approx_ftz>;
using RcpApprox = Unary<UnaryOp::rcp_approx>;
using RcpApproxFtz = Unary<UnaryOp::rcp_approx_ftz>;
using RsqrtApprox = Unary<UnaryOp::rsqrt_approx>;
using RsqrtApproxFtz = Unary<UnaryOp::rsqrt_approx_ftz>;
using SqrtApprox = Unary<UnaryOp::sqrt_approx>;
using SqrtApproxFtz = Unary<UnaryOp::sqrt_approx_ftz>;
using SinApprox = Unary<UnaryOp::sin_approx>;
using SinApproxFtz = Unary<UnaryOp::sin_approx_ftz>;
using CosApprox = Unary<UnaryOp::cos_approx>;
using CosApproxFtz = Unary<UnaryOp::cos_approx_ftz>;
using TanhApprox = Unary<UnaryOp::tanh_approx>;

struct Fma {
  RegisterOperand a;
  RegisterOperand b;
  RegisterOperand c;

  static constexpr auto schema = define<Fma>(
      detail::arithmetic(
          "Fma", "Multiplies two tiles element by element and adds a third.",
          "a * b + c, rounded once: on a GPU one instruction, as a step of a Dot "
          "without tensor cores is. Defined on f16, bf16, f32, f64 and on integers "
          "of 32 and 64 bits, which wrap. The three tiles have one type, and one "
          "layout or shapes that broadcast (docs/reference/arithmetic.md, Broadcasting)."),
      slot("a", &Fma::a, "the first factor"), slot("b", &Fma::b, "the second factor"),
      slot("c", &Fma::c, "what is added"));
  friend bool operator==(const Fma&, const Fma&) = default;
};

struct Where {
  RegisterOperand condition;
  RegisterOperand a;
  RegisterOperand b;

  static constexpr auto schema = define<Where>(
      detail::elementwise(
          "Where",
          "Takes elements of one tile where a condition holds, of another "
          "where it does not.",
          "The bits are taken as they are, of any type. The three tiles have one "
          "layout, or shapes that broadcast (docs/reference/arithmetic.md, Broadcasting)."),
      slot("condition", &Where::condition, "a tile of u1, such as a comparison gives"),
      slot("a", &Where::a, "the tile taken from where the condition is 1"),
      slot("b", &Where::b, "the tile taken from where it is 0; a's type"));
  friend bool operator==(const Where&, const Where&) = default;
};

/// Its instructions, in the order of the reference.
using ElementwiseInstructions =
    InstructionList<Add, Sub, Mul, Div, Mod, Fma, Neg, Abs, Min, Max, And, Or, Xor, Shl, Shr, Eq,
                    Ne, Lt, Le, Gt, Ge, Where, Exp2, Exp, Log2, Log, Sin, Cos, Tanh, Sigmoid, Sqrt,
                    Rsqrt, Rcp, Floor, Ceil, Round, Trunc, Erf, Exp2Approximate, Pow, Ex2Approx,
                    Ex2ApproxFtz, Lg2Approx, Lg2ApproxFtz, RcpApprox, RcpApproxFtz, RsqrtApprox,
                    RsqrtApproxFtz, SqrtApprox, SqrtApproxFtz, SinApprox, SinApproxFtz, CosApprox,
                    CosApproxFtz, TanhApprox, DivFull, DivFullFtz, DivApprox, DivApproxFtz>;

}  // namespace tilevm::isa
