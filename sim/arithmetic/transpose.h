// Matrices of lanes transposed: from lanes thread by thread to rows with a lane of each thread, and
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilevm::sim {

/// out[order[c]][r] = in[r][c] for lanes of codes of `bits` bits: `in` has `rows` rows of
/// order.size() lanes, `out` rows of `rows` lanes. The memory of both is disjoint.
void transpose_to_rows(unsigned bits, const std::uint8_t* in, std::size_t rows,
                       const std::vector<std::int32_t>& order, std::uint8_t* out);

/// The inverse: out[r][c] = in[order[c]][r].
void transpose_from_rows(unsigned bits, const std::uint8_t* in, std::size_t rows,
                         const std::vector<std::int32_t>& order, std::uint8_t* out);

/// Where each of some lanes comes from.
class LanePermutation {
 public:
  LanePermutation() = default;
  explicit LanePermutation(std::vector<std::int32_t> sources);
  [[nodiscard]] const std::vector<std::int32_t>& sources() const { return sources_; }
  [[nodiscard]] std::size_t size() const { return sources_.size(); }

  /// Lanes whose sources are `stride` apart.
  struct Run {
    std::int32_t first, stride;
    std::size_t count;
  };
  /// All lanes; empty where runs are short.
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }

 private:
  std::vector<std::int32_t> sources_;
  std::vector<Run> runs_;
};

/// out[i] = in[sources[i]].
void permute_lanes(unsigned bits, const std::uint8_t* in, const LanePermutation& permutation,
                   std::uint8_t* out);

}  // namespace tilevm::sim
