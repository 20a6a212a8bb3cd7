#include "vm/fidelity/page_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilevm::vm::fidelity {

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

std::string row_text(const std::string& first, const std::vector<std::string>& cells) {
  return fmt::format("| {} | {} |\n", first, fmt::join(cells, " | "));
}

std::string head_text(const std::string& first, const std::vector<std::string>& cells) {
  std::string text = row_text(first, cells) + "|---|";
  for (std::size_t i = 0; i < cells.size(); ++i) text += "---|";
  return text + "\n";
}

}  // namespace tilevm::vm::fidelity
