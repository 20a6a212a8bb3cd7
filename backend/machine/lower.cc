// From the selected forms to operations, one for each instruction.

#include <algorithm>
#include <utility>

#include "backend/machine/passes.h"
#include "isa/analysis/operands.h"

namespace tilevm::backend {
namespace {

class Lowering {
 public:
  explicit Lowering(const MachineSource& source) : source_(source) {
    machine_.groups.push_back({0, source.warps()});
  }

  MachineKernel run() {
    machine_.body = lower(source_.kernel.body);
    return std::move(machine_);
  }

 private:
  MachineBlock lower(const isa::Block& block) {
    MachineBlock result;
    for (const isa::Stmt& stmt : block) {
      std::visit([&](const auto& node) { append(result, stmt, node); }, stmt.node);
    }
    return result;
  }

  void append(MachineBlock& to, const isa::Stmt& stmt, const isa::InstStmt& inst) {
    const Form& form = source_.selected.forms[stmt.id()];
    MachineOp op{.code = form};
    if (const auto* copy = std::get_if<BulkCopy>(&form)) {
      op.group = group_of({copy->first_warp, copy->warps});
    }
    op.accesses = accesses_of(inst, form);
    to.push_back({&stmt, std::move(op)});
  }
  void append(MachineBlock& to, const isa::Stmt& stmt, const isa::ForStmt& loop) {
    append_loop(to, stmt, source_.selected.forms[stmt.id()], loop.body);
  }
  void append(MachineBlock& to, const isa::Stmt& stmt, const isa::WhileStmt& loop) {
    append_loop(to, stmt, Plain{}, loop.body);
  }
  void append(MachineBlock& to, const isa::Stmt& stmt, const isa::IfStmt& branch) {
    MachineBranch result;
    for (const isa::IfStmt::Arm& arm : branch.arms) result.arms.push_back(lower(arm.body));
    result.otherwise = lower(branch.otherwise);
    to.push_back({&stmt, std::move(result)});
  }
  void append(MachineBlock& to, const isa::Stmt& stmt, const isa::ForkStmt& fork) {
    MachineFork result;
    for (const isa::WarpGroup& group : fork.groups) result.groups.push_back(lower(group.body));
    to.push_back({&stmt, std::move(result)});
  }
  void append(MachineBlock& to, const isa::Stmt& stmt, const isa::ScalarStmt&) {
    to.push_back({&stmt, MachineScalar{}});
  }
  void append(MachineBlock& to, const isa::Stmt& stmt, const isa::BreakStmt&) {
    to.push_back({&stmt, MachineScalar{}});
  }
  void append(MachineBlock& to, const isa::Stmt& stmt, const isa::ContinueStmt&) {
    to.push_back({&stmt, MachineScalar{}});
  }

  /// A loop between the begins and the ends of the counts that it adds up.
  void append_loop(MachineBlock& to, const isa::Stmt& stmt, const Form& form,
                   const isa::Block& body) {
    const auto for_each_sum = [&](auto&& f) {
      for (const DeferredSum& sum : source_.selected.deferred) {
        if (sum.loop == stmt.id()) f(sum);
      }
    };
    for_each_sum(
        [&](const DeferredSum& sum) { to.push_back(op_node(&stmt, BeginCounts{sum.dot})); });
    to.push_back({&stmt, MachineLoop{form, lower(body)}});
    for_each_sum([&](const DeferredSum& sum) { to.push_back(op_node(&stmt, EndCounts{sum.dot})); });
  }

  std::size_t group_of(const WarpGroup& warps) {
    const auto found = std::find(machine_.groups.begin(), machine_.groups.end(), warps);
    const auto index = static_cast<std::size_t>(found - machine_.groups.begin());
    if (found == machine_.groups.end()) machine_.groups.push_back(warps);
    return index;
  }

  /// The accesses that the instruction's schema states. Only bulk copies and products of warp
  /// groups use the async proxy (PTX ISA, proxies): copies in pieces are accesses of the threads
  /// that make them.
  static std::vector<MachineAccess> accesses_of(const isa::InstStmt& stmt, const Form& form) {
    const isa::Proxy proxy =
        std::holds_alternative<BulkCopy>(form) || std::holds_alternative<AsyncDot>(form)
            ? isa::Proxy::async
            : isa::Proxy::generic;
    std::vector<MachineAccess> accesses;
    const auto add = [&](isa::Access access, isa::VarId tensor) {
      if (access != isa::Access::none) accesses.push_back({tensor, access, proxy});
    };
    isa::for_each_memory_operand<isa::SharedOperand>(stmt.inst, add);
    isa::for_each_memory_operand<isa::GlobalOperand>(stmt.inst, add);
    return accesses;
  }

  const MachineSource& source_;
  MachineKernel machine_;
};

}  // namespace

MachineKernel lower(const MachineSource& source) { return Lowering(source).run(); }

}  // namespace tilevm::backend
