#include "vm/data/npy_header.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <optional>

namespace tilevm::vm {
namespace {

constexpr std::size_t max_npy_rank = 32;
constexpr std::int64_t max_extent = std::int64_t{1} << 48;

/// A reader of the one kind of Python literal that occurs. Every function leaves `failure_` set and
/// returns an empty value once something is wrong.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Result<NpyHeader> read() {
    expect('{');
    while (ok() && !accept('}')) {
      read_entry();
      if (!accept(',') && ok() && peek() != '}') fail("a comma or a closing brace is missing");
    }
    skip_space();
    if (ok() && at_ < text_.size()) fail("text follows the dictionary");
    if (ok()) check_keys();
    if (!ok()) return Error{ErrorKind::program, failure_};
    return header_;
  }

 private:
  void read_entry() {
    const std::string key = read_string();
    expect(':');
    if (!ok()) return;
    if (key == "descr") {
      once(has_descr_, key);
      read_descr();
    } else if (key == "fortran_order") {
      once(has_order_, key);
      header_.fortran_order = read_bool();
    } else if (key == "shape") {
      once(has_shape_, key);
      read_shape();
    } else {
      fail("it has a key that is none of `descr`, `fortran_order` and `shape`");
    }
  }

  void once(bool& seen, const std::string& key) {
    if (seen) fail(fmt::format("the key `{}` occurs twice", key));
    seen = true;
  }

  void check_keys() {
    if (!has_descr_) fail("the key `descr` is missing");
    if (!has_order_) fail("the key `fortran_order` is missing");
    if (!has_shape_) fail("the key `shape` is missing");
  }

  void read_descr() {
    if (peek() == '[') {
      fail("it holds records of several fields; save each field as an array of its own");
    } else {
      header_.descr = read_string();
    }
  }

  /// Type strings and keys are short and without escapes.
  std::string read_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      fail("a string is missing");
      return {};
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos || end - at_ > 64) {
      fail("a string does not end");
      return {};
    }
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool read_bool() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("`fortran_order` is neither True nor False");
    return false;
  }

  void read_shape() {
    expect('(');
    while (ok() && !accept(')')) {
      header_.shape.push_back(read_extent());
      if (header_.shape.size() > max_npy_rank)
        fail(fmt::format("it has more than {} dimensions", max_npy_rank));
      if (!accept(',') && ok() && peek() != ')') fail("the shape does not end");
    }
  }

  std::int64_t read_extent() {
    if (std::isdigit(static_cast<unsigned char>(peek())) == 0) {
      fail("an extent of the shape is not a number");
      return 0;
    }
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > max_extent) {
        fail("an extent of the shape is too large");
        return 0;
      }
    }
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote (3L, 4L)
    return value;
  }

  /// The next character that is not a space, or NUL at the end.
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (!ok() || peek() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("`{}` is missing", c));
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  [[nodiscard]] bool ok() const { return failure_.empty(); }

  void fail(std::string message) {
    if (ok()) failure_ = std::move(message);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string failure_;
  NpyHeader header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) { return HeaderReader(text).read(); }

}  // namespace tilevm::vm
