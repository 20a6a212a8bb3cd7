#include "vm/data/safetensors_header.h"

#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "frontend/syntax/utf8.h"

namespace tilevm::vm {
namespace {

constexpr std::size_t most_rank = 32;
constexpr int most_depth = 32;

void append_utf8(std::uint32_t point, std::string& text) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | ((point >> shift) & 0x3fU));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xc0U | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xe0U | (point >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0U | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// Reads from the front. After a fault nothing is left to read, so every loop ends.
class EntryReader {
 public:
  explicit EntryReader(std::string_view text) : text_(text), left_(text) {}

  Result<std::vector<HeaderEntry>> read() {
    std::vector<HeaderEntry> entries;
    members([&](std::string name) {
      if (name == "__metadata__") return skip_value(1);
      entries.push_back(entry(std::move(name)));
    });
    next();
    if (!left_.empty()) fail("something follows the object");
    if (!fault_.empty()) return Error{ErrorKind::program, fault_};
    return entries;
  }

 private:
  HeaderEntry entry(std::string name) {
    HeaderEntry entry;
    std::vector<std::uint64_t> places;
    bool has_shape = false;
    members([&](const std::string& key) {
      if (key == "dtype") {
        entry.type = string();
      } else if (key == "shape") {
        has_shape = true;
        items([&] {
          entry.shape.push_back(
              static_cast<std::int64_t>(number(std::numeric_limits<std::int64_t>::max())));
          if (entry.shape.size() > most_rank) fail("too many dimensions");
        });
      } else if (key == "data_offsets") {
        items([&] {
          places.push_back(number(std::numeric_limits<std::uint64_t>::max()));
          if (places.size() > 2) fail("`data_offsets` are not two numbers");
        });
      } else {
        skip_value(1);
      }
    });
    if (entry.type.empty() || !has_shape || places.size() != 2) {
      fail(fmt::format("`{}` needs `dtype`, `shape` and two `data_offsets`", name));
      return entry;
    }
    if (places[1] < places[0]) fail("`data_offsets` end before they begin");
    entry.name = std::move(name);
    entry.begin = places[0];
    entry.end = places[1];
    return entry;
  }

  void fail(std::string what) {
    if (fault_.empty()) {
      fault_ = fmt::format("{}, at byte {}", std::move(what), text_.size() - left_.size());
    }
    left_ = {};
  }

  /// The next byte that is not a space; 0 at the end.
  char next() {
    const std::size_t begin = left_.find_first_not_of(" \t\r\n");
    left_.remove_prefix(begin == std::string_view::npos ? left_.size() : begin);
    return left_.empty() ? '\0' : left_.front();
  }

  bool take(char wanted) {
    if (next() != wanted || left_.empty()) return false;
    left_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(fmt::format("`{}` is expected", wanted));
  }

  template <class F>
  void items(F&& f) {
    expect('[');
    if (take(']')) return;
    do f();
    while (take(','));
    expect(']');
  }

  template <class F>
  void members(F&& f) {
    expect('{');
    if (take('}')) return;
    std::set<std::string> known;
    do {
      std::string name = string();
      // Readers differ in which of two they take, so that a file with both means two things.
      if (!known.insert(name).second) fail(fmt::format("the key `{}` occurs twice", name));
      expect(':');
      f(std::move(name));
    } while (take(','));
    expect('}');
  }

  std::uint64_t number(std::uint64_t most) {
    next();
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    if (error != std::errc{} || value > most) {
      fail("a natural number is expected");
      return 0;
    }
    left_.remove_prefix(static_cast<std::size_t>(stop - left_.data()));
    return value;
  }

  std::string string() {
    std::string text;
    expect('"');
    while (!left_.empty() && left_.front() != '"') {
      const char c = left_.front();
      if (static_cast<unsigned char>(c) < 0x20) {
        fail("a control character in a string");
      } else if (c == '\\') {
        escape(text);
      } else if (const auto point = frontend::decode_utf8(left_)) {
        text += left_.substr(0, point->bytes);
        left_.remove_prefix(point->bytes);
      } else {
        fail("bytes that are not UTF-8 in a string");
      }
    }
    if (left_.empty()) {
      fail("a string does not end");
    } else {
      left_.remove_prefix(1);
    }
    return text;
  }

  void escape(std::string& text) {
    constexpr std::string_view names = "\"\\/bfnrt", bytes = "\"\\/\b\f\n\r\t";
    const char name = left_.size() > 1 ? left_[1] : '\0';
    if (name == 'u') return append_utf8(code_point(), text);
    const std::size_t at = names.find(name);
    if (at == std::string_view::npos) return fail("an escape that JSON does not have");
    text += bytes[at];
    left_.remove_prefix(2);
  }

  /// What one or two `\uXXXX` mean.
  std::uint32_t code_point() {
    const std::uint32_t first = code_unit();
    if (first < 0xd800 || first > 0xdfff) return first;
    const std::uint32_t second = code_unit();
    if (first > 0xdbff || second < 0xdc00 || second > 0xdfff) {
      fail("half a character");
      return 0;
    }
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  std::uint32_t code_unit() {
    std::uint32_t unit = 0;
    if (left_.size() >= 6 && left_.starts_with("\\u")) {
      const char* const end = left_.data() + 6;
      const auto [stop, error] = std::from_chars(left_.data() + 2, end, unit, 16);
      if (error == std::errc{} && stop == end) {
        left_.remove_prefix(6);
        return unit;
      }
    }
    fail("`\\u` and four digits are expected");
    return 0;
  }

  void skip_value(int depth) {
    if (depth > most_depth) return fail("it nests too deeply");
    switch (next()) {
      case '{':
        return members([&](const std::string&) { skip_value(depth + 1); });
      case '[':
        return items([&] { skip_value(depth + 1); });
      case '"':
        static_cast<void>(string());
        return;
      default:
        return skip_word();
    }
  }

  /// A number, or `true`, `false` or `null`.
  void skip_word() {
    const std::string_view word =
        left_.substr(0, left_.find_first_not_of("+-.0123456789Eabcdefghijklmnopqrstuvwxyz"));
    double number = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool is_number = error == std::errc{} && stop == word.data() + word.size() &&
                           (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
    if (!is_number && word != "true" && word != "false" && word != "null") {
      return fail("a value is expected");
    }
    left_.remove_prefix(word.size());
  }

  std::string_view text_, left_;
  std::string fault_;
};

}  // namespace

Result<std::vector<HeaderEntry>> parse_safetensors_header(std::string_view text) {
  return EntryReader(text).read();
}

}  // namespace tilevm::vm
