// What tells two differences between engines apart: the statement that is the first to be executed
// differently.
#pragma once

#include <cstddef>
#include <string>

#include "vm/diff/differ.h"
#include "vm/fuzz/fuzz_case.h"

namespace tilevm::vm::fuzz {

/// "Cast u4 f16" for a statement that computes: its instruction with the element types of its
/// operands and results. An instruction that moves tiles stands alone, since its faults are those
/// of addresses. Statements that are not instructions: "scalar", "loop".
[[nodiscard]] std::string statement_kind(const isa::VerifiedProgram& program, int kernel,
                                         isa::StmtId statement);

/// The kind of the first statement that engines 0 and b execute differently; empty if their sums
/// are equal or an engine has none.
[[nodiscard]] std::string differing_kind(const ReadyCase& each, const Engines& engines,
                                         std::size_t b);

/// Whether a signature is a known one, or begins with the words of one.
[[nodiscard]] bool matches(const std::string& signature, const std::string& known);

}  // namespace tilevm::vm::fuzz
