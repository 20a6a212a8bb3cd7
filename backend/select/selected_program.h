// The value that instruction selection gives (select.h): the form of every statement of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/select/forms.h"
#include "isa/program/probe.h"
#include "isa/program/stmt_map.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// Shared memory of the barrier of a group of bulk copies.
inline constexpr std::int64_t barrier_bytes = 8;

/// How groups of copies are counted in a kernel.
struct BulkGroups {
  std::int64_t count = 0;  ///< groups of bulk copies in flight at most, a power of two, or none
  std::int64_t first_producer =
      0;                 ///< the first warp that copies, if barriers may be split; else 0
  bool are_all = false;  ///< there are no other asynchronous copies

  [[nodiscard]] bool any() const { return count > 0; }
};

/// The address of a thread's share of accesses to a shared tensor, which is computed once before
/// the kernel's first statement: offset + sum of share * stride, in elements of `bits`.
struct HoistedAddress {
  struct Share {
    std::vector<isa::TensorTerm> terms;  ///< digits of the thread's number
    std::int64_t stride = 1;
    friend bool operator==(const Share&, const Share&) = default;
  };
  std::int64_t offset = 0;  ///< offset of the tensor, in bytes
  std::vector<Share> shares{};
  int bits = 8;
  friend bool operator==(const HoistedAddress&, const HoistedAddress&) = default;
};

/// A BipolarDot whose counts are put together after a loop around it.
struct DeferredSum {
  const isa::InstStmt* dot = nullptr;
  isa::StmtId loop{};
};

/// What is selected besides the program itself.
struct SelectOptions {
  bool probes = false;  ///< kernels sum up what each statement writes (isa/program/probe.h)
};

struct SelectedKernel {
  int kernel = 0;                         ///< index into Program::kernels
  isa::StmtMap<Form> forms{};             ///< form of every statement
  std::vector<std::string> names{};       ///< names of variables in the code
  std::vector<std::string> workspaces{};  ///< names of the memory of workspaces, as in KernelInfo
  BulkGroups bulk{};
  std::vector<HoistedAddress> hoisted{};
  std::vector<DeferredSum> deferred{};
  isa::ProbePlan probes{};  ///< empty if the kernel has none
};

struct SelectedProgram {
  isa::VerifiedProgram program;  ///< program that the forms refer to
  SelectOptions options{};
  std::vector<SelectedKernel> kernels;  ///< kernels of the program, in order
};

}  // namespace tilevm::backend
