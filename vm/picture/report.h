// A run as one self-contained page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vm/picture/timeline.h"
#include "vm/run/vm.h"

namespace tilevm::vm {

/// What a page is made of. `failure`: why the run stopped, if it did; then the outputs and counters
/// mean nothing and are left out.
struct RunPage {
  const isa::VerifiedProgram& program;
  const Entry& entry;
  const std::vector<HostTensor>& tensors;
  const RunReport& report;
  const Timeline& timeline;
  const std::optional<Failure>& failure;
};

/// The page: faults and notes, the program with what each line cost, outputs as heat maps, accesses
/// to shared memory by bank, timelines. No script, no other file; light and dark.
[[nodiscard]] std::string draw_report(const RunPage& page);

}  // namespace tilevm::vm
