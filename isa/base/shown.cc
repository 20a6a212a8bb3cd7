#include "isa/base/shown.h"

#include <fmt/format.h>

namespace tilevm {

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return fmt::format("{}.. ({} bytes)", text.substr(0, end), text.size());
}

}  // namespace tilevm
