#include "vm/picture/typed_layout.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "frontend/syntax/lines.h"

namespace tilevm::vm {

namespace {

/// The type and the extents before a layout, and how many bytes they take.
struct Prefix {
  isa::DType dtype;
  std::string_view extents;  ///< "[16, 8]", or empty
  std::size_t bytes = 0;
};

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  return at;
}

std::optional<Prefix> read_prefix(std::string_view text) {
  const std::size_t begin = skip_blanks(text, 0);
  const std::string_view word = frontend::leading_word(text.substr(begin));
  const std::optional<isa::DType> dtype = isa::parse_dtype(word);
  if (!dtype) return std::nullopt;
  Prefix prefix{*dtype, {}, skip_blanks(text, begin + word.size())};
  if (prefix.bytes < text.size() && text[prefix.bytes] == '[') {
    const std::size_t end = text.find(']', prefix.bytes);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view extents = text.substr(prefix.bytes, end + 1 - prefix.bytes);
    // A bracket around the layout is not a list of extents.
    if (extents.find_first_not_of("[]0123456789, ") != std::string_view::npos) return prefix;
    prefix.extents = extents;
    prefix.bytes = skip_blanks(text, end + 1);
  }
  if (prefix.bytes < text.size() && (text[prefix.bytes] == ',' || text[prefix.bytes] == ':')) {
    prefix.bytes = skip_blanks(text, prefix.bytes + 1);
  }
  return prefix;
}

const isa::Shape& shape_of(const frontend::AnyLayout& layout) {
  return std::visit([](const auto& one) -> const isa::Shape& { return one.shape(); }, layout);
}

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

}  // namespace

std::optional<TypedLayout> read_typed_layout(const SourceFile& source, Diagnostics& diagnostics) {
  const std::optional<Prefix> prefix = read_prefix(source.text());
  std::string text = source.text();
  // Blanks keep the places of what follows.
  if (prefix) std::fill_n(text.begin(), prefix->bytes, ' ');
  const std::optional<frontend::AnyLayout> layout =
      frontend::load_layout(SourceFile(source.name(), text), diagnostics);
  if (!layout) return std::nullopt;
  TypedLayout typed{prefix ? std::optional(prefix->dtype) : std::nullopt, *layout, {}};
  typed.text = std::visit([](const auto& one) { return to_string(one); }, *layout);
  if (!prefix) return typed;
  typed.text = isa::to_string(prefix->dtype) + " " + typed.text;
  const std::string shape = isa::to_string(shape_of(*layout));
  if (!prefix->extents.empty() &&
      without_blanks(std::string(prefix->extents)) != without_blanks(shape)) {
    diagnostics.error(Code::shape_mismatch, {0, static_cast<std::uint32_t>(prefix->bytes)},
                      fmt::format("the extents {} are not those of the layout, which has shape {}",
                                  prefix->extents, shape));
    return std::nullopt;
  }
  return typed;
}

}  // namespace tilevm::vm
