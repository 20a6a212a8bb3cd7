// What a statement wrote in two engines, compared value by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/program/probe.h"
#include "isa/verify/verify.h"
#include "vm/diff/statement_difference.h"

namespace tilevm::vm {

/// Where two dumps of one statement differ first.
[[nodiscard]] StatementDifference compare_dumps(const isa::VerifiedProgram& program, int kernel,
                                                const isa::Stmt& stmt, const isa::ProbeDump& a,
                                                const isa::ProbeDump& b);

/// The code at a place in a thread's words; the tile's words begin at `first_word`.
[[nodiscard]] std::uint64_t code_in_words(const std::vector<std::uint32_t>& words,
                                          std::size_t first_word, unsigned bits, std::size_t place);

/// Words of a thread's share of a tile.
[[nodiscard]] std::size_t words_of(const isa::RegisterType& type);

}  // namespace tilevm::vm
