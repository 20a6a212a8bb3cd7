#include "backend/machine/describe.h"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/select/remarks.h"

namespace tilevm::backend {
namespace {

/// Words for what an operation does to the order of events; none for others.
class OrderWords {
 public:
  OrderWords(const MachineKernel& machine, const MachineOp& op) : machine_(machine), op_(op) {}

  std::string operator()(const ArriveExpect&) const {
    return fmt::format("warp {} arrives and expects the bytes", group().first);
  }
  std::string operator()(const WaitPhases& wait) const {
    const std::string who = op_.group == 0 ? "each warp" : fmt::format("warp {}", group().first);
    if (wait.newest) return fmt::format("{} waits for the newest group", who);
    return fmt::format("{} waits until {} group{} unfinished", who, wait.pending,
                       wait.pending == 1 ? " is" : "s are");
  }
  std::string operator()(const BlockSync&) const { return "all warps meet"; }
  std::string operator()(const NamedSync&) const { return warps("wait"); }
  std::string operator()(const NamedArrive&) const { return warps("arrive"); }
  std::string operator()(const FenceProxy& fence) const {
    return fence.with_global ? "fence.proxy.async" : "fence.proxy.async.shared::cta";
  }
  std::string operator()(const CommitPieces&) const { return "cp.async.commit_group"; }
  std::string operator()(const WaitPieces& wait) const {
    return fmt::format("cp.async.wait_group {}", wait.pending);
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }

 private:
  [[nodiscard]] const WarpGroup& group() const { return machine_.groups[op_.group]; }
  /// "warp 7 waits", "warps 4 to 7 wait".
  [[nodiscard]] std::string warps(std::string_view verb) const {
    if (group().warps == 1) return fmt::format("warp {} {}s", group().first, verb);
    return fmt::format("warps {} to {} {}", group().first, group().first + group().warps - 1, verb);
  }

  const MachineKernel& machine_;
  const MachineOp& op_;
};

std::string test_words(RingTest test) {
  switch (test) {
    case RingTest::fits:
      break;
    case RingTest::none_since_split:
      return "if no group was waited for since the last split: ";
    case RingTest::open:
      return "if copies are open: ";
  }
  return "";
}

class MachineRemarks {
 public:
  explicit MachineRemarks(const MachineKernel& machine) : machine_(machine) { add(machine.body); }

  /// "warp 0 arrives and expects the bytes; if the ring is full: ..".
  [[nodiscard]] std::string of(isa::StmtId id) const {
    const auto found = words_.find(id);
    return found == words_.end() ? "" : fmt::format("{}", fmt::join(found->second, "; "));
  }

 private:
  void add(const MachineBlock& block) {
    for (const MachineNode& node : block) {
      if (const auto* loop = std::get_if<MachineLoop>(&node.node)) {
        add(loop->body);
      } else if (const auto* branch = std::get_if<MachineBranch>(&node.node)) {
        for (const MachineBlock& arm : branch->arms) add(arm);
        add(branch->otherwise);
      } else if (const auto* fork = std::get_if<MachineFork>(&node.node)) {
        for (const MachineBlock& group : fork->groups) add(group);
      } else if (node.stmt != nullptr) {
        for (std::string& text : words_of(node)) words_[node.source()].push_back(std::move(text));
      }
    }
  }

  std::vector<std::string> words_of(const MachineNode& node) const {
    std::vector<std::string> words;
    if (const auto* op = std::get_if<MachineOp>(&node.node)) {
      std::string text = std::visit(OrderWords(machine_, *op), op->code);
      if (!text.empty()) words.push_back(std::move(text));
    } else if (const auto* guard = std::get_if<MachineGuard>(&node.node)) {
      const auto* test = std::get_if<RingTest>(&guard->test);
      const std::string body = words_of(guard->body), otherwise = words_of(guard->otherwise);
      if (test == nullptr) {
        words.push_back(fmt::format("{}, {}", body, otherwise));
      } else if (*test == RingTest::fits) {
        words.push_back("if the ring is full: " + otherwise);
      } else {
        words.push_back(test_words(*test) + body);
        if (!otherwise.empty()) words.push_back("else " + otherwise);
      }
    }
    return words;
  }
  std::string words_of(const MachineBlock& block) const {
    std::vector<std::string> words;
    for (const MachineNode& node : block) {
      for (std::string& text : words_of(node)) words.push_back(std::move(text));
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }

  const MachineKernel& machine_;
  std::map<isa::StmtId, std::vector<std::string>> words_;
};

}  // namespace

std::vector<Remark> describe(const isa::VerifiedProgram& program, const SelectedKernel& selected,
                             const MachineKernel& machine) {
  std::vector<Remark> forms = describe(program, selected);
  if (machine.barriers.empty()) return forms;
  const MachineRemarks order(machine);
  std::vector<Remark> remarks;
  auto next = forms.begin();
  isa::for_each_statement(program.kernel(selected.kernel).body, [&](const isa::Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    const bool has_form = next != forms.end() && next->stmt == inst;
    std::string text = order.of(inst->id);
    const bool is_split = std::holds_alternative<SplitBarrier>(selected.forms[inst->id]);
    if (has_form) {
      Remark remark = std::move(*next++);
      if (is_split) {
        remark.text = std::move(text);
      } else if (!text.empty()) {
        remark.text += "; " + text;
      }
      remarks.push_back(std::move(remark));
    } else if (!text.empty()) {
      remarks.push_back({inst, stmt.span, std::move(text), {}, {}});
    }
  });
  return remarks;
}

}  // namespace tilevm::backend
