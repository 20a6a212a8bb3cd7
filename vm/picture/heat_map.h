// A tensor as a heat map.
#pragma once

#include <cstdint>
#include <string>

#include "vm/data/tensor.h"

namespace tilevm::vm {

/// What the numbers of a tensor are.
struct TensorSummary {
  std::uint64_t elements = 0, nans = 0, infinities = 0;
  double least = 0, greatest = 0;  ///< bounds of the finite values; 0 if there is none
};
[[nodiscard]] TensorSummary summarise(const HostTensor& tensor);

/// An SVG of at most 64 x 64 cells. Leading dimensions are counted as rows; a vector is folded. A
/// cell has the mean of its finite elements, from blue for the least cell to yellow for the
/// greatest (cividis, which colour-blind readers see as others do); red with a cross: it has a NaN,
/// with a stroke: an infinity.
[[nodiscard]] std::string draw_heat_map(const std::string& name, const HostTensor& tensor);

}  // namespace tilevm::vm
