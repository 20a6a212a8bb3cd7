// Probes of a run in the simulator (isa/program/probe.h).
#pragma once

#include <cstdint>

#include "isa/program/probe.h"

namespace tilevm::sim {

/// Which statements have a probe, and where their records go: the log's kernel and window are set,
/// the rest is filled. Both must outlive the run.
struct Probes {
  const isa::ProbePlan* plan = nullptr;  ///< null: nothing is recorded
  isa::ProbeLog* log = nullptr;
};

}  // namespace tilevm::sim
