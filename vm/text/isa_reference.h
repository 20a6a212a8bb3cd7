// The reference of the instruction set, generated from the instructions' schemas.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/inst/schema.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// One operand as a reader sees it.
struct OperandInfo {
  std::string_view name;
  std::string_view type;  ///< "register tile", "extents" ...
  std::string_view doc;
  bool optional = false;
  isa::Access access = isa::Access::none;
};

struct InstructionInfo {
  isa::Description description;
  std::vector<OperandInfo> operands;
};

/// Every instruction in the order of the list.
[[nodiscard]] std::vector<InstructionInfo> all_instructions();

/// "Cast(src, dtype) -> register tile", optional operands in brackets; `out=` where it exists.
[[nodiscard]] std::string signature(const InstructionInfo& instruction);

/// The page of one instruction for the terminal.
[[nodiscard]] std::string terminal_page(const InstructionInfo& instruction);

/// An instruction as JSON: mnemonic, category, signature, summary, detail, operands, result,
/// allowed.
[[nodiscard]] Json reference_json(const InstructionInfo& instruction);

/// docs/reference/isa.md.
[[nodiscard]] std::string markdown_reference();

}  // namespace tilevm::vm
