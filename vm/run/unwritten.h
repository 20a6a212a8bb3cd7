// Outputs of which a run has stored nothing to some elements, stores that never met their view, and
// indices outside of their view.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/verify/verify.h"
#include "sim/api/sim.h"
#include "vm/run/entry.h"

namespace tilevm::vm {

/// Elements that ranges of bits do not cover as a whole.
struct Uncovered {
  std::size_t count = 0, first = 0;
};
[[nodiscard]] Uncovered find_uncovered(std::vector<sim::BitRange> ranges, std::size_t elements,
                                       unsigned element_bits);

/// What the launches of a run stored to its tensors.
class StoreLog {
 public:
  explicit StoreLog(std::size_t tensors) : tensors_(tensors) {}

  /// Adds a launch that ended well.
  void add(const isa::Launch& launch, const sim::Report& report);

  /// The elements of an output that no launch has stored; nothing for a tensor that is not an
  /// output, or an input too, which keeps what it held, or of which a launch was not followed.
  [[nodiscard]] std::optional<Uncovered> unwritten(const Entry& entry, std::size_t tensor) const;

  /// Reports the elements of outputs that no launch has stored, as errors if `required`, else as
  /// warnings; and stores whose tiles were outside of their views each time. Tensors that are
  /// inputs too keep what they held, so nothing is said of them.
  void report_unwritten(const isa::VerifiedProgram& program, const Entry& entry, bool required,
                        Diagnostics& diagnostics) const;
  /// Warns of elements outside of views that indices named.
  void report_outside(Diagnostics& diagnostics) const;

 private:
  struct Tensor {
    bool unknown = false;  ///< a launch was not followed
    std::vector<sim::BitRange> stored;
  };
  struct Launched {
    int kernel = 0;
    std::array<std::int64_t, 3> grid{};
    std::vector<std::size_t> tensors;
  };

  std::vector<Tensor> tensors_;
  std::vector<Launched> launches_;
  std::map<std::size_t, sim::StoreUse> stores_;  // by their offset in the text
  /// By the offset of the statement in the text, and whether an index tile named the elements.
  std::map<std::pair<std::size_t, bool>, sim::OutsideUse> outside_;
};

/// "(M + BM - 1) / BM" for "M / BM"; empty if the text is not a plain quotient.
[[nodiscard]] std::string rounded_up(std::string_view quotient);

}  // namespace tilevm::vm
