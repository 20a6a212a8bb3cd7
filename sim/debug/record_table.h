// What is known of the records of a plan: their lines, how deep they are nested, where one stops.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/verify/verify.h"
#include "sim/launch/plan.h"

namespace tilevm::sim::debug {

struct RecordInfo {
  int line = 0;
  int depth = 0;               ///< how many loops and branches are around its statement
  std::size_t loop_begin = 0;  ///< the records of the innermost loop are in [loop_begin, loop_end);
  std::size_t loop_end = 0;    ///< the whole plan if there is none
  /// Whether a step may end before it: an instruction, an assignment, a condition, or the begin of
  /// an iteration. Jumps are not seen.
  bool visible = false;
  bool first_of_line = false;  ///< the first visible record of its line
  std::vector<isa::VarId> written;
};

class RecordTable {
 public:
  RecordTable(const isa::VerifiedProgram& program, int kernel, const Plan& plan);

  [[nodiscard]] const RecordInfo& operator[](std::size_t record) const { return infos_[record]; }
  [[nodiscard]] std::size_t size() const { return infos_.size(); }
  /// The first line from `line` on at which a step may stop.
  [[nodiscard]] std::optional<int> line_from(int line) const;
  /// The records that write a variable.
  [[nodiscard]] std::vector<std::size_t> writers_of(isa::VarId var) const;

 private:
  std::vector<RecordInfo> infos_;
};

}  // namespace tilevm::sim::debug
