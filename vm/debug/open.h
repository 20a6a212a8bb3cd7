// A session of the debugger for a program, an entry and its tensors.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "isa/base/result.h"
#include "sim/debug/session.h"
#include "vm/data/tensor.h"
#include "vm/run/entry.h"

namespace tilevm::vm {

struct DebugOptions {
  sim::Options run;
  sim::debug::TimelineOptions timeline;
};

/// Errors: usage, limit.
[[nodiscard]] Result<std::unique_ptr<sim::debug::Session>> open_session(
    const isa::VerifiedProgram& program, const Entry& entry, std::vector<HostTensor> tensors,
    const DebugOptions& options);

}  // namespace tilevm::vm
