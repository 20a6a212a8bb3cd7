// The statements of a kernel in the order of the text, and how they are nested.
//
// A statement's number is its position in this order, outer before inner, so the statements inside
// of a loop or a branch are those that follow it up to `end`: every question about nesting is a
// comparison of numbers.
//
//     0  x = ..                 parent -  end 1
//     1  for i in ..:           parent -  end 5
//     2      if i == 3:         parent 1  end 4
//     3          break          parent 2  end 4
//     4      y = ..             parent 1  end 5
//     5  z = ..                 parent -  end 6
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/program/program.h"

namespace tilevm::isa {

/// Gives the statements of a kernel their numbers; how many there are.
std::size_t number_statements(Kernel& kernel);

class Statements {
 public:
  /// The kernel must outlive this view of it. Its statements need no numbers yet.
  explicit Statements(const Kernel& kernel);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const Stmt& operator[](StmtId id) const { return *entry(id).stmt; }
  /// Null for a statement that is not an instruction.
  [[nodiscard]] const InstStmt* instruction(StmtId id) const {
    return std::get_if<InstStmt>(&entry(id).stmt->node);
  }

  /// The loop or branch around a statement; invalid in the kernel's body.
  [[nodiscard]] StmtId parent(StmtId id) const { return entry(id).parent; }
  /// The innermost loop around a statement (for a loop, the next one outside); invalid outside of
  /// loops.
  [[nodiscard]] StmtId loop(StmtId id) const { return entry(id).loop; }
  /// The outermost loop around a statement; invalid outside of loops.
  [[nodiscard]] StmtId outermost_loop(StmtId id) const;
  /// The statement before this one in the same block; invalid for the first of a block.
  [[nodiscard]] StmtId previous(StmtId id) const { return entry(id).previous; }
  /// The number past the last statement inside of this one.
  [[nodiscard]] std::int32_t end(StmtId id) const { return entry(id).end; }

  /// Whether a statement is `outer` or inside of it.
  [[nodiscard]] bool contains(StmtId outer, StmtId inner) const {
    return outer <= inner && inner.index < end(outer);
  }
  /// Whether two statements are in the same block, so that one runs as often as the other unless a
  /// jump or the end of the block's run comes between them.
  [[nodiscard]] bool same_block(StmtId a, StmtId b) const {
    return entry(a).block == entry(b).block;
  }
  /// Whether every way to `b` leads through `a`.
  [[nodiscard]] bool dominates(StmtId a, StmtId b) const {
    return a <= b && b.index < block_ends_[static_cast<std::size_t>(entry(a).block)];
  }
  /// The statement of the kernel's body that a statement is or is inside of.
  [[nodiscard]] StmtId in_body(StmtId id) const;
  /// The statement of the block of `sibling` that a statement is or is inside of; invalid if it is
  /// outside of that block.
  [[nodiscard]] StmtId in_block_of(StmtId sibling, StmtId id) const;
  /// The number past the last statement that may run before this one: that of the statement itself,
  /// or in a loop the end of the outermost, since a later iteration may come back to it.
  [[nodiscard]] std::int32_t end_of_predecessors(StmtId id) const;

  /// Calls f(id) for every statement in the order of the text.
  template <class F>
  void for_each(F&& f) const {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(size()); ++i) f(StmtId{i});
  }
  /// Calls f(id, instruction statement) for every instruction.
  template <class F>
  void for_each_instruction(F&& f) const {
    for_each([&](StmtId id) {
      if (const InstStmt* stmt = instruction(id)) f(id, *stmt);
    });
  }

 private:
  struct Entry {
    const Stmt* stmt;
    StmtId parent, loop, previous;
    std::int32_t end;
    std::int32_t block;  ///< 0 is the kernel's body
  };
  [[nodiscard]] const Entry& entry(StmtId id) const {
    return entries_[static_cast<std::size_t>(id.index)];
  }

  std::vector<Entry> entries_;
  std::vector<std::int32_t> block_ends_;  ///< number past the last statement of each block
};

}  // namespace tilevm::isa
