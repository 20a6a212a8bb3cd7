// What of the schema generated programs use: instructions, optional operands given and left out,
// types loaded and cast, statements, every way in which a Dot is computed.
#pragma once

#include <set>
#include <string>

#include "isa/numeric/target.h"
#include "isa/verify/verify.h"

namespace tilevm::vm::fuzz {

using Coverage = std::set<std::string>;

/// What one program uses.
[[nodiscard]] Coverage coverage_of(const isa::VerifiedProgram& program);
/// All that a program for this target could use.
[[nodiscard]] const Coverage& whole_schema(const isa::Target& target);
/// What is not there yet.
[[nodiscard]] Coverage missing_of(const Coverage& covered, const isa::Target& target);

}  // namespace tilevm::vm::fuzz
