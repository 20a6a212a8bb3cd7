// The residues of elements in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/type/dtype.h"
#include "vm/naive/ring.h"

namespace tilevm::vm::naive {

/// Bits that follow one another in memory: of one element that was stored, or of none that has a
/// residue.
struct ResiduePart {
  Residue residue;
  isa::DType type;
  std::uint64_t begin = 0;  ///< the first bit of the element
  std::uint64_t bits = 0;
};

/// Memory is cells, as wide as the widest that no stored element cuts. They are made when a first
/// residue is stored.
class ResidueMemory {
 public:
  explicit ResidueMemory(std::size_t bytes) : bits_(std::uint64_t{bytes} * 8) {}

  /// The residue of an element that was stored as it is loaded; of others none.
  [[nodiscard]] Residue load(const isa::DType& type, std::uint64_t bit) const;
  /// Whether an element that has a residue has one of these bits.
  [[nodiscard]] bool has_residue(std::uint64_t bit, std::uint64_t bits) const;
  /// What these bits are of, in ascending order. Parts do not depend on the width of cells.
  [[nodiscard]] std::vector<ResiduePart> parts(std::uint64_t bit, std::uint64_t bits) const;

  void store(const isa::DType& type, std::uint64_t bit, Residue residue);

 private:
  struct Cell {
    Residue residue;
    isa::DType type;
    std::uint32_t begin = 0;  ///< the first bit of the cell, counted in its element
  };
  void cut(std::uint64_t width);

  std::uint64_t bits_;
  std::uint64_t width_ = 0;  ///< bits of a cell; 0 while there are none
  std::vector<Cell> cells_;
};

}  // namespace tilevm::vm::naive
