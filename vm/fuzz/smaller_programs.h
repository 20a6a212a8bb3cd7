// The single changes by which a program becomes smaller, numbered. Most of them do not give a valid
// program; the verifier decides.
#pragma once

#include <cstddef>
#include <vector>

#include "isa/program/program.h"

namespace tilevm::vm::fuzz {

/// Makes change number n of its kind; false if there is none of that number.
using ProgramChange = bool (*)(isa::Program& program, std::size_t n);

/// Every kind of change, those that remove most first.
[[nodiscard]] const std::vector<ProgramChange>& program_changes();
/// The changes that add no fault to a program that has none: what they take away defines no memory,
/// orders nothing and decides nothing.
[[nodiscard]] const std::vector<ProgramChange>& harmless_changes();

}  // namespace tilevm::vm::fuzz
