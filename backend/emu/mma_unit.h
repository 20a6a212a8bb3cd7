// Tensor-core instructions of a warp: fragments in registers become matrices, a model multiplies
// them, and the result goes back to registers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "isa/dot/mma_shapes.h"

namespace tilevm::backend {

/// What only some instructions take, column after column: of a sparse one the places of a, of a
/// block-scaled one the scales, m x k / G of a and k / G x n of b.
struct MmaExtras {
  std::span<const std::uint64_t> places = {}, a_scales = {}, b_scales = {};
};

/// Computes c = a * b + c as a tensor core does, on codes: a is m x k, b is k x n, c is m x n, all
/// column after column. A sparse instruction's a and its places are m x k / 2. Several threads may
/// call at once.
using MmaModel = std::function<void(const isa::MmaShape& shape, std::span<const std::uint64_t> a,
                                    std::span<const std::uint64_t> b, std::span<std::uint64_t> c,
                                    const MmaExtras& extras)>;

inline constexpr unsigned warp_size = 32;

/// The registers of one operand in each lane of a warp.
template <class Word>
using WarpRegisters = std::array<Word*, warp_size>;

/// How the registers of a warp hold a matrix, whose codes are column after column.
class Fragment {
 public:
  /// Codes of `code_bits`, each in its part of a register, of the first `lanes` threads of a
  /// layout.
  Fragment(int code_bits, const isa::RegisterElement& element, const isa::RegisterLayout& layout,
           std::int64_t lanes = warp_size);
  void gather(const WarpRegisters<const void>& registers, std::span<std::uint64_t> codes) const;
  void scatter(std::span<const std::uint64_t> codes, const WarpRegisters<void>& registers) const;
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  /// An element of one lane: the byte at which its register begins, its first bit there, its
  /// position in the matrix.
  struct Element {
    std::uint16_t byte;
    std::uint8_t shift;
    std::uint32_t position;
  };
  template <class Register>
  void gather_from(const WarpRegisters<const void>& registers,
                   std::span<std::uint64_t> codes) const;
  template <class Register>
  void scatter_to(std::span<const std::uint64_t> codes, const WarpRegisters<void>& registers) const;
  unsigned bits_;
  std::size_t size_, locals_;
  std::vector<Element> elements_;  ///< elements of lane 0, then of lane 1, ..
};

/// A register of each lane: the places of a sparse instruction, and whose are meant; the scales of
/// a block-scaled one.
struct WarpExtras {
  WarpRegisters<const void> places{};
  int selector = 0;
  WarpRegisters<const void> a_scales{}, b_scales{};
};

/// One tensor-core instruction.
class MmaUnit {
 public:
  explicit MmaUnit(const isa::MmaShape& shape);
  [[nodiscard]] const isa::MmaShape& shape() const { return shape_; }
  void run(const MmaModel& model, const WarpRegisters<const void>& a,
           const WarpRegisters<const void>& b, const WarpRegisters<void>& c,
           const WarpExtras& extras = {}) const;

 private:
  const isa::MmaShape& shape_;
  Fragment a_, b_, c_;
  std::optional<Fragment> places_, a_scales_, b_scales_;
};

}  // namespace tilevm::backend
