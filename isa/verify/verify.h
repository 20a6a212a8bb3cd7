// The verifier: the only maker of a VerifiedProgram.
//
// It checks, independently of who built the program:
//   - every variable is declared once, before it is used, in an enclosing block
//   - operands have the kinds that their slots ask for; every type rule holds; results have the
//     types that the rules give
//   - scalar conditions, ranges, grids and extents have integer (or boolean) kinds
//   - all register layouts of a kernel have one thread count, at most 1024, equal to @threads;
//   those
//     of a group of warps have the group's (verify_groups.h)
//   - break and continue are in loops; workspaces and shared tensors are outside of loops and
//     branches, shared tensors fit the target
//   - pipelines pass what kernels take, and write every output
//   - limits: registers per thread, unrolled size, grid size
// What it learns is kept beside the program: thread counts, workspaces, plans of Dots and accesses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/dot/dot.h"
#include "isa/numeric/target.h"
#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

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

 private:
  friend std::optional<VerifiedProgram> verify(Program, const Target&, Diagnostics&);
  struct State {
    Program program;
    Target target;
    std::vector<KernelInfo> infos;
    std::vector<std::vector<PointerUse>> uses;
  };
  explicit VerifiedProgram(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

/// Checks a program for a target; nothing if any error was reported (warnings do not count).
[[nodiscard]] std::optional<VerifiedProgram> verify(Program program, const Target& target,
                                                    Diagnostics& diagnostics);

}  // namespace tilevm::isa
