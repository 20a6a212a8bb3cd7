#include "vm/naive/residue_memory.h"

#include <algorithm>
#include <numeric>

namespace tilevm::vm::naive {

Residue ResidueMemory::load(const isa::DType& type, std::uint64_t bit) const {
  if (width_ == 0 || bit % width_ != 0 || type.bits % width_ != 0) return {};
  const Cell& first = cells_[bit / width_];
  for (std::uint64_t at = 0; at < type.bits; at += width_) {
    const Cell& cell = cells_[(bit + at) / width_];
    if (cell.residue != first.residue || cell.type != type || cell.begin != at) return {};
  }
  return first.residue;
}

bool ResidueMemory::has_residue(std::uint64_t bit, std::uint64_t bits) const {
  if (width_ == 0) return false;
  for (std::uint64_t k = bit / width_; k * width_ < bit + bits; ++k) {
    if (cells_[k].residue.is_given()) return true;
  }
  return false;
}

std::vector<ResiduePart> ResidueMemory::parts(std::uint64_t bit, std::uint64_t bits) const {
  std::vector<ResiduePart> found;
  const std::uint64_t end = bit + bits;
  for (std::uint64_t at = bit; at < end;) {
    const std::uint64_t next = width_ == 0 ? end : std::min(end, (at / width_ + 1) * width_);
    ResiduePart part{{}, {}, 0, next - at};
    if (width_ != 0 && cells_[at / width_].residue.is_given()) {
      const Cell& cell = cells_[at / width_];
      part = {cell.residue, cell.type, cell.begin + at % width_, next - at};
    }
    const bool goes_on =
        !found.empty() && found.back().residue == part.residue &&
        (!part.residue.is_given() || found.back().begin + found.back().bits == part.begin);
    if (goes_on) {
      found.back().bits += part.bits;
    } else {
      found.push_back(part);
    }
    at = next;
  }
  return found;
}

void ResidueMemory::store(const isa::DType& type, std::uint64_t bit, Residue residue) {
  if (width_ == 0 && !residue.is_given()) return;
  cut(std::gcd(std::gcd(bit, std::uint64_t{type.bits}), width_));
  for (std::uint64_t at = 0; at < type.bits; at += width_) {
    cells_[(bit + at) / width_] = {residue, type, static_cast<std::uint32_t>(at)};
  }
}

void ResidueMemory::cut(std::uint64_t width) {
  if (width == width_) return;
  std::vector<Cell> cells(bits_ / width + (bits_ % width != 0 ? 1 : 0));
  if (width_ != 0) {
    for (std::uint64_t k = 0; k < cells.size(); ++k) {
      cells[k] = cells_[k * width / width_];
      cells[k].begin += static_cast<std::uint32_t>(k * width % width_);
    }
  }
  width_ = width;
  cells_ = std::move(cells);
}

}  // namespace tilevm::vm::naive
