// Words of other languages and libraries: what to write here instead.
//
// No word of the table is one of ours, whatever its case (a test compares them): a name that is one
// of ours but for case and underscores is answered from the instruction's own schema.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "isa/base/diagnostic.h"
#include "isa/inst/slot_table.h"

namespace tilevm::frontend {

/// How a foreign call was written, for advice in its words.
struct ForeignCall {
  std::string operand = "x";  ///< the tile, a receiver or the first argument
  std::string dims = "0";     ///< the dimension
  std::string type = "f16";   ///< the other argument of a conversion
  std::string values = "..";  ///< all arguments but the tile
};

/// Reports a name that other languages have for something, with what it is called here; false if it
/// is not such a name.
bool report_foreign_word(const ast::Identifier& name, Diagnostics& diagnostics,
                         const ForeignCall& call = {});

/// What to write instead of a word of another language; empty for other words.
[[nodiscard]] std::string advice_for(std::string_view word, const ForeignCall& call = {});

/// The instruction whose name a word is but for case and underscores; null if there is none.
[[nodiscard]] const isa::InstructionEntry* instruction_like(std::string_view word);

/// "`Pow(a, b)` raises the elements of .." of an instruction.
[[nodiscard]] std::string said_of(const isa::InstructionEntry& entry, const ForeignCall& call = {});

/// What a type of C, CUDA or NumPy is called here: `f32` of `float`; nothing for other words.
[[nodiscard]] std::optional<std::string_view> foreign_type(std::string_view word);

/// What `x.word` is of a tile, `shape_of(x)` of `shape`; empty for other words.
[[nodiscard]] std::string advice_for_attribute(std::string_view word, const std::string& operand);

/// Whether a name is that of a library whose functions people call by it, as `tl` or `np`.
[[nodiscard]] bool is_foreign_module(std::string_view name);

/// What to write instead of a line that begins with a word of another language, `import`; empty for
/// other words.
[[nodiscard]] std::string advice_for_line(std::string_view word);

/// What other libraries call an operation of Reduce: "add" of `sum`; empty for other words.
[[nodiscard]] std::string_view operation_like(std::string_view word);

/// The names among `operands` that an operand's foreign name means: `dims` of `axis`; empty if
/// none.
[[nodiscard]] std::string_view operand_like(std::string_view word,
                                            std::span<const isa::SlotEntry> operands);

/// Every word that advice_for knows, for tests.
[[nodiscard]] std::vector<std::string_view> foreign_words();

}  // namespace tilevm::frontend
