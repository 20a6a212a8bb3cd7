#include "isa/access/tile_mapping.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "isa/rules/rules.h"

namespace tilevm::isa {
namespace {

constexpr std::int64_t max_32_bits = std::numeric_limits<std::int32_t>::max();

TileMapping::Dimension dimension_of(const TilePlacement::Dimension& placed, const Shape& tile,
                                    const Expr& extent, const ScalarFacts& facts) {
  TileMapping::Dimension dimension{.offset = placed.offset, .tile_dim = placed.tile_dim};
  if (placed.tile_dim >= 0) {
    dimension.tile_extent = tile[static_cast<std::size_t>(placed.tile_dim)];
  }
  dimension.multiple = facts.multiples.of(placed.offset);
  dimension.extent_multiple = facts.multiples.of(extent);
  const auto range = facts.ranges.of(placed.offset);
  const auto size = extent.constant_int();
  dimension.not_negative = range && range->low >= 0;
  dimension.inside = dimension.not_negative && size && range->high + dimension.tile_extent <= *size;
  // 32 bits hold every i32. An offset of another kind must have a known small range.
  const bool near = placed.offset.kind() == ScalarKind::i32 ||
                    (range && range->low >= -max_32_bits && range->high <= max_32_bits);
  dimension.fits_32_bits = near && size && *size <= max_32_bits;
  return dimension;
}

std::optional<int> dimension_of_index(const std::optional<MappedIndex>& index) {
  return index ? std::optional(index->dim) : std::nullopt;
}

/// Nothing is known of an index before the run. The sum of offset and index wraps in 32 bits only
/// to where no element is, if one of the two is small.
void add_index(const MappedIndex& index, TileMapping& mapping) {
  constexpr int narrow = 16, word = 32;
  auto& dimension = mapping.dimensions[static_cast<std::size_t>(index.dim)];
  mapping.indexed = index.dim;
  dimension.multiple = 1;
  dimension.inside = dimension.not_negative = false;
  const bool is_zero = dimension.offset.constant_int() == std::int64_t{0};
  const bool wraps_outside = index.dtype.bits <= narrow || (index.dtype.bits <= word && is_zero);
  dimension.fits_32_bits = dimension.fits_32_bits && wraps_outside;
}

void add_digits(const MemoryLayout& layout, TileMapping& mapping) {
  std::size_t mode = layout.mode_shape().size();
  for (int d = layout.rank() - 1; d >= 0; --d) {
    const std::int64_t extent = layout.shape()[static_cast<std::size_t>(d)];
    for (std::int64_t divisor = 1; divisor < extent;) {
      --mode;
      const std::int64_t size = layout.mode_shape()[mode], stride = layout.mode_strides()[mode];
      // Nothing is cut off above the most significant digit: indices are inside the tensor.
      const bool last = divisor * size == extent;
      mapping.digits.push_back(
          {d, divisor, last ? 0 : size, stride, power_of_two_in(stride), size});
      divisor *= size;
    }
  }
  mapping.swizzle = layout.swizzle();
}

/// Bytes from the first to the last element that an offset in the tensor can reach.
bool storage_fits(const TileMapping& mapping, const GlobalType& view) {
  std::int64_t reach = 0;
  for (const auto& dimension : mapping.dimensions) {
    if (!dimension.fits_32_bits) return false;
  }
  if (const auto* layout = view.layout.memory_layout()) reach = layout->storage_size();
  for (const auto& digit : mapping.digits) {
    const auto dim = static_cast<std::size_t>(digit.dim);
    if (!digit.stride || *digit.stride < 0 || *digit.stride > max_32_bits) return false;
    // The tile may begin before the tensor, or end after the tensor, by the tile's own extent.
    std::int64_t indices = mapping.dimensions[dim].tile_extent;
    if (view.layout.strides() != nullptr) indices += *view.extents[dim].constant_int();
    if (__builtin_mul_overflow(indices, *digit.stride, &indices)) return false;
    reach = std::min(reach + std::min(indices, 4 * max_32_bits), 4 * max_32_bits);
  }
  return reach < max_32_bits * 8 / view.dtype.bits;
}

/// The bits that an index along a dimension can set in an offset, for indices below `end` (0: no
/// end) that are multiples of `multiple`.
std::uint64_t offset_bits(const TileMapping& mapping, int dim, std::int64_t multiple,
                          std::int64_t end) {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t bits = 0;
  for (const TileMapping::Digit& digit : mapping.digits) {
    if (digit.dim != dim) continue;
    std::int64_t low = std::max<std::int64_t>(1, multiple / digit.divisor);
    std::int64_t high = end == 0 ? 0 : (end + digit.divisor - 1) / digit.divisor;
    if (digit.size != 0) {
      low = std::gcd(low, digit.size);
      high = high == 0 ? digit.size : std::min(high, digit.size);
    }
    if (high != 0 && low >= high) continue;
    const std::uint64_t from = static_cast<std::uint64_t>(digit.multiple) *
                               static_cast<std::uint64_t>(power_of_two_in(low));
    const bool exact = digit.stride && *digit.stride == digit.multiple && high != 0;
    const std::uint64_t to = exact ? std::bit_ceil(static_cast<std::uint64_t>(high)) *
                                         static_cast<std::uint64_t>(digit.multiple)
                                   : 0;  // carries reach every bit above
    bits |= exact ? (to - 1) & ~(from - 1) : all & ~(from - 1);
  }
  return bits;
}

/// Adds to the bits that a sum can have set those that one more contribution can set.
void add_bits(std::uint64_t& sum, std::uint64_t bits) {
  const std::uint64_t both = sum & bits;
  sum |= bits;
  if (both != 0) sum |= ~((both & (~both + 1)) - 1);
}

std::uint64_t bits_of(const TileMapping& mapping, const TensorTerm& term) {
  return offset_bits(mapping, term.dim, term.stride, term.stride * term.size);
}

std::uint64_t bits_of_begin(const TileMapping& mapping, const std::vector<TensorTerm>& threads) {
  std::uint64_t bits = 0;
  for (std::size_t d = 0; d < mapping.dimensions.size(); ++d) {
    const auto& offset = mapping.dimensions[d].offset;
    const auto value = offset.constant_int();
    if (value != std::int64_t{0}) {
      add_bits(bits, offset_bits(mapping, static_cast<int>(d), mapping.dimensions[d].multiple, 0));
    }
  }
  for (const TensorTerm& term : threads) add_bits(bits, bits_of(mapping, term));
  return bits;
}

/// Whether the offset before the swizzle is the sum of the two shares.
bool adds_up(const TileMapping& mapping, const std::vector<TensorTerm>& threads,
             const std::vector<TensorTerm>& places) {
  std::vector<TensorTerm> terms = threads;
  terms.insert(terms.end(), places.begin(), places.end());
  for (const TileMapping::Digit& digit : mapping.digits) {
    if (digit.divisor == 1) continue;
    const auto& dimension = mapping.dimensions[static_cast<std::size_t>(digit.dim)];
    if (!dimension.not_negative && !mapping.shared) return false;
    if (!cuts_cleanly(mapping, digit.dim, digit.divisor, terms)) return false;
  }
  return true;
}

}  // namespace

std::optional<CutTerms> cut_terms(const std::vector<TensorTerm>& terms, std::int64_t boundary) {
  CutTerms cut;
  for (TensorTerm term : terms) {
    if (term.divisor >= boundary) {
      if (term.divisor % boundary != 0) return std::nullopt;
      term.divisor /= boundary;
      cut.high.push_back(term);
      continue;
    }
    if (boundary % term.divisor != 0) return std::nullopt;
    const std::int64_t below = boundary / term.divisor;
    if (term.size <= below) {
      if (below % term.size != 0) return std::nullopt;
      cut.low.push_back(term);
      continue;
    }
    if (term.size % below != 0) return std::nullopt;
    cut.low.push_back({term.dim, term.divisor, below, term.stride});
    cut.high.push_back({term.dim, 1, term.size / below, term.stride * below});
  }
  return cut;
}

std::vector<TensorTerm> TileMapping::tensor_terms(
    const std::vector<RegisterLayout::Term>& terms) const {
  std::vector<TensorTerm> placed;
  for (TensorTerm term : terms) {
    const auto found = std::find_if(dimensions.begin(), dimensions.end(),
                                    [&](const auto& dim) { return dim.tile_dim == term.dim; });
    term.dim = static_cast<int>(found - dimensions.begin());
    if (found == dimensions.end()) {
      term.dim = indexed.value_or(0);
      term.stride = 0;
    }
    placed.push_back(term);
  }
  return placed;
}

bool TileMapping::may_overlap() const {
  if (indexed) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> strides;  // and sizes
  for (const Digit& digit : digits) {
    const std::int64_t extent = dimensions[static_cast<std::size_t>(digit.dim)].tile_extent;
    if (extent == 1) continue;
    if (!digit.stride) return true;
    // Indices of a tile that wrap around in a digit may differ in it by anything.
    const bool wraps = digit.divisor > 1 || digit.size != 0;
    strides.emplace_back(*digit.stride, wraps ? digit.values : extent);
  }
  std::sort(strides.begin(), strides.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : strides) {
    if (stride <= reach) return true;
    std::int64_t more = 0;
    if (__builtin_mul_overflow(size - 1, stride, &more) ||
        __builtin_add_overflow(reach, more, &reach)) {
      return true;
    }
  }
  return false;
}

TileMapping map_tile(const SharedType& tensor, const std::optional<OffsetList>& offset,
                     const Shape& tile, const ScalarFacts& facts,
                     const std::optional<MappedIndex>& index) {
  TileMapping mapping;
  const TilePlacement placement = place_tile(
      offset, tensor.layout.rank(), static_cast<int>(tile.size()), dimension_of_index(index));
  if (index) mapping.indexed = index->dim;
  for (std::size_t d = 0; d < placement.dimensions.size(); ++d) {
    const Expr extent = Expr::constant(tensor.shape()[d]);
    auto& dimension =
        mapping.dimensions.emplace_back(dimension_of(placement.dimensions[d], tile, extent, facts));
    if (mapping.indexed == static_cast<int>(d)) dimension.multiple = 1;
    dimension.inside = dimension.not_negative = true;  // a tile outside is a fault
  }
  add_digits(tensor.layout, mapping);
  mapping.dtype = tensor.dtype;
  mapping.shared = mapping.fits_32_bits = true;
  return mapping;
}

TileMapping map_tile(const GlobalType& view, const std::optional<OffsetList>& offset,
                     const Shape& tile, const ScalarFacts& facts,
                     const std::optional<MappedIndex>& index) {
  TileMapping mapping;
  const TilePlacement placement =
      place_tile(offset, view.rank(), static_cast<int>(tile.size()), dimension_of_index(index));
  for (std::size_t d = 0; d < placement.dimensions.size(); ++d) {
    mapping.dimensions.push_back(
        dimension_of(placement.dimensions[d], tile, view.extents[d], facts));
  }
  if (index) add_index(*index, mapping);
  if (const auto* layout = view.layout.memory_layout()) {
    add_digits(*layout, mapping);
  } else {
    for (std::size_t d = 0; d < view.extents.size(); ++d) {
      const Expr& stride = (*view.layout.strides())[d];
      mapping.digits.push_back(
          {static_cast<int>(d), 1, 0, stride.constant_int(), facts.multiples.of(stride), 0});
    }
  }
  mapping.dtype = view.dtype;
  mapping.fits_32_bits = storage_fits(mapping, view);
  return mapping;
}

bool cuts_cleanly(const TileMapping& mapping, int dim, std::int64_t boundary,
                  const std::vector<TensorTerm>& terms) {
  const auto& dimension = mapping.dimensions[static_cast<std::size_t>(dim)];
  if (mapping.indexed != dim && dimension.tile_extent <= dimension.multiple &&
      boundary % dimension.multiple == 0) {
    return true;  // the whole tile is between two boundaries
  }
  const bool is_zero = dimension.offset.constant_int() == std::int64_t{0};
  if (!is_zero && dimension.multiple % boundary != 0) return false;
  return std::all_of(terms.begin(), terms.end(), [&](const TensorTerm& term) {
    if (term.dim != dim || term.stride % boundary == 0) return true;
    if (boundary % term.stride != 0) return false;
    const std::int64_t below = boundary / term.stride;
    return below % term.size == 0 || term.size % below == 0;
  });
}

AddressForm find_address_form(const TileMapping& mapping, const std::vector<TensorTerm>& threads,
                              const std::vector<TensorTerm>& places, std::vector<bool>& flips) {
  flips.assign(places.size(), false);
  if (!adds_up(mapping, threads, places)) return AddressForm::whole;
  if (!mapping.swizzle) return AddressForm::sum;
  if (!mapping.shared || !std::has_single_bit(static_cast<unsigned>(mapping.dtype.bits))) {
    return AddressForm::whole;
  }
  const Swizzle& swizzle = *mapping.swizzle;
  const std::uint64_t to = ((std::uint64_t{1} << swizzle.bits) - 1) << swizzle.base;
  const std::uint64_t moved = to | to << swizzle.shift;
  std::uint64_t seen = bits_of_begin(mapping, threads);
  bool flipped = false;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint64_t bits = bits_of(mapping, places[i]);
    if ((bits & seen) != 0) return AddressForm::whole;
    seen |= bits;
    flips[i] = (bits & moved) != 0;
    flipped = flipped || flips[i];
  }
  return flipped ? AddressForm::flipped : AddressForm::sum;
}

}  // namespace tilevm::isa
