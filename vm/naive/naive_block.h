// One block of a launch, executed statement by statement.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/verify/verify.h"

namespace tilevm::vm::naive {

using Bytes = std::vector<std::uint8_t>;

/// The elements of a register tile in row-major order of their indices.
struct NaiveTile {
  isa::RegisterType type;
  std::vector<std::uint64_t> codes;
};

/// What the blocks of a launch share.
struct NaiveLaunch {
  const isa::VerifiedProgram& program;
  int kernel = 0;
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::map<std::int32_t, isa::Scalar> scalars;  ///< parameters
  std::map<std::int32_t, Bytes*> pointers;      ///< parameters
  std::map<std::int32_t, Bytes> workspaces;     ///< by the variable of AllocateGlobal
};

/// Runs a block. Gives what went wrong, or nothing.
[[nodiscard]] std::optional<std::string> run_block(NaiveLaunch& launch,
                                                   const std::array<std::int64_t, 3>& block,
                                                   isa::PrintRecords& prints);

}  // namespace tilevm::vm::naive
