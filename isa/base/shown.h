// Words of strangers in messages: short enough to be read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilevm {

/// A text, or its beginning and its size if it is longer than `most` bytes. What is cut ends with a
/// whole character.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most = 80);

}  // namespace tilevm
