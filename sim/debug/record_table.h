// What is known of the records of a plan: their lines, how deep they are nested, where one stops.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/verify/verify.h"
#include "sim/debug/source_line.h"
#include "sim/launch/plan.h"

namespace tilevm::sim::debug {

/// Records [begin, end) of a plan.
struct RecordRange {
  std::size_t begin = 0, end = 0;

  [[nodiscard]] bool contains(std::size_t record) const { return record >= begin && record < end; }
  [[nodiscard]] std::size_t size() const { return end - begin; }
  friend bool operator==(const RecordRange&, const RecordRange&) = default;
};

struct RecordInfo {
  SourceLine line;
  int depth = 0;     ///< how many loops and branches are around its statement
  RecordRange loop;  ///< the innermost loop; the whole plan if there is none
  RecordRange call;  ///< the innermost inlined call of a function; the whole plan if there is none
  /// How many inlined calls are around it, without those whose first visible record it is: there a
  /// step is still at the line of the call.
  int call_depth = 0;
  /// Whether a step may end before it: an instruction, an assignment, a condition, or the begin of
  /// an iteration. Jumps are not seen.
  bool visible = false;
  /// The lines whose first visible record it is: its own, and that of a call which it begins.
  std::vector<SourceLine> begins;
  std::vector<isa::VarId> written;
  std::vector<std::string> enters;  ///< functions whose inlined calls begin at it
};

class RecordTable {
 public:
  RecordTable(const isa::VerifiedProgram& program, int kernel, const Plan& plan);

  [[nodiscard]] const RecordInfo& operator[](std::size_t record) const { return infos_[record]; }
  [[nodiscard]] std::size_t size() const { return infos_.size(); }
  /// Whether a line begins at a record.
  [[nodiscard]] bool begins(std::size_t record, SourceLine line) const;
  /// The first line from `line` on, of its file, at which a step may stop.
  [[nodiscard]] std::optional<SourceLine> line_from(SourceLine line) const;
  /// The records at which a line begins, ascending.
  [[nodiscard]] const std::vector<std::size_t>& at_line(SourceLine line) const;
  /// The records at which a kernel or a function of a name begins, or those of an instruction with
  /// that mnemonic, ascending.
  [[nodiscard]] const std::vector<std::size_t>& at_name(std::string_view name) const;
  /// The names of functions that the kernel calls.
  [[nodiscard]] const std::set<std::string>& functions() const { return functions_; }
  /// The records that write a variable.
  [[nodiscard]] const std::vector<std::size_t>& writers_of(isa::VarId var) const;

 private:
  void find_loops(const Plan& plan);
  void find_calls(const SourceFile& source, const Plan& plan);

  void index(std::string_view kernel, const Plan& plan);

  std::vector<RecordInfo> infos_;
  std::map<std::pair<std::size_t, int>, std::vector<std::size_t>> lines_;  // by file and line
  std::map<std::string, std::vector<std::size_t>, std::less<>> names_;
  std::set<std::string> functions_;
  std::vector<std::vector<std::size_t>> writers_;  // by variable
};

}  // namespace tilevm::sim::debug
