// The records of two engines for one block, compared: where they differ first, and whether what had
// no room for records of its own differs.
#pragma once

#include <cstdint>
#include <optional>

#include "isa/program/probe.h"

namespace tilevm::vm {

/// Where two blocks differ first.
struct RecordDifference {
  std::uint32_t record = 0;
  bool path = false;  ///< the statements are not the same
};

/// What two blocks are to each other, as far as their records say.
struct BlockComparison {
  /// What is known of the records without room, of which there is only one sum.
  enum class Rest : std::uint8_t {
    equal,
    unsure,  ///< the sums differ, perhaps without harm
    differs
  };
  std::optional<RecordDifference> first;
  Rest rest = Rest::equal;
};

/// `cut`: an engine met a fault, so that its records may end early.
[[nodiscard]] BlockComparison compare_records(const isa::BlockProbes& a, const isa::BlockProbes& b,
                                              bool cut);

}  // namespace tilevm::vm
