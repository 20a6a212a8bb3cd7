// Waits for asynchronous products change tiles that their statements do not name.
//
// A wait holds the tiles whose products may be in flight before it. What an earlier wait has
// retired it leaves alone: to hold such a tile would keep its registers alive.
#include "isa/analysis/async_products.h"

#include <algorithm>
#include <map>
#include <vector>

#include "backend/select/passes.h"
#include "isa/inst/product.h"

namespace tilevm::backend {
namespace {

/// Tiles whose products may be in flight, and at least how many groups were committed behind the
/// one with their latest product: -1 while that is in no group.
class InFlight {
 public:
  void begin(isa::VarId tile) { behind_[tile.index] = -1; }
  void commit() {
    for (auto& [tile, behind] : behind_) ++behind;
  }
  void wait(std::int64_t pending) {
    std::erase_if(behind_, [&](const auto& entry) { return entry.second >= pending; });
  }
  [[nodiscard]] bool contains(isa::VarId tile) const { return behind_.contains(tile.index); }
  /// What may be in flight where control comes from either.
  void join(const InFlight& other) {
    for (const auto& [tile, behind] : other.behind_) {
      const auto [place, is_new] = behind_.try_emplace(tile, behind);
      if (!is_new) place->second = std::min(place->second, behind);
    }
  }
  /// As if all products had begun just now, in whichever iteration of a loop.
  void forget_groups() {
    for (auto& [tile, behind] : behind_) behind = -1;
  }

 private:
  std::map<std::int32_t, std::int64_t> behind_;  // by index of the variable
};

class ResultsInScope {
 public:
  explicit ResultsInScope(Selection& selection)
      : selection_(selection), results_(isa::async_results(selection.kernel)) {}

  void visit(const isa::Block& block) {
    const std::size_t outer = scope_.size();
    for (const isa::Stmt& stmt : block) {
      if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) visit(*inst);
      if (const auto* fork = std::get_if<isa::ForkStmt>(&stmt.node)) visit(*fork);
      if (const auto* branch = std::get_if<isa::IfStmt>(&stmt.node)) visit(*branch);
      if (const auto* range = std::get_if<isa::ForStmt>(&stmt.node)) visit_loop(range->body);
      if (const auto* loop = std::get_if<isa::WhileStmt>(&stmt.node)) visit_loop(loop->body);
    }
    scope_.resize(outer);
  }

 private:
  /// A group waits for its own products: those around it have none in flight then.
  void visit(const isa::ForkStmt& fork) {
    std::vector<isa::VarId> around;
    scope_.swap(around);
    const InFlight before = in_flight_;
    for (const isa::WarpGroup& group : fork.groups) {
      in_flight_ = {};
      visit(group.body);
    }
    in_flight_ = before;
    scope_.swap(around);
  }
  void visit(const isa::IfStmt& branch) {
    const InFlight before = in_flight_;
    InFlight after;
    const auto arm = [&](const isa::Block& body) {
      in_flight_ = before;
      visit(body);
      after.join(in_flight_);
    };
    for (const isa::IfStmt::Arm& each : branch.arms) arm(each.body);
    arm(branch.otherwise);
    in_flight_ = after;
  }
  /// An iteration may find what others began; the loop may end in any of them.
  void visit_loop(const isa::Block& body) {
    isa::for_each_statement(body, [&](const isa::Stmt& stmt) {
      const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
      if (inst != nullptr) begin_product(*inst);
    });
    in_flight_.forget_groups();
    const InFlight any = in_flight_;
    visit(body);
    in_flight_.join(any);
  }
  void visit(const isa::InstStmt& stmt) {
    if (auto* wait = selection_.form<ProductWait>(stmt.id)) {
      wait->results.clear();
      for (const isa::VarId tile : scope_) {
        if (in_flight_.contains(tile)) wait->results.push_back(tile);
      }
      in_flight_.wait(wait->pending);
    }
    const bool commits = isa::has(isa::description(stmt.inst).sync, isa::Sync::arrive);
    if (commits && isa::is_of_async_products(stmt.inst)) in_flight_.commit();
    begin_product(stmt);
    for (const isa::VarId result : stmt.results) {
      if (!stmt.declares || std::ranges::find(results_, result) == results_.end()) continue;
      scope_.push_back(result);
    }
  }
  void begin_product(const isa::InstStmt& stmt) {
    const auto operands = isa::product_operands(stmt.inst);
    if (operands && operands->is_asynchronous()) in_flight_.begin(stmt.results[0]);
  }

  Selection& selection_;
  std::vector<isa::VarId> results_, scope_;
  InFlight in_flight_;
};

}  // namespace

void hold_results(Selection& selection) {
  if (isa::first_async_product(selection.kernel) == nullptr) return;
  ResultsInScope(selection).visit(selection.kernel.body);
}

}  // namespace tilevm::backend
