// Definitions and uses: which statements write a variable of a kernel, and which read it.
//
// Both are lists of statement numbers by variable, in the order of the text. Most facts about a
// variable hold only if a single statement defines it (Definitions::sole): then all uses see that
// value, since a variable is declared before its uses, in a block around them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/analysis/statements.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Lists of statements by variable, one after another in memory.
class StmtLists {
 public:
  [[nodiscard]] std::span<const StmtId> of(VarId var) const {
    const auto v = static_cast<std::size_t>(var.index);
    return std::span(statements_).subspan(begins_[v], begins_[v + 1] - begins_[v]);
  }

 protected:
  struct Item {
    VarId var;
    StmtId stmt;
  };
  StmtLists() : begins_(1, 0) {}
  /// The items come in the order of the text.
  StmtLists(std::size_t variables, const std::vector<Item>& items);

 private:
  std::vector<std::size_t> begins_;  // by variable
  std::vector<StmtId> statements_;
};

/// The statements that write each variable; `for` statements write theirs. Parameters are also
/// written by the launch.
class Definitions : public StmtLists {
 public:
  Definitions() = default;
  explicit Definitions(const Kernel& kernel) : Definitions(kernel, Statements(kernel)) {}
  Definitions(const Kernel& kernel, const Statements& statements);

  /// How often a variable is written: by the launch, or by a statement of the text.
  [[nodiscard]] std::size_t count(VarId var) const {
    return of(var).size() + (is_parameter_[static_cast<std::size_t>(var.index)] ? 1 : 0);
  }
  [[nodiscard]] bool written_once(VarId var) const { return count(var) == 1; }
  /// The statement that alone defines a variable; invalid if there are others, or the launch does.
  [[nodiscard]] StmtId sole(VarId var) const {
    return count(var) == 1 && of(var).size() == 1 ? of(var).front() : StmtId{};
  }
  /// Whether a statement inside of `outer`, which itself does not count, writes a variable.
  [[nodiscard]] bool written_inside(const Statements& statements, StmtId outer, VarId var) const;

 private:
  std::vector<bool> is_parameter_;  // by variable
};

/// The statements that read each variable, in operands, offsets, conditions and ranges: one entry
/// for each time it is named.
class Uses : public StmtLists {
 public:
  Uses(const Kernel& kernel, const Statements& statements);
};

}  // namespace tilevm::isa
