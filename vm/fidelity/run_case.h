// Runs a case on two engines and compares every bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/fidelity/case.h"
#include "vm/run/vm.h"

namespace tilevm::vm::fidelity {

/// The program of a case with the operands of some blocks.
struct Job {
  isa::VerifiedProgram program;
  Entry entry;
  std::vector<HostTensor> tensors;  ///< operands, then results
};

/// `count` blocks, all tensors zero. Errors: limit (memory).
[[nodiscard]] Result<Job> make_job(const Case& each, const isa::Target& target, std::int64_t count);

/// Draws the operands of the job's blocks, the first of which is `first`, on all host threads.
void draw(const Case& each, std::uint64_t seed, std::int64_t first, Job& job);

/// Runs a job on an engine, in place.
[[nodiscard]] Status run_job(Job& job, Engine& engine);

/// What became of one result.
struct Outcome {
  std::string name;
  std::string hash;             ///< hash of what the device gave for the kept blocks
  std::uint64_t different = 0;  ///< elements of all blocks
  std::string first;            ///< the first of them with its operands, in words
};

/// The results of what is kept, computed by one engine.
[[nodiscard]] Result<std::vector<Outcome>> run_kept(const Case& each, const isa::Target& target,
                                                    Engine& engine);

/// Runs `blocks` blocks on the device and in the simulator. Errors: those of the engines.
[[nodiscard]] Result<std::vector<Outcome>> compare_case(const Case& each, const isa::Target& target,
                                                        std::uint64_t seed, std::int64_t blocks,
                                                        Engine& device, Engine& simulator);

}  // namespace tilevm::vm::fidelity
