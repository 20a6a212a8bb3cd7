// The memory in which a launch records its probes; the layout is in prelude/probe.cuh.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/base/result.h"
#include "isa/program/probe.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// A buffer that kernels write, in the order of isa::probe_address: tensors, then workspaces.
struct ProbedBuffer {
  std::uint64_t address = 0, bytes = 0;
};

/// The bytes of the memory before a launch. `log` says which kernel, which grid, and what is
/// recorded.
[[nodiscard]] std::vector<std::uint8_t> make_probe_buffer(const isa::VerifiedProgram& program,
                                                          const isa::ProbeLog& log,
                                                          const std::vector<ProbedBuffer>& buffers);

/// Fills the log from the bytes after the launch. Error (program): the launch wrote over them.
[[nodiscard]] Status read_probe_buffer(const isa::VerifiedProgram& program,
                                       const std::vector<std::uint8_t>& bytes, isa::ProbeLog& log);

}  // namespace tilevm::backend
