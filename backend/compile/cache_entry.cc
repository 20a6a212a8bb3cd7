#include "backend/compile/cache_entry.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include <fmt/format.h>

#include "isa/base/hash.h"

namespace tilevm::backend {
namespace {

/// Begins every entry. Entries with another number are not used, and make room as others do.
constexpr std::string_view magic = "tilevm kernel 2\n";
constexpr std::string_view any_magic = magic.substr(0, magic.size() - 2);

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text + '\n';
}

/// Takes the text up to the next line break; nothing if there is none.
std::optional<std::string_view> take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return line;
}

/// The length of a part of `rest`; nothing if it is not a number, or longer than what is there.
std::optional<std::size_t> length_within(std::string_view digits, std::string_view rest) {
  std::size_t length = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc{} || stop != digits.data() + digits.size() || length > rest.size()) {
    return std::nullopt;
  }
  return length;
}

}  // namespace

bool is_cache_entry(std::string_view begin) {
  static_assert(magic.size() == cache_magic_bytes);
  return begin.starts_with(any_magic);
}

std::string seal_cache_entry(std::string_view body) {
  return fmt::format("{}{}\n{}", magic, format_hash(xxh64(body)), body);
}

std::string format_cache_entry(const StoredKernel& kernel) {
  return seal_cache_entry(one_line(kernel.key) + one_line(kernel.name) + one_line(kernel.target) +
                          one_line(kernel.compiler) + fmt::format("{}\n", kernel.log.size()) +
                          kernel.log + kernel.image);
}

std::optional<StoredKernel> parse_cache_entry(std::string_view text) {
  if (!text.starts_with(magic)) return std::nullopt;
  text.remove_prefix(magic.size());
  const auto hash = take_line(text);
  if (!hash || *hash != format_hash(xxh64(text))) return std::nullopt;
  const auto key = take_line(text);
  const auto name = take_line(text), target = take_line(text), compiler = take_line(text);
  const auto digits = take_line(text);
  if (!digits) return std::nullopt;
  const auto log = length_within(*digits, text);
  if (!log) return std::nullopt;
  return StoredKernel{std::string(*key),
                      std::string(*name),
                      std::string(*target),
                      std::string(*compiler),
                      std::string(text.substr(0, *log)),
                      std::string(text.substr(*log))};
}

}  // namespace tilevm::backend
