// A register tile of the naive interpreter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/inst/tensor_type.h"
#include "vm/naive/element.h"

namespace tilevm::vm::naive {

/// The elements of a register tile in row-major order of their indices.
struct NaiveTile {
  isa::RegisterType type;
  std::vector<std::uint64_t> codes;
  std::vector<Residue> residues = {};  ///< residues in a run that has them, else empty

  [[nodiscard]] Element element(std::size_t number) const {
    return residues.empty() ? Element(codes[number]) : Element(codes[number], residues[number]);
  }
  void add(const Element& element, bool keeps_residue) {
    codes.push_back(element.code);
    if (keeps_residue) residues.push_back(element.residue);
  }
};

}  // namespace tilevm::vm::naive
