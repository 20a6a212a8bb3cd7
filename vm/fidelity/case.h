// What a GPU is compared on: a case is a program that computes one or more results, and the way its
// operands are drawn.
//
// A case runs over blocks, as many as are wanted. The operands of a block are a function of the
// seed and the block's number alone. The first `kept` blocks always belong to seed 0: the hashes of
// what a GPU gave for them are kept, so that machines without one can repeat them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isa/layout/register_layout.h"
#include "isa/numeric/target.h"
#include "isa/type/dtype.h"

namespace tilevm::vm::fidelity {

/// How much is compared.
enum class Size : std::uint8_t {
  quick,       ///< what is kept
  full,        ///< some millions of outputs
  exhaustive,  ///< every input where there are at most 2^32, else 10^7 outputs and more
};
[[nodiscard]] const std::vector<std::string>& size_names();
/// `name` is one of size_names().
[[nodiscard]] Size parse_size(const std::string& name);

/// A tensor of a case, as much as one block has of it.
struct Part {
  std::string name;         ///< name of a result in records
  isa::DType type;          ///< type of the elements
  isa::Shape block;         ///< extents of the tile
  std::string instruction;  ///< instruction that computes the result

  /// The type in memory: each narrow element of an element-wise case takes a byte.
  isa::DType stored;
};

/// The codes of each operand in one block.
using Draw =
    std::function<std::vector<std::vector<std::uint64_t>>(std::uint64_t seed, std::int64_t block)>;

enum class Family : std::uint8_t {
  tensor_core,    ///< Dot by instructions
  sparse,         ///< DotSparse
  chain,          ///< Dot without them
  cast,           ///< a type to every type
  unary,          ///< every operation of one operand but these:
  rounding,       ///< rounding to integers
  function,       ///< Erf, Exp2Approximate
  binary,         ///< every operation of two but those below, and Where
  power,          ///< Pow
  approximation,  ///< Ex2Approx and the others that PTX has of one operand
  quotient,       ///< DivFull and the others
  ternary,        ///< Fma
};

struct Case {
  Family family = Family::tensor_core;
  std::string name;  ///< "Dot f16 f16 f32 m16n8k16", "Cast f16"
  int min_sm = 80;   ///< the first target that has it
  /// A kernel `f<n>(operands.., results.., i32 n)`; n is the number of blocks.
  std::string text;
  std::vector<Part> operands, results;
  Draw draw;
  std::int64_t kept = 1, full = 1, exhaustive = 1;  ///< blocks of each size

  [[nodiscard]] std::int64_t blocks(Size size) const;
  /// Elements of every result in so many blocks.
  [[nodiscard]] std::uint64_t outputs(std::int64_t block_count) const;
};

/// Every case that a target has, in a fixed order. They follow from the tables of `isa`: a new
/// type, instruction shape or member of a family appears by itself.
[[nodiscard]] std::vector<Case> make_cases(const isa::Target& target);

/// The parts of make_cases().
[[nodiscard]] std::vector<Case> dot_cases();
[[nodiscard]] std::vector<Case> element_cases();

/// The types of element_cases(): all but those of scales, which came after the cases had been
/// recorded on GPUs. A case that casts to one more type has another hash.
[[nodiscard]] std::vector<isa::DType> measured_types();

}  // namespace tilevm::vm::fidelity
