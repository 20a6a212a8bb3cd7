// One instruction of warp groups, as each warp's part: 16 rows of the product.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/emu/lane.h"
#include "backend/emu/mma_unit.h"

namespace tilevm::backend {

/// A matrix in shared memory by its descriptor (PTX ISA, "Matrix Descriptor Format").
class DescribedMatrix {
 public:
  DescribedMatrix(std::uint64_t descriptor, bool mn_major, unsigned element_bytes);
  /// The byte of element (row, k), where rows are those of A or the columns of B.
  [[nodiscard]] std::uint64_t byte(unsigned row, unsigned k) const;
  /// Calls f with each group of elements that lie side by side: 16 bytes from the byte of element
  /// (row, k) on, along the rows or along k. `rows` and `depth` are extents.
  template <class F>
  void for_each_group(unsigned first_row, unsigned rows, unsigned depth, F&& f) const {
    const unsigned in_group = group_bytes / element_bytes_;
    for (unsigned row = first_row; row < first_row + rows; row += mn_major_ ? in_group : 1) {
      for (unsigned k = 0; k < depth; k += mn_major_ ? 1 : in_group) f(row, k, byte(row, k));
    }
  }
  static constexpr unsigned group_bytes = 16;
  /// The codes of rows from `first_row` on. Neighbours in a row and in a column are so far apart in
  /// `codes`.
  void read(const unsigned char* shared, unsigned first_row, unsigned rows, unsigned depth,
            std::size_t in_row, std::size_t in_column, std::span<std::uint64_t> codes) const;

 private:
  template <class Element>
  void read_elements(const unsigned char* shared, unsigned first_row, unsigned rows, unsigned depth,
                     std::size_t in_row, std::size_t in_column,
                     std::span<std::uint64_t> codes) const;
  std::uint64_t start_, leading_, stride_, swizzle_;
  bool mn_major_;
  unsigned element_bytes_;
};

class WgmmaUnit {
 public:
  explicit WgmmaUnit(const isa::MmaShape& shape);
  [[nodiscard]] const isa::MmaShape& shape() const { return shape_; }
  [[nodiscard]] const Fragment& a() const { return a_; }
  [[nodiscard]] const Fragment& d() const { return d_; }
  /// 32-bit words of a thread.
  [[nodiscard]] std::size_t a_words() const { return a_words_; }
  [[nodiscard]] std::size_t d_words() const { return d_words_; }
  /// d = a * b + d of 16 x k, k x n and 16 x n codes, column after column.
  void multiply(const MmaModel& model, std::span<const std::uint64_t> a,
                std::span<const std::uint64_t> b, std::span<std::uint64_t> d) const;

 private:
  const isa::MmaShape& shape_;
  isa::MmaShape piece_;  ///< part of the product that the model computes at once
  Fragment a_, d_;
  std::size_t a_words_, d_words_;
};

/// A warp's part of a product in flight. Registers of A were read when it began; matrices in shared
/// memory and the words of d are read when it lands.
class WarpProduct {
 public:
  WarpProduct(const WgmmaUnit& unit, const MmaModel& model, unsigned warp, emu::Range shared,
              const std::array<const emu::DotOperands*, warp_size>& operands,
              const std::array<unsigned* const*, warp_size>& d);
  /// A byte that a descriptor names outside of shared memory, if there is one.
  [[nodiscard]] std::optional<std::uint64_t> find_outside() const;
  void land() const;

 private:
  [[nodiscard]] std::vector<std::uint64_t> read_a() const;
  [[nodiscard]] std::vector<std::uint64_t> read_b() const;

  const WgmmaUnit* unit_;
  const MmaModel* model_;
  unsigned warp_;
  emu::Range shared_;
  emu::DotOperands operands_;  ///< operands of the first lane, which has the descriptors of all
  std::vector<std::uint64_t> a_codes_;  ///< codes of A in registers
  std::vector<unsigned*> d_;            ///< [lane][word]
};

}  // namespace tilevm::backend
