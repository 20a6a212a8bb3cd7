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
#include "vm/naive/element.h"
#include "vm/naive/naive_tile.h"
#include "vm/naive/residue_memory.h"
#include "vm/naive/ring.h"

namespace tilevm::vm::naive {

using Bytes = std::vector<std::uint8_t>;

/// A buffer of global memory, and its number for probes.
struct NaiveBuffer {
  Bytes* bytes = nullptr;
  std::uint64_t number = 0;
  ResidueMemory* residues = nullptr;
};

/// Told what statements do in a run with residues.
class ResidueObserver {
 public:
  ResidueObserver() = default;
  ResidueObserver(const ResidueObserver&) = delete;
  ResidueObserver& operator=(const ResidueObserver&) = delete;
  virtual ~ResidueObserver() = default;

  virtual void result(int kernel, isa::StmtId statement, const NaiveTile& tile) = 0;
  /// A statement takes an element by its bits, not by its residue.
  enum class Use : std::uint8_t {
    scalar,  ///< a scalar takes it
    place,   ///< the element is the index of another one
    bits,    ///< another type has its bits
    turn,    ///< blocks have left it there, in no order
  };
  virtual void by_bits(int kernel, isa::StmtId statement, Use use) = 0;
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
  const Ring* ring = nullptr;  ///< the ring of a run with residues
  std::vector<ResidueMemory> workspace_residues = {};
  ResidueObserver* observer = nullptr;
};

/// Runs a block. Gives what went wrong, or nothing.
[[nodiscard]] std::optional<std::string> run_block(NaiveLaunch& launch,
                                                   const std::array<std::int64_t, 3>& block,
                                                   isa::PrintRecords& prints);

}  // namespace tilevm::vm::naive
