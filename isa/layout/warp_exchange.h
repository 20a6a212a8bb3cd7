// How a tile gets another layout inside each warp: by shuffles, or by transposing 8 x 8 matrices.
//
// Both layouts are digits of powers of two, so that every bit of an element's index belongs to a
// bit of the lane or of the local place, in the old layout and in the new one. Bits that stay among
// the lanes permute lanes. Bits that stay among the places permute registers; where elements are
// narrow, those that differ in such bits share a word. A bit that was of the place and becomes one
// of the lane changes with one that was of the lane, in three steps:
//
//   before   each lane exchanges its words by its own lane bits
//   shuffle  in round r every lane sends word r and takes that of lane base ^ r
//   after    each lane exchanges what it got by its own lane bits
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/layout/register_layout.h"

namespace tilevm::isa {

struct WarpExchange {
  /// By `movmatrix`: each word, two halves of 16 bits, is a lane's part of an 8 x 8 matrix.
  bool transposes = false;
  int sent = 0, got = 0;               ///< words of a lane
  int in_word = 1;                     ///< elements of a word
  std::vector<int> shifts;             ///< shifts of each digit
  std::vector<std::int32_t> from, to;  ///< places of the elements of word 0, then of word 1, ..

  /// Words w and w ^ distance change places where bit `lane_bit` of the lane is set.
  struct Swap {
    int lane_bit, distance;
  };
  std::vector<Swap> before, after;
  /// Bit `to` of the base lane is bit `from` of the lane.
  struct LaneBit {
    int from, to;
  };
  std::vector<LaneBit> base;
  struct Round {
    int sent, got;       ///< words
    std::int32_t lanes;  ///< the source is lane base ^ lanes
  };
  std::vector<Round> rounds;

  /// Whether the words of a round stay in their lanes.
  [[nodiscard]] bool stays(const Round& round) const;
  /// Instructions between lanes, and selections between registers of a lane.
  [[nodiscard]] int shuffles() const;
  [[nodiscard]] int selections() const;
};

/// The plan for elements of `bits` bits; a word of 64 bits takes each step twice. Nothing if an
/// element is missing in a warp, if a digit is not a power of two, or if shared memory is cheaper.
[[nodiscard]] std::optional<WarpExchange> plan_warp_exchange(const RegisterLayout& from,
                                                             const RegisterLayout& to, int bits);

}  // namespace tilevm::isa
