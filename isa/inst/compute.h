// Instructions that compute on register tiles (the paper's Table 1, "Register Tensor Computation"),
// but for those that work element by element (elementwise.h).
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct Cast {
  RegisterOperand src;
  DType dtype;

  static constexpr auto schema = define<Cast>(
      {.mnemonic = "Cast",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Converts every element to another type; the layout stays.",
       .detail = "Integer to integer wraps; float to integer truncates toward zero and saturates; "
                 "to floats rounds to nearest even (tf32: ties away), once. Floats of 8 bits or "
                 "fewer saturate. See docs/reference/arithmetic.md, Cast.",
       .elementwise = true},
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
       .sync = Sync::none,
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

struct ConvertLayout {
  RegisterOperand src;
  RegisterLayout layout;

  static constexpr auto schema = define<ConvertLayout>(
      {.mnemonic = "ConvertLayout",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Gives a tile another layout; every element keeps its index.",
       .detail =
           "Both layouts have the same shape and the same number of threads. Where elements "
           "change their places inside a thread only, it costs little: between two Views to u1 it "
           "permutes bits, and where a Cast follows, the CUDA backend reads the permuted bits "
           "where they are. Between threads of a warp, elements move by shuffles or `movmatrix` "
           "where that takes fewer instructions; else they move through shared memory that is not "
           "a "
           "tensor of the program, with one barrier.",
       .exchanges = true},
      slot("src", &ConvertLayout::src, "the tile"),
      slot("layout", &ConvertLayout::layout, "the new layout"));
  friend bool operator==(const ConvertLayout&, const ConvertLayout&) = default;
};

struct Dot {
  RegisterOperand a;
  RegisterOperand b;
  RegisterOperand c;

  static constexpr auto schema = define<Dot>(
      {.mnemonic = "Dot",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Matrix product with accumulation: d = dot(a, b) + c.",
       .detail =
           "a is [.., m, k], b is [.., k, n], c and d are [.., m, n]. Leading dimensions, which "
           "are the same in all, make a batch of independent products. The tensor-core "
           "instruction follows from types, layouts and target; k ascends. Layouts of transposed "
           "fragments make it compute the transposed product, with b as its left operand. The "
           "arithmetic is that of the target's tensor cores, bit for bit. Where no instruction "
           "fits, and each thread holds all of k for its part of c, it is a chain of multiply-adds "
           "(docs/reference/products.md, Dot).",
       .canonical_nan = true},
      slot("a", &Dot::a, "the left matrix, [.., m, k]", ProductRole::left),
      slot("b", &Dot::b, "the right matrix, [.., k, n]", ProductRole::right),
      slot("c", &Dot::c, "what is added, [.., m, n]; its type and layout are the result's",
           ProductRole::addend));
  friend bool operator==(const Dot&, const Dot&) = default;
};

struct DotSparse {
  RegisterOperand a;
  RegisterOperand places;
  RegisterOperand b;
  RegisterOperand c;

  static constexpr auto schema = define<DotSparse>(
      {.mnemonic = "DotSparse",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Matrix product of a 2:4 sparse matrix: d = dot(expand(a), b) + c.",
       .detail =
           "Two of each four elements of a row of the left matrix are stored: a is "
           "[.., m, k / 2], b is [.., k, n], c and d are [.., m, n]. places, u2 in a's shape, "
           "is PTX's sparsity metadata: the index of each stored element in its group of four. In "
           "each pair the first index is less than the second, which the simulator checks. "
           "Elements that are not stored are not multiplied. Tensor-core instructions only, for "
           "f16, bf16, i8 and u8, and floats of 8 bits from sm_89 on (docs/reference/products.md, "
           "DotSparse).",
       .canonical_nan = true},
      slot("a", &DotSparse::a, "the stored elements of the left matrix, [.., m, k / 2]",
           ProductRole::left),
      slot("places", &DotSparse::places,
           "their indices in their groups of four (sparsity metadata), u2", ProductRole::metadata),
      slot("b", &DotSparse::b, "the right matrix, [.., k, n]", ProductRole::right),
      slot("c", &DotSparse::c, "what is added, [.., m, n]; its type and layout are the result's",
           ProductRole::addend));
  friend bool operator==(const DotSparse&, const DotSparse&) = default;
};

struct DotScaled {
  RegisterOperand a;
  RegisterOperand a_scales;
  RegisterOperand b;
  RegisterOperand b_scales;
  RegisterOperand c;

  static constexpr auto schema = define<DotScaled>(
      {.mnemonic = "DotScaled",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Matrix product of block-scaled matrices: d = dot(a * sa, b * sb) + c.",
       .detail =
           "a is [.., m, k], b is [.., k, n], c and d are f32 [.., m, n]. G elements side by side "
           "along k share a scale: sa is [.., m, k / G], sb is [.., k / G, n]. Scales of f8e8m0 "
           "(G = 32) go with f8e4m3, f8e5m2, f6e3m2, f6e2m3 and f4e2m1 in any mix, scales of "
           "f7e4m3u (G = 16) with f4e2m1. Block-scaled tensor-core instructions only, which "
           "sm_120a has; their arithmetic is modelled after the literature, not measured "
           "(docs/reference/products.md, DotScaled).",
       .canonical_nan = true},
      slot("a", &DotScaled::a, "the left matrix, [.., m, k]", ProductRole::left),
      slot("sa", &DotScaled::a_scales, "its scales, [.., m, k / G]", ProductRole::left_scales),
      slot("b", &DotScaled::b, "the right matrix, [.., k, n]", ProductRole::right),
      slot("sb", &DotScaled::b_scales, "its scales, [.., k / G, n]", ProductRole::right_scales),
      slot("c", &DotScaled::c, "what is added, [.., m, n]; its type and layout are the result's",
           ProductRole::addend));
  friend bool operator==(const DotScaled&, const DotScaled&) = default;
};

/// Its instructions, in the order of the reference.
using ComputeInstructions = InstructionList<Cast, View, ConvertLayout, Dot, DotSparse, DotScaled>;

}  // namespace tilevm::isa
