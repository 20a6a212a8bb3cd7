// The headers of messages between an editor and its servers (Language Server Protocol, Debug
// Adapter Protocol): lines of names and values, of which `Content-Length` counts, and an empty
// line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tilevm::vm {

/// What ends a header.
inline constexpr std::string_view header_end = "\r\n\r\n";

/// The number of bytes that follow a header, which is given without its end. Names may have any
/// case. Nothing if no line says a length, or one does that is not a number.
[[nodiscard]] std::optional<std::size_t> content_length(std::string_view header);

/// A message with its header.
[[nodiscard]] std::string with_header(std::string_view message);

}  // namespace tilevm::vm
