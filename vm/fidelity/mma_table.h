// Tables of isa::mma_classes(): how tensor-core instructions add, and whose evidence that is.
#pragma once

#include <string>
#include <vector>

#include "isa/numeric/mma_rules.h"

namespace tilevm::vm::fidelity {

/// Classes of one row.
struct MmaRow {
  std::string instruction, types, architectures;  ///< Markdown
  isa::MmaRule rule;                              ///< rule of one instruction
};

/// The classes that no Dot uses, those of one instruction and one source in a row.
[[nodiscard]] std::vector<MmaRow> mma_rows_by_source();

/// The tables of docs/reference/products.md: how the dense floating classes add that Dot uses, or
/// all others.
[[nodiscard]] std::string mma_rules_table(bool of_dot);

}  // namespace tilevm::vm::fidelity
