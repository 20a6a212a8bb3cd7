// What must hold of a case before it runs: its text reads back, and verify finds the same twice.
#pragma once

#include <variant>

#include "vm/fuzz/fuzz_case.h"
#include "vm/fuzz/generate.h"

namespace tilevm::vm::fuzz {

/// The generator's own program must verify as it is, without its text.
[[nodiscard]] std::optional<Finding> check_generated(const GeneratedCase& generated,
                                                     const isa::Target& target);

/// Loads a case. Printing its tree and parsing that gives an equal tree, the program's own text is
/// the same after loading, and two verifications emit the same kernels.
[[nodiscard]] std::variant<ReadyCase, Finding> make_ready(const FuzzCase& each);

/// The mnemonic of the statement at a place of the text, or "scalar".
[[nodiscard]] std::string instruction_at(const SourceFile& source, Span span);

/// "TV0406 StoreShared": the first error's code and instruction.
[[nodiscard]] std::string fault_signature(const Failure& failure, const SourceFile& source);
/// The failure's whole message.
[[nodiscard]] std::string failure_text(const Failure& failure, const SourceFile& source);

}  // namespace tilevm::vm::fuzz
