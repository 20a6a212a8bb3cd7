#include "isa/analysis/statements.h"

#include <algorithm>
#include <variant>

namespace tilevm::isa {
namespace {

void number_block(Block& block, std::int32_t& next) {
  for (Stmt& stmt : block) {
    std::visit([&](auto& node) { node.id = StmtId{next++}; }, stmt.node);
    for_each_block_of(stmt, [&](Block& inner) { number_block(inner, next); });
  }
}

bool is_loop(const Stmt& stmt) {
  return std::holds_alternative<ForStmt>(stmt.node) || std::holds_alternative<WhileStmt>(stmt.node);
}

}  // namespace

std::size_t number_statements(Kernel& kernel) {
  std::int32_t next = 0;
  number_block(kernel.body, next);
  return static_cast<std::size_t>(next);
}

/// Blocks whose statements are still to come are kept in a stack, so that a deep program takes no
/// deep recursion.
Statements::Statements(const Kernel& kernel) {
  struct Open {
    const Block* block;
    std::size_t next;
    std::int32_t number;
    StmtId parent, previous;
  };
  std::vector<Open> open{{&kernel.body, 0, 0, {}, {}}};
  block_ends_.push_back(0);
  while (!open.empty()) {
    Open& top = open.back();
    const auto here = static_cast<std::int32_t>(entries_.size());
    if (top.next == top.block->size()) {
      block_ends_[static_cast<std::size_t>(top.number)] = here;
      if (top.parent.valid()) entries_[static_cast<std::size_t>(top.parent.index)].end = here;
      open.pop_back();
      continue;
    }
    const Stmt& stmt = (*top.block)[top.next++];
    const StmtId id{here};
    StmtId loop;
    if (top.parent.valid())
      loop = is_loop((*this)[top.parent]) ? top.parent : this->loop(top.parent);
    entries_.push_back({&stmt, top.parent, loop, top.previous, here + 1, top.number});
    top.previous = id;
    const std::size_t outer = open.size();
    for_each_block_of(stmt, [&](const Block& inner) {
      open.push_back({&inner, 0, static_cast<std::int32_t>(block_ends_.size()), id, {}});
      block_ends_.push_back(0);
    });
    std::reverse(open.begin() + static_cast<std::ptrdiff_t>(outer), open.end());
  }
}

StmtId Statements::outermost_loop(StmtId id) const {
  StmtId outermost;
  for (StmtId loop = this->loop(id); loop.valid(); loop = this->loop(loop)) outermost = loop;
  return outermost;
}

StmtId Statements::in_body(StmtId id) const {
  while (parent(id).valid()) id = parent(id);
  return id;
}

StmtId Statements::in_block_of(StmtId sibling, StmtId id) const {
  while (id.valid() && !same_block(sibling, id)) id = parent(id);
  return id;
}

std::int32_t Statements::end_of_predecessors(StmtId id) const {
  const StmtId loop = outermost_loop(id);
  return loop.valid() ? end(loop) : id.index;
}

}  // namespace tilevm::isa
