// The search for contiguous runs of a tile's elements in memory, digit by digit.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/access/access_plan.h"

namespace tilevm::isa {

inline constexpr std::int64_t widest_access_bits = 128;

/// A contiguous run of elements, and what is known of its first offset.
struct Run {
  std::vector<AccessDigit> inner;
  std::vector<TensorTerm> rest;  ///< digits of the local places that tell the runs apart
  std::int64_t elements = 1;
  MissedReason missed{};       ///< why it is not longer
  std::int64_t alignment = 1;  ///< elements; a power of two that divides the offset of its begin
  MissedReason missed_alignment{};
};

/// Searches for runs that consist of some digits of `places`. The digits of `threads` and the other
/// digits of `places` give the beginning of a run.
class RunSearch {
 public:
  /// `in_order`: the elements of a run are neighbours among the local places, too.
  RunSearch(const TileMapping& mapping, std::vector<TensorTerm> threads,
            std::vector<TensorTerm> places, bool in_order);

  /// The longest run of at most this many elements, inside of the view or outside as a whole.
  [[nodiscard]] Run find(std::int64_t limit) const;

 private:
  [[nodiscard]] const TileMapping::Dimension& dimension(int dim) const {
    return mapping_.dimensions[static_cast<std::size_t>(dim)];
  }
  bool extend(Run& run, std::int64_t limit) const;
  std::int64_t largest_step(Run& run, const TensorTerm& term, std::int64_t limit) const;
  bool stays_whole(Run& run, const TensorTerm& term, const TileMapping::Digit& digit,
                   std::int64_t size) const;
  void find_alignment(Run& run) const;
  [[nodiscard]] bool is_cut(const TileMapping::Digit& digit, const Run& run) const;
  void align_to_offset(const TileMapping::Digit& digit, Run& run) const;
  void align_to_term(const TileMapping::Digit& digit, const TensorTerm& term, Run& run) const;

  const TileMapping& mapping_;
  std::vector<TensorTerm> threads_, places_;
  bool in_order_;
};

/// The alignment of a run's address in bytes, in a tensor that begins at a multiple of 16; 0 if the
/// run may begin inside a byte.
[[nodiscard]] std::int64_t aligned_bytes(const Run& run, const TileMapping& mapping);

/// Whether a swizzle leaves the run's elements contiguous.
[[nodiscard]] inline bool survives_swizzle(const Run& run, const TileMapping& mapping) {
  return !mapping.swizzle || run.alignment >= run.elements;
}

}  // namespace tilevm::isa
