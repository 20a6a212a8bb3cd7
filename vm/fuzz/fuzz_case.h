// One case as text: what is generated, judged, shrunk and kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/numeric/target.h"
#include "vm/run/vm.h"

namespace tilevm::vm::fuzz {

struct FuzzCase {
  std::uint64_t seed = 0;
  isa::Target target;
  std::string text;
  std::vector<std::string> inputs;  ///< "NAME=SPEC"
};

/// What went wrong with a case.
struct Finding {
  /// One fault of the product in words that do not depend on the seed: which oracle, which engines,
  /// the code of a fault and its instruction.
  std::string signature;
  std::string detail;    ///< the message, the first difference
  std::string backends;  ///< "sim,emu" of a difference between two; else empty
};

/// A case that passed the checks of its text, ready to run.
struct ReadyCase {
  isa::VerifiedProgram program;
  Entry entry;
  std::vector<HostTensor> tensors;
};

/// What a run gave.
struct Outcome {
  std::optional<Failure> failure;
  std::vector<HostTensor> tensors;
  Prints prints;
};

}  // namespace tilevm::vm::fuzz
