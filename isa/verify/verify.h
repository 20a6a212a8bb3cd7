// The verifier: the only maker of a VerifiedProgram.
//
// It checks, independently of who built the program:
//   - every variable is declared once, before it is used, in an enclosing block
//   - operands have the kinds that their slots ask for; every type rule holds; results have the
//     types that the rules give
//   - scalar conditions, ranges, grids and extents have integer (or boolean) kinds
//   - all register layouts of a kernel have one thread count, at most 1024, equal to @threads
//   - break and continue stand in loops; workspaces and shared tensors stand outside of loops and
//     branches, shared tensors fit the target
//   - pipelines pass what kernels take, and write every output
//   - limits: registers per thread, unrolled size, grid size
// What it learns is kept beside the program: thread counts, workspaces, plans of Dots and accesses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/dot/dot.h"
#include "isa/numeric/target.h"
#include "isa/program/print.h"
#include "isa/program/program.h"

namespace tilevm::isa {

struct AccessPlan;

/// What the verifier learned of a kernel.
struct KernelInfo {
  std::int64_t num_threads = 1;
  /// Kernel-level AllocateGlobal tensors in order: hidden buffers that a launch provides.
  struct Workspace {
    VarId var;
    std::int64_t bytes;
    bool zeroed;  ///< whether each launch begins with zeros; not if no instruction uses it
  };
  std::vector<Workspace> workspaces;
  /// Shared tensors in the order of the text. `offset` is where one begins if all lie one after
  /// another, as in the simulator, `place` where it begins on a GPU (shared_plan.h).
  struct SharedTile {
    VarId var;
    std::int64_t offset, bytes;
    std::int64_t place = 0;
  };
  std::vector<SharedTile> shared;
  /// In bytes: a line of the cache, so that how a copy falls into sectors follows from its tensor.
  static constexpr std::int64_t shared_alignment = 128;
  std::int64_t shared_bytes = 0;      ///< of all together, a multiple of shared_alignment
  std::int64_t shared_footprint = 0;  ///< that a block needs on a GPU, likewise
  /// Barriers and waits behind which the place of a shared tensor is another's; keys point into the
  /// program.
  std::set<const InstStmt*> ends_of_lives;
  [[nodiscard]] const SharedTile& shared_tile(VarId var) const;
  /// Print statements in the order of the text.
  std::vector<PrintSite> prints;
  std::map<const InstStmt*, std::uint32_t> print_sites;  // keys point into the program
  /// The position of a Print statement of this kernel.
  [[nodiscard]] std::uint32_t print_site(const InstStmt& stmt) const;
  /// How often each variable is written: by the launch, or by a statement of the text.
  std::vector<int> write_count;
};

/// What is known of the tensor behind a pointer parameter from the constant views made of it.
struct PointerUse {
  VarId parameter;
  bool read = false;
  bool written = false;
  /// The type and shape of its view, if all views agree on one constant one.
  std::optional<DType> dtype;
  std::optional<Shape> shape;
};

/// A program that passed every check, and what was learned of it. A cheap handle to shared,
/// immutable data; only verify() makes one.
class VerifiedProgram {
 public:
  [[nodiscard]] const Program& program() const { return state_->program; }
  [[nodiscard]] const Target& target() const { return state_->target; }
  [[nodiscard]] const SourceFile& source() const { return *state_->program.source; }
  [[nodiscard]] const Kernel& kernel(int index) const {
    return state_->program.kernels[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] const KernelInfo& info(int kernel) const {
    return state_->infos[static_cast<std::size_t>(kernel)];
  }
  /// One entry per pointer parameter of a kernel, in order.
  [[nodiscard]] const std::vector<PointerUse>& pointer_uses(int kernel) const {
    return state_->uses[static_cast<std::size_t>(kernel)];
  }
  /// The plan of a Dot statement of this program.
  [[nodiscard]] const DotPlan& dot_plan(const InstStmt& stmt) const;
  /// How a statement of this program that moves a tile does so (access_plan.h).
  [[nodiscard]] const AccessPlan& access_plan(const InstStmt& stmt) const;

 private:
  friend std::optional<VerifiedProgram> verify(Program, const Target&, Diagnostics&);
  struct State {
    Program program;
    Target target;
    std::vector<KernelInfo> infos;
    std::vector<std::vector<PointerUse>> uses;
    std::map<const InstStmt*, DotPlan> dot_plans;  // keys point into `program`
    std::map<const InstStmt*, std::shared_ptr<const AccessPlan>> access_plans;  // likewise
  };
  explicit VerifiedProgram(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

/// Checks a program for a target; nothing if any error was reported (warnings do not count).
[[nodiscard]] std::optional<VerifiedProgram> verify(Program program, const Target& target,
                                                    Diagnostics& diagnostics);

}  // namespace tilevm::isa
