#include "vm/data/safetensors_header.h"

#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>

namespace tilevm::vm {
namespace {

namespace json = boost::json;

constexpr std::size_t most_rank = 32, most_depth = 32;

/// What the parser calls with what it reads. Only keys matter: readers differ in which of two equal
/// keys they take, so a file with both means two things.
class KeyCheck {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;
  using Code = json::error_code;
  using Text = json::string_view;

  /// The key that occurs twice, if one does.
  [[nodiscard]] const std::optional<std::string>& repeated() const { return repeated_; }

  bool on_object_begin(Code&) {
    known_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, Code&) {
    known_.pop_back();
    return true;
  }
  bool on_key_part(Text part, std::size_t, Code&) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(Text part, std::size_t, Code& error) {
    key_.append(part.data(), part.size());
    if (known_.back().insert(key_).second) {
      key_.clear();
      return true;
    }
    repeated_ = key_;
    error = json::error::syntax;
    return false;
  }
  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t, Code&) { return true; }
  bool on_string_part(Text, std::size_t, Code&) { return true; }
  bool on_string(Text, std::size_t, Code&) { return true; }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(std::int64_t, Text, Code&) { return true; }
  bool on_uint64(std::uint64_t, Text, Code&) { return true; }
  bool on_double(double, Text, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

 private:
  std::vector<std::set<std::string>> known_;  ///< the keys of each object that is open
  std::string key_;
  std::optional<std::string> repeated_;
};

Error fault(std::string what) { return {ErrorKind::program, std::move(what)}; }

/// Refuses what is not JSON, and a key that occurs twice in an object.
Status check_text(std::string_view text) {
  json::parse_options options;
  options.max_depth = most_depth;
  json::basic_parser<KeyCheck> parser(options);
  json::error_code error;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  const auto& repeated = parser.handler().repeated();
  if (repeated) return fault(fmt::format("the key `{}` occurs twice, at byte {}", *repeated, read));
  if (error) return fault(fmt::format("it is not JSON: {}, at byte {}", error.message(), read));
  const std::size_t rest = text.find_first_not_of(" \t\r\n", read);
  if (rest == std::string_view::npos) return Done{};
  return fault(fmt::format("something follows the object, at byte {}", rest));
}

/// The natural numbers of an array, each at most `most`; nothing if it is another value.
std::optional<std::vector<std::uint64_t>> numbers_of(const json::value* value, std::uint64_t most) {
  if (value == nullptr || !value->is_array()) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const json::value& each : value->get_array()) {
    json::error_code error;
    const auto number = each.to_number<std::uint64_t>(error);
    if (error || each.is_double() || number > most) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

Result<HeaderEntry> entry_of(std::string_view name, const json::value& value) {
  const json::object* const members = value.if_object();
  if (members == nullptr) return fault(fmt::format("`{}` is not an object", name));
  const json::value* const type = members->if_contains("dtype");
  const auto shape = numbers_of(members->if_contains("shape"),
                                std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  const auto offsets =
      numbers_of(members->if_contains("data_offsets"), std::numeric_limits<std::uint64_t>::max());
  if (type == nullptr || !type->is_string() || !shape || !offsets || offsets->size() != 2) {
    return fault(fmt::format(
        "`{}` needs a `dtype`, a `shape` of natural numbers and two `data_offsets`", name));
  }
  if (shape->size() > most_rank) return fault(fmt::format("`{}` has too many dimensions", name));
  if (offsets->back() < offsets->front()) {
    return fault(fmt::format("the `data_offsets` of `{}` end before they begin", name));
  }
  HeaderEntry entry;
  entry.name = name;
  entry.type = std::string_view(type->get_string());
  entry.shape.assign(shape->begin(), shape->end());
  entry.begin = offsets->front();
  entry.end = offsets->back();
  return entry;
}

}  // namespace

Result<std::vector<HeaderEntry>> parse_safetensors_header(std::string_view text) {
  if (Status checked = check_text(text); !checked) return checked.error();
  json::error_code error;
  const json::value header = json::parse({text.data(), text.size()}, error);
  if (error || !header.is_object()) return fault("it is not an object");
  std::vector<HeaderEntry> entries;
  for (const json::key_value_pair& each : header.get_object()) {
    const std::string_view name = each.key();
    if (name == "__metadata__") continue;
    Result<HeaderEntry> entry = entry_of(name, each.value());
    if (!entry) return entry.error();
    entries.push_back(std::move(*entry));
  }
  return entries;
}

}  // namespace tilevm::vm
