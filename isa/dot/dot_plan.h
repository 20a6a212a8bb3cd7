// The plan of a Dot: by which instructions it is computed, on which registers, in which order.
//
// Since the result of a tensor core depends on where a long sum is cut, the plan is part of the
// meaning of Dot. dot.h makes it.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/dot/mma_shapes.h"

namespace tilevm::isa {

enum class DotMethod : std::uint8_t {
  mma,      ///< tensor-core instructions on the operands as they are
  bipolar,  ///< tensor-core instructions on integers made of bipolar operands (OperandForm); the
            ///< sum is exact
  chain,    ///< acc = fma(a, b, acc) with k ascending, in the accumulator's type
};

/// The local places, in one thread, of the elements of one fragment, in the fragment's own local
/// order. Every thread has the same ones.
using Fragment = std::vector<std::int32_t>;

/// How an operand of a bipolar Dot becomes operands of the instruction:
///   value = scale * sum over p of 2^p plane_p + offset
/// With u1 instructions plane p is bit p of the codes; if they count XORs, every bit is -1 or +1
/// itself, and the product of two is 1 - 2 XOR. With i8 instructions there is one plane, the
/// value itself, or (value - 1) / 2 where the value needs more than 8 bits.
struct OperandForm {
  int planes = 1;
  std::int32_t scale = 1;
  std::int32_t offset = 0;
};

/// Where a thread finds the operands of its element at place i of c: a(.., m, k) at place
/// a_row[i] + a_depth[k] and b(.., k, n) at place b_depth[k] + b_column[i]. Every thread has the
/// same ones.
struct ChainPlaces {
  Fragment a_row, a_depth, b_depth, b_column;
};

struct DotPlan {
  DotMethod method = DotMethod::mma;
  const MmaShape* shape = nullptr;  ///< none for a chain
  /// The instruction computes c^T = b^T a^T: its a is the Dot's b, its b the Dot's a.
  bool transposed = false;
  std::vector<Fragment> a, b, c;  ///< fragments of the instruction's operands
  std::vector<Fragment> places;   ///< metadata of a sparse instruction: one register each
  /// Scales of a block-scaled instruction: those of a step each.
  std::vector<Fragment> a_scales, b_scales;
  /// One mma of the instruction's a and b: c += a * b, by indices into the lists of fragments. A
  /// sparse one takes its places from the threads that the selector names.
  struct Step {
    std::int32_t a, b, c;
    std::int32_t places = 0, selector = 0;
    std::int32_t a_scales = 0, b_scales = 0;
  };
  /// In order of execution; the steps of one c fragment follow one another with ascending k.
  std::vector<Step> steps;
  OperandForm a_form, b_form;  ///< operand forms for DotMethod::bipolar
  ChainPlaces chain;           ///< registers for DotMethod::chain
};

/// The tensor-core instructions that each warp executes, those for the sums of bipolar operands
/// included; none for a chain.
[[nodiscard]] std::uint64_t count_instructions(const DotPlan& plan);

}  // namespace tilevm::isa
