#include <utility>

#include "backend/machine/passes.h"

namespace tilevm::backend {
namespace {

/// THE order of passes after the lowering.
constexpr MachineKernel (*passes[])(MachineKernel, const MachineSource&) = {
    fence_stores,     // while stores and waits are still the program's
    expand_barriers,  // waits and arrivals of each group
    place_records,    // after all that a statement became
};

/// What an operation does to the order of events.
struct SyncOf {
  isa::Sync operator()(const Form&) const { return isa::Sync::none; }
  isa::Sync operator()(const InitRing&) const { return isa::Sync::release; }
  isa::Sync operator()(const ArriveExpect&) const { return isa::Sync::arrive; }
  isa::Sync operator()(const WaitPhases&) const { return isa::Sync::wait; }
  isa::Sync operator()(const PublishPhases&) const { return isa::Sync::none; }
  isa::Sync operator()(const MarkSplit&) const { return isa::Sync::none; }
  isa::Sync operator()(const BlockSync&) const { return isa::Sync::block; }
  isa::Sync operator()(const NamedSync&) const { return isa::Sync::arrive | isa::Sync::wait; }
  isa::Sync operator()(const NamedArrive&) const { return isa::Sync::arrive; }
  isa::Sync operator()(const FenceProxy&) const { return isa::Sync::release; }
  isa::Sync operator()(const CommitPieces&) const { return isa::Sync::arrive; }
  isa::Sync operator()(const WaitPieces&) const { return isa::Sync::wait; }
  isa::Sync operator()(const EndBlock&) const { return isa::Sync::none; }
  isa::Sync operator()(const BeginCounts&) const { return isa::Sync::none; }
  isa::Sync operator()(const EndCounts&) const { return isa::Sync::none; }
  isa::Sync operator()(const ProbeRecord&) const { return isa::Sync::none; }
};

/// Numbers the operations, and states what they synchronize. An instruction in its own form states
/// that in its schema.
void number_operations(MachineKernel& machine) {
  std::int32_t next = 0;
  const auto number = [&](MachineNode& node) {
    auto* op = std::get_if<MachineOp>(&node.node);
    if (op == nullptr) return;
    op->id = {next++};
    const auto* inst =
        node.stmt == nullptr ? nullptr : std::get_if<isa::InstStmt>(&node.stmt->node);
    const bool own = std::holds_alternative<Form>(op->code) && inst != nullptr;
    op->sync = own ? isa::Sync{isa::description(inst->inst).sync} : std::visit(SyncOf{}, op->code);
  };
  for_each_node(machine.begin, number);
  for_each_node(machine.body, number);
}

}  // namespace

MachineBlock rewrite(MachineBlock block, const Rewrite& f) {
  MachineBlock result;
  for (MachineNode& node : block) {
    if (auto* guard = std::get_if<MachineGuard>(&node.node)) {
      guard->body = rewrite(std::move(guard->body), f);
      guard->otherwise = rewrite(std::move(guard->otherwise), f);
    } else if (auto* loop = std::get_if<MachineLoop>(&node.node)) {
      loop->body = rewrite(std::move(loop->body), f);
    } else if (auto* branch = std::get_if<MachineBranch>(&node.node)) {
      for (MachineBlock& arm : branch->arms) arm = rewrite(std::move(arm), f);
      branch->otherwise = rewrite(std::move(branch->otherwise), f);
    } else if (auto* fork = std::get_if<MachineFork>(&node.node)) {
      for (MachineBlock& group : fork->groups) group = rewrite(std::move(group), f);
    }
    f(result, std::move(node));
  }
  return result;
}

MachineKernel make_machine(const SelectedProgram& program, std::size_t kernel) {
  const SelectedKernel& selected = program.kernels[kernel];
  const isa::Kernel& definition = program.program.kernel(selected.kernel);
  const MachineSource source{program.program, selected, definition,
                             program.program.info(selected.kernel), isa::Statements(definition)};
  MachineKernel machine = lower(source);
  for (const auto pass : passes) machine = pass(std::move(machine), source);
  number_operations(machine);
  return machine;
}

}  // namespace tilevm::backend
