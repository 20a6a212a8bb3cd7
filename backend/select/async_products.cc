// Waits for asynchronous products change tiles that their statements do not name.
#include "isa/analysis/async_products.h"

#include <algorithm>
#include <vector>

#include "backend/select/passes.h"

namespace tilevm::backend {
namespace {

class ResultsInScope {
 public:
  explicit ResultsInScope(Selection& selection)
      : selection_(selection), results_(isa::async_results(selection.kernel)) {}

  void visit(const isa::Block& block) {
    const std::size_t outer = scope_.size();
    for (const isa::Stmt& stmt : block) {
      if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) visit(*inst);
      if (const auto* fork = std::get_if<isa::ForkStmt>(&stmt.node)) {
        visit(*fork);
        continue;
      }
      isa::for_each_block_of(stmt, [&](const isa::Block& inner) { visit(inner); });
    }
    scope_.resize(outer);
  }

 private:
  /// A group waits for its own products: those around it have none in flight then.
  void visit(const isa::ForkStmt& fork) {
    std::vector<isa::VarId> around;
    scope_.swap(around);
    for (const isa::WarpGroup& group : fork.groups) visit(group.body);
    scope_.swap(around);
  }
  void visit(const isa::InstStmt& stmt) {
    if (auto* wait = selection_.form<ProductWait>(stmt.id)) wait->results = scope_;
    for (const isa::VarId result : stmt.results) {
      if (!stmt.declares || std::ranges::find(results_, result) == results_.end()) continue;
      scope_.push_back(result);
    }
  }

  Selection& selection_;
  std::vector<isa::VarId> results_, scope_;
};

}  // namespace

void hold_results(Selection& selection) {
  if (isa::first_async_product(selection.kernel) == nullptr) return;
  ResultsInScope(selection).visit(selection.kernel.body);
}

}  // namespace tilevm::backend
