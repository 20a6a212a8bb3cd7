// The text of tables in docs/results/fidelity.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilevm::vm::fidelity {

/// "1,234,567"
[[nodiscard]] std::string grouped(std::uint64_t number);

/// A row of Markdown.
[[nodiscard]] std::string row_text(const std::string& first, const std::vector<std::string>& cells);

/// The first row and the line below it.
[[nodiscard]] std::string head_text(const std::string& first,
                                    const std::vector<std::string>& cells);

}  // namespace tilevm::vm::fidelity
