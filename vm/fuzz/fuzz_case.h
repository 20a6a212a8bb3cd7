// One case as text: what is generated, judged, shrunk and kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/codes.h"
#include "isa/numeric/target.h"
#include "vm/run/vm.h"

namespace tilevm::vm::fuzz {

/// The report that must come.
struct ExpectedReport {
  Code code = Code::race;
  std::string line;  ///< a part of the statement's text that no other statement has
};

/// A mistake that a program has, or, without it, the same program done right.
struct PlantedFault {
  std::string kind;  ///< "no barrier"
  bool faulty = true;
  ExpectedReport expected;
};

struct FuzzCase {
  std::uint64_t seed = 0;
  isa::Target target;
  std::string text;
  std::vector<std::string> inputs;  ///< "NAME=SPEC"
  std::optional<PlantedFault> planted = {};
};

/// What went wrong with a case.
struct Finding {
  /// One fault of the product in words that do not depend on the seed: which oracle, which engine,
  /// the code of a fault, and the instruction at which it shows.
  std::string signature;
  std::string detail;         ///< the message, the first difference
  std::string backends = {};  ///< "sim,emu" of a difference between two; else empty
  /// What ran wrong: "sim", a mode of it, or an engine; empty before anything runs.
  std::string run = {};
};

/// A case that passed the checks of its text, ready to run.
struct ReadyCase {
  std::uint64_t seed = 0;
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
