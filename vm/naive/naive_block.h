// One block of a launch, executed statement by statement.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/program/probe.h"
#include "isa/verify/verify.h"

namespace tilevm::vm::naive {

using Bytes = std::vector<std::uint8_t>;

/// A buffer of global memory, and its number for probes.
struct NaiveBuffer {
  Bytes* bytes = nullptr;
  std::uint64_t number = 0;
};

/// What the blocks of a launch share.
struct NaiveLaunch {
  const isa::VerifiedProgram& program;
  int kernel = 0;
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::map<std::int32_t, isa::Scalar> scalars{};   ///< parameters
  std::map<std::int32_t, NaiveBuffer> pointers{};  ///< parameters
  std::vector<Bytes> workspace_bytes{};
  std::map<std::int32_t, NaiveBuffer> workspaces{};  ///< buffers by the variable of AllocateGlobal
  const isa::ProbePlan* plan = nullptr;              ///< probe plan of the kernel, if it is probed
  isa::ProbeLog* log = nullptr;
};

/// Runs a block. Gives what went wrong, or nothing.
[[nodiscard]] std::optional<std::string> run_block(NaiveLaunch& launch,
                                                   const std::array<std::int64_t, 3>& block,
                                                   isa::PrintRecords& prints);

}  // namespace tilevm::vm::naive
