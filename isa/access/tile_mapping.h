// The position of a tile in a tensor, as far as it is known before the run: the divisibility of its
// offsets, the bounds that it cannot cross, and how an index becomes an offset in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/analysis/alignment.h"
#include "isa/analysis/value_ranges.h"
#include "isa/inst/slots.h"
#include "isa/inst/tensor_type.h"

namespace tilevm::isa {

/// What is known of a kernel's scalars.
struct ScalarFacts {
  Divisibility multiples;
  ValueRanges ranges;
};

[[nodiscard]] inline ScalarFacts find_scalar_facts(const Kernel& kernel) {
  const Definitions definitions(kernel);
  return {Divisibility(kernel, definitions), ValueRanges(kernel, definitions)};
}

/// A digit of a thread index or of local places: `index[dim] += (x / divisor % size) * stride`,
/// with the tensor's dimensions.
using TensorTerm = RegisterLayout::Term;

/// The terms of x / boundary, and those of x % boundary.
struct CutTerms {
  std::vector<TensorTerm> high, low;
};
/// Nothing if a digit cannot be cut there.
[[nodiscard]] std::optional<CutTerms> cut_terms(const std::vector<TensorTerm>& terms,
                                                std::int64_t boundary);

struct TileMapping {
  struct Dimension {
    Expr offset;
    int tile_dim = -1;             ///< the tile's along it, or -1
    std::int64_t tile_extent = 1;  ///< the tile's along it
    std::int64_t multiple = 1;     ///< a power of two that divides the offset
    std::int64_t extent_multiple = 1;
    bool inside = false;        ///< the tile cannot cross the tensor's bounds
    bool not_negative = false;  ///< nor can its offset be less than zero
    bool fits_32_bits = false;  ///< the tensor's extent, and the offset where it is near the tensor
  };
  /// `offset += index / divisor % size * stride` for a tensor dimension's index; size 0 means that
  /// nothing is cut off. The least significant digit of a dimension comes first.
  struct Digit {
    int dim = 0;
    std::int64_t divisor = 1, size = 0;
    std::optional<std::int64_t> stride;  ///< stride in elements, if constant
    std::int64_t multiple = 1;           ///< a power of two that divides the stride
    std::int64_t values = 0;             ///< how many it has in the tensor, if it has a divisor
  };

  std::vector<Dimension> dimensions;
  /// Where an index says where elements are: its own value is added to the offset there.
  std::optional<int> indexed;
  std::vector<Digit> digits;
  std::optional<Swizzle> swizzle;
  DType dtype;
  bool shared = false;  ///< false: in global memory
  /// 32 bits hold the offset in bytes of every element inside the tensor, and of the tile's begin.
  bool fits_32_bits = false;

  /// The layout's digits with the tensor's dimensions. A digit of a dimension that is not placed in
  /// the tensor, since an index says where its elements are, has the stride 0.
  [[nodiscard]] std::vector<TensorTerm> tensor_terms(
      const std::vector<RegisterLayout::Term>& terms) const;
  /// Whether two elements of the tile may have the same address.
  [[nodiscard]] bool may_overlap() const;
};

/// An index along a dimension of the tensor, with elements of this type.
struct MappedIndex {
  int dim = 0;
  DType dtype;
};

[[nodiscard]] TileMapping map_tile(const SharedType& tensor,
                                   const std::optional<OffsetList>& offset, const Shape& tile,
                                   const ScalarFacts& facts,
                                   const std::optional<MappedIndex>& index = {});
[[nodiscard]] TileMapping map_tile(const GlobalType& view, const std::optional<OffsetList>& offset,
                                   const Shape& tile, const ScalarFacts& facts,
                                   const std::optional<MappedIndex>& index = {});

/// Whether a tile's index along a dimension may be cut at `boundary` (a divisor of a digit): the
/// parts of terms and offset below the boundary never carry into the parts above.
[[nodiscard]] bool cuts_cleanly(const TileMapping& mapping, int dim, std::int64_t boundary,
                                const std::vector<TensorTerm>& terms);

/// How an element's offset follows from the offset of the thread's first element and the local
/// place.
enum class AddressForm : std::uint8_t {
  sum,      ///< offset = offset(thread and tile offset) + offset(place)
  flipped,  ///< the swizzled offset of some digits of the place is combined by XOR, the rest added
  whole,    ///< only the sum of all shares of an index gives the offset
};

/// The form for a tile's thread digits and those of its places that differ; `flips` tells the
/// latter apart for AddressForm::flipped.
[[nodiscard]] AddressForm find_address_form(const TileMapping& mapping,
                                            const std::vector<TensorTerm>& threads,
                                            const std::vector<TensorTerm>& places,
                                            std::vector<bool>& flips);

}  // namespace tilevm::isa
