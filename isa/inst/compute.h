// Instructions that compute on register tiles (the paper's Table 1, "Register Tensor Computation").
#pragma once

#include <optional>

#include "isa/schema.h"
#include "isa/slots.h"
#include "isa/type/arith.h"

namespace tilevm::isa {

/// What differs between the members of the family c = Op(a, b).
constexpr Description describe(BinaryOp op) {
  const auto description = [](std::string_view mnemonic, std::string_view summary,
                              std::string_view detail) {
    return Description{.mnemonic = mnemonic,
                       .category = Category::compute,
                       .result = ResultKind::register_tile,
                       .summary = summary,
                       .detail = detail};
  };
  constexpr std::string_view wraps =
      "Integers wrap; floats round to nearest even; types narrower than 16 bits, and tf32, are "
      "converted to i32, u32 or f32, operated on, and cast back. Both tiles have one element type, "
      "and one layout or shapes that broadcast (docs/semantics.md, Broadcasting).";
  switch (op) {
    case BinaryOp::add:
      return description("Add", "Adds two tiles element by element.", wraps);
    case BinaryOp::sub:
      return description("Sub", "Subtracts the second tile from the first, element by element.",
                         wraps);
    case BinaryOp::mul:
      return description("Mul", "Multiplies two tiles element by element.", wraps);
    case BinaryOp::div:
      return description(
          "Div", "Divides the first tile by the second, element by element.",
          "Integer quotients truncate toward zero, and a divisor of zero is a fault (TV0403); "
          "float "
          "quotients round to nearest even. Types, layouts and narrow types are as for Add.");
    case BinaryOp::mod:
      return description("Mod",
                         "Gives the remainder of the first tile by the second, element by element.",
                         "a - b * trunc(a / b), exactly, for integers and floats: it has the sign "
                         "of a. An integer "
                         "divisor of zero is a fault (TV0403); for floats, b = 0 or an infinite a "
                         "give NaN. Types, "
                         "layouts and narrow types are as for Add.");
  }
  return {};
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

struct Neg {
  RegisterOperand a;

  static constexpr auto schema =
      define<Neg>({.mnemonic = "Neg",
                   .category = Category::compute,
                   .result = ResultKind::register_tile,
                   .summary = "Negates a tile element by element.",
                   .detail = "Integers wrap; floats flip their sign bit, NaN becomes canonical."},
                  slot("a", &Neg::a, "the tile"));
  friend bool operator==(const Neg&, const Neg&) = default;
};

struct Cast {
  RegisterOperand src;
  DType dtype;

  static constexpr auto schema = define<Cast>(
      {.mnemonic = "Cast",
       .category = Category::compute,
       .result = ResultKind::register_tile,
       .summary = "Converts every element to another type; the layout stays.",
       .detail = "Integer to integer wraps; float to integer truncates toward zero and saturates; "
                 "to floats rounds to nearest even (tf32: ties away), once. Floats of 8 bits or "
                 "fewer saturate. See docs/semantics.md, Cast."},
      slot("src", &Cast::src, "the tile to convert"),
      slot("dtype", &Cast::dtype, "the element type of the result"));
  friend bool operator==(const Cast&, const Cast&) = default;
};

struct View {
  RegisterOperand src;
  std::optional<DType> dtype;
  std::optional<RegisterLayout> layout;

  static constexpr auto schema = define<View>(
      {.mnemonic = "View",
       .category = Category::compute,
       .result = ResultKind::register_tile,
       .summary = "Reinterprets the bits of a tile as another type and layout, at no cost.",
       .detail =
           "Both must have the same number of threads and the same number of bits per thread. "
           "A thread's bits are a little-endian stream of its elements in local order, so bit "
           "j of a thread stays bit j of that thread."},
      slot("src", &View::src, "the tile to reinterpret"),
      slot("dtype", &View::dtype, "the new element type; the tile's if left out"),
      slot("layout", &View::layout, "the new layout; the tile's if left out"));
  friend bool operator==(const View&, const View&) = default;
};

struct Dot {
  RegisterOperand a;
  RegisterOperand b;
  RegisterOperand c;

  static constexpr auto schema = define<Dot>(
      {.mnemonic = "Dot",
       .category = Category::compute,
       .result = ResultKind::register_tile,
       .summary = "Matrix product with accumulation: d = dot(a, b) + c.",
       .detail =
           "a is [m, k], b is [k, n], c and d are [m, n]. The tensor-core instruction follows "
           "from types, layouts and target; k ascends. The arithmetic is that of the target's "
           "tensor cores, bit for bit (docs/semantics.md, Dot)."},
      slot("a", &Dot::a, "the left matrix, [m, k]"), slot("b", &Dot::b, "the right matrix, [k, n]"),
      slot("c", &Dot::c, "what is added, [m, n]; its type and layout are the result's"));
  friend bool operator==(const Dot&, const Dot&) = default;
};

}  // namespace tilevm::isa
