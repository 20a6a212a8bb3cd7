// Random programs that are valid by construction: they verify, and run without a fault.
//
// One seed gives one case, program and inputs, on every machine. The instructions are those of the
// schema (isa/inst): every seed favours another one, so that a range of as many seeds as there are
// instructions has each of them; likewise with the forms of a Dot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/numeric/target.h"
#include "isa/program/program.h"
#include "vm/fuzz/plant.h"

namespace tilevm::vm::fuzz {

struct GeneratedCase {
  std::uint64_t seed = 0;
  isa::Program program;
  std::vector<std::string> inputs;  ///< "NAME=SPEC", as `tilevm run --in` takes them
  std::string defect;  ///< not empty: the generator made an instruction that no type rule takes
};

[[nodiscard]] GeneratedCase generate(std::uint64_t seed, const isa::Target& target);

/// A program with planted statements, whose report is `expected`; nothing if they cannot stand in
/// the program of this seed.
struct PlantedCase {
  GeneratedCase generated;
  std::optional<ExpectedReport> expected;
};
[[nodiscard]] PlantedCase generate_planted(std::uint64_t seed, const isa::Target& target,
                                           Planted planted, bool faulty);

}  // namespace tilevm::vm::fuzz
