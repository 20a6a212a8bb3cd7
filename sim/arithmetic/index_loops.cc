#include "sim/arithmetic/index_loops.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "sim/arithmetic/lanes.h"

namespace tilevm::sim {
namespace {

/// The codes of lanes of at most 32 bits whose index is inside, as numbers from the first of them
/// on: code - low is such a number if it is at most `last`, and its index is first + number.
struct InsideCodes {
  bool any = false;
  std::uint32_t low = 0, last = 0;
  std::uint64_t first = 0;
};

template <class Lane, bool is_signed>
InsideCodes inside_codes(const IndexLanes& indices) {
  using Code = std::conditional_t<is_signed, std::make_signed_t<Lane>, Lane>;
  constexpr std::int64_t far = std::int64_t{1} << 62;  // no sum of two overflows
  const std::int64_t begin = std::clamp(indices.begin, -far, far);
  const std::int64_t low = std::max<std::int64_t>(std::numeric_limits<Code>::min(), -begin);
  const std::int64_t last = std::min<std::int64_t>(std::numeric_limits<Code>::max(),
                                                   std::min(indices.extent, far) - begin - 1);
  if (last < low) return {};
  return {true, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(last - low),
          static_cast<std::uint64_t>(begin + low)};
}

/// Calls put(i, index, all bits if the index is outside or none) for the lanes; says whether all
/// are inside. An index outside is some index.
template <class Lane, bool is_signed, class Put>
TILEVM_INLINE bool for_each_index(const IndexLanes& indices, const Put& put) {
  const std::uint8_t* const lanes = indices.lanes;
  const std::size_t count = indices.count;
  if constexpr (sizeof(Lane) == 8) {
    const auto begin = static_cast<std::uint64_t>(indices.begin),
               extent = static_cast<std::uint64_t>(indices.extent);
    std::uint64_t all = 0;
    TILEVM_LOOP
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t index = begin + load_lane<Lane>(lanes, i);
      const std::uint64_t outside = index < extent ? 0 : ~std::uint64_t{0};
      all |= outside;
      put(i, index & ~outside, outside);
    }
    return all == 0;
  } else {
    const InsideCodes codes = inside_codes<Lane, is_signed>(indices);
    if (!codes.any) {
      for (std::size_t i = 0; i < count; ++i) put(i, 0, ~std::uint32_t{0});
      return count == 0;
    }
    std::uint32_t all = 0;
    TILEVM_LOOP
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t number = load_lane<Lane>(lanes, i) - codes.low;
      const std::uint32_t outside = number <= codes.last ? 0 : ~std::uint32_t{0};
      all |= outside;
      put(i, codes.first + (number & ~outside), outside);
    }
    return all == 0;
  }
}

struct PutIndex {
  std::int64_t* along;
  template <class Mask>
  TILEVM_INLINE void operator()(std::size_t i, std::uint64_t index, Mask outside) const {
    const auto mask = static_cast<std::int64_t>(static_cast<std::make_signed_t<Mask>>(outside));
    along[i] = static_cast<std::int64_t>(index) | mask;
  }
};

struct PutMultiple {
  FoundOffsets found;
  template <class Mask>
  TILEVM_INLINE void operator()(std::size_t i, std::uint64_t index, Mask) const {
    found.offsets[i] =
        found.moved + found.base[i] + static_cast<std::uint32_t>(index) * found.stride;
  }
};

struct PutShare {
  FoundOffsets found;
  template <class Mask>
  TILEVM_INLINE void operator()(std::size_t i, std::uint64_t index, Mask) const {
    found.offsets[i] = found.moved + found.base[i] + found.shares[index];
  }
};

template <class Lane, bool is_signed>
struct IndexBody {
  TILEVM_INLINE void operator()(const IndexLanes& indices, FoundIndices* found) const {
    found->inside = for_each_index<Lane, is_signed>(indices, PutIndex{found->along});
  }
};

template <class Lane, bool is_signed>
struct OffsetBody {
  TILEVM_INLINE void operator()(const IndexLanes& indices, FoundOffsets* found) const {
    found->inside = found->shares == nullptr
                        ? for_each_index<Lane, is_signed>(indices, PutMultiple{*found})
                        : for_each_index<Lane, is_signed>(indices, PutShare{*found});
  }
};

/// The loop of a body template for the lanes of indices.
template <class Found, template <class, bool> class Body>
std::function<void(const IndexLanes&, Found*)> loop_of(unsigned bits, bool is_signed,
                                                       SimdLevel level) {
  return with_lane(bits, [&]<class Lane>() {
    if constexpr (sizeof(Lane) == 4) {
      if (is_signed) return detail::at_level<const IndexLanes&, Found*>(level, Body<Lane, true>{});
    }
    return detail::at_level<const IndexLanes&, Found*>(level, Body<Lane, false>{});
  });
}

}  // namespace

IndexLoop index_loop(unsigned bits, bool is_signed, SimdLevel level) {
  return loop_of<FoundIndices, IndexBody>(bits, is_signed, level);
}

OffsetLoop offset_loop(unsigned bits, bool is_signed, SimdLevel level) {
  return loop_of<FoundOffsets, OffsetBody>(bits, is_signed, level);
}

}  // namespace tilevm::sim
