#include "vm/debug/expression_text.h"

#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilevm::vm {

namespace {

using sim::debug::Expression;
using sim::debug::ExpressionPtr;
using sim::debug::Property;

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Operator {
  std::string_view text;
  isa::ScalarBinary op;
  int rank;
};
/// From loose to tight; longer ones before those that they begin with.
constexpr std::array<Operator, 20> operators{{
    {"||", isa::ScalarBinary::logical_or, 1},  {"or", isa::ScalarBinary::logical_or, 1},
    {"&&", isa::ScalarBinary::logical_and, 2}, {"and", isa::ScalarBinary::logical_and, 2},
    {"==", isa::ScalarBinary::eq, 3},          {"!=", isa::ScalarBinary::ne, 3},
    {"<=", isa::ScalarBinary::le, 3},          {">=", isa::ScalarBinary::ge, 3},
    {"<<", isa::ScalarBinary::shl, 7},         {">>", isa::ScalarBinary::shr, 7},
    {"<", isa::ScalarBinary::lt, 3},           {">", isa::ScalarBinary::gt, 3},
    {"|", isa::ScalarBinary::bit_or, 4},       {"^", isa::ScalarBinary::bit_xor, 5},
    {"&", isa::ScalarBinary::bit_and, 6},      {"+", isa::ScalarBinary::add, 8},
    {"-", isa::ScalarBinary::sub, 8},          {"*", isa::ScalarBinary::mul, 9},
    {"/", isa::ScalarBinary::div, 9},          {"%", isa::ScalarBinary::mod, 9},
}};

/// A fault in the text; caught in parse_debug_expression.
struct Fault {
  std::string message;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  ExpressionPtr parse() {
    const ExpressionPtr result = binary(1);
    if (peek() != '\0') fail("an operator or the end");
    Expression whole = *result;
    whole.text = text_;
    return std::make_shared<const Expression>(std::move(whole));
  }

 private:
  [[noreturn]] void fail(std::string_view wanted) const {
    throw Fault{at_ < text_.size()
                    ? fmt::format("`{}`: {} was expected at `{}`", shortened(text_), wanted,
                                  shortened(text_.substr(at_)))
                    : fmt::format("`{}`: {} is missing at the end", shortened(text_), wanted)};
  }

  void deeper() {
    if (++depth_ <= sim::debug::max_expression_depth) return;
    throw Fault{
        fmt::format("an expression is nested at most {} deep", sim::debug::max_expression_depth)};
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(fmt::format("`{}`", c));
  }

  [[nodiscard]] const Operator* find_operator() {
    peek();
    const std::string_view rest = text_.substr(at_);
    for (const Operator& candidate : operators) {
      if (!rest.starts_with(candidate.text)) continue;
      const bool word = is_name(candidate.text.front());
      if (word && rest.size() > candidate.text.size() && is_name(rest[candidate.text.size()]))
        continue;
      return &candidate;
    }
    return nullptr;
  }

  /// A long sum is as deep as it has terms, so the number of nodes is limited beside the nesting.
  ExpressionPtr make(auto node) {
    if (++nodes_ > sim::debug::max_expression_nodes) {
      throw Fault{fmt::format("an expression has at most {} operators, names and numbers",
                              sim::debug::max_expression_nodes)};
    }
    return std::make_shared<const Expression>(Expression{std::move(node)});
  }
  /// A part that has a value of its own to show: a name, an element, a count.
  ExpressionPtr make_named(std::size_t begin, auto node) {
    Expression named = *make(std::move(node));
    named.text = trim(text_.substr(begin, at_ - begin));
    return std::make_shared<const Expression>(std::move(named));
  }

  ExpressionPtr binary(int rank) {
    deeper();
    ExpressionPtr left = unary();
    while (const Operator* found = find_operator()) {
      if (found->rank < rank) break;
      at_ += found->text.size();
      ExpressionPtr right = binary(found->rank + 1);
      left = make(Expression::Binary{found->op, left, right});
    }
    --depth_;
    return left;
  }

  ExpressionPtr unary() {
    const char c = peek();
    const std::string_view rest = text_.substr(at_);
    const bool word = rest.starts_with("not") && (rest.size() == 3 || !is_name(rest[3]));
    if (c != '-' && c != '!' && c != '~' && c != '+' && !word) return primary();
    deeper();
    at_ += word ? 3 : 1;
    ExpressionPtr operand = unary();
    --depth_;
    if (c == '+') return operand;
    const isa::ScalarUnary op = c == '-'   ? isa::ScalarUnary::negate
                                : c == '~' ? isa::ScalarUnary::bit_not
                                           : isa::ScalarUnary::logical_not;
    return make(Expression::Unary{op, operand});
  }

  ExpressionPtr primary() {
    const char c = peek();
    const std::size_t begin = at_;
    if (take('(')) {
      ExpressionPtr inner = binary(1);
      need(')');
      return inner;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number();
    if (!is_name_start(c)) fail("a number, a name or `(`");
    const std::string name = take_name();
    if (take('(')) return count(begin, name);
    if (take('[')) {
      std::vector<ExpressionPtr> index = items(']');
      return make_named(begin, Expression::Item{name, std::move(index)});
    }
    if (name == "true") return make(sim::debug::Value(std::int64_t{1}));
    if (name == "false") return make(sim::debug::Value(std::int64_t{0}));
    using Double = std::numeric_limits<double>;
    if (name == "nan") return make(sim::debug::Value(Double::quiet_NaN()));
    if (name == "inf") return make(sim::debug::Value(Double::infinity()));
    return make_named(begin, Expression::Name{name});
  }

  std::string take_name() {
    peek();
    const std::size_t begin = at_++;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::vector<ExpressionPtr> items(char close) {
    std::vector<ExpressionPtr> found;
    do {
      found.push_back(binary(1));
    } while (take(','));
    need(close);
    return found;
  }

  ExpressionPtr count(std::size_t begin, const std::string& name) {
    Property property{};
    if (name == "nan") {
      property = Property::nan;
    } else if (name == "inf") {
      property = Property::inf;
    } else if (name == "undefined") {
      property = Property::undefined;
    } else {
      throw Fault{fmt::format("there is no function `{}`; there are nan, inf and undefined", name)};
    }
    const char c = peek();
    if (!is_name_start(c)) fail("the name of a tensor");
    std::string tensor = take_name();
    std::vector<ExpressionPtr> index;
    if (take('[')) index = items(']');
    need(')');
    return make_named(begin, Expression::Count{property, std::move(tensor), std::move(index)});
  }

  ExpressionPtr number() {
    const bool hex = text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X");
    std::uint64_t integer = 0;
    const char* const first = text_.data() + at_ + (hex ? 2 : 0);
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(first, end, integer, hex ? 16 : 10);
    double real = 0;
    const auto [real_stop, real_error] =
        hex ? std::from_chars_result{stop, std::errc::invalid_argument}
            : std::from_chars(first, end, real);
    if (real_error == std::errc{} && (error != std::errc{} || real_stop > stop)) {
      at_ = static_cast<std::size_t>(real_stop - text_.data());
      return make(sim::debug::Value(real));
    }
    if (error != std::errc{}) fail("a number of at most 64 bits");
    at_ = static_cast<std::size_t>(stop - text_.data());
    return make(sim::debug::Value(static_cast<std::int64_t>(integer)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0, nodes_ = 0;
};

/// One entry of a selection's brackets.
std::optional<sim::debug::Range> parse_range(std::string_view text) {
  sim::debug::Range range;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    range.begin = parse_integer(text);
    range.is_index = true;
    return range.begin ? std::optional(range) : std::nullopt;
  }
  const std::string_view before = trim(text.substr(0, colon)), after = trim(text.substr(colon + 1));
  if (!before.empty() && !(range.begin = parse_integer(before))) return std::nullopt;
  if (!after.empty() && !(range.end = parse_integer(after))) return std::nullopt;
  return range;
}

}  // namespace

std::string shortened(std::string_view text) {
  constexpr std::size_t most = 80;
  return text.size() <= most ? std::string(text) : fmt::format("{}...", text.substr(0, most));
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return text;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = trim(text);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || stop != text.data() + text.size() || value >> 63 != 0) {
    return std::nullopt;
  }
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::optional<sim::debug::Selection> parse_selection(std::string_view text) {
  text = trim(text);
  sim::debug::Selection selection;
  selection.text = text;
  std::size_t end = 0;
  while (end < text.size() && (is_name(text[end]) || (end == 0 && text[end] == '$'))) ++end;
  if (end == 0 || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return std::nullopt;
  selection.tensor = text.substr(0, end);
  std::string_view rest = trim(text.substr(end));
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    std::string_view inside = rest.substr(1, close - 1);
    while (true) {
      const std::size_t comma = inside.find(',');
      const auto range = parse_range(trim(inside.substr(0, comma)));
      if (!range) return std::nullopt;
      selection.ranges.push_back(*range);
      if (comma == std::string_view::npos) break;
      inside.remove_prefix(comma + 1);
    }
    rest = trim(rest.substr(close + 1));
  }
  if (rest.starts_with('@')) {
    selection.thread = parse_integer(rest.substr(1));
    if (!selection.thread) return std::nullopt;
    rest = {};
  }
  return rest.empty() ? std::optional(selection) : std::nullopt;
}

Result<ExpressionPtr> parse_debug_expression(std::string_view text) {
  if (text.size() > max_line_bytes) {
    return Error{ErrorKind::usage, fmt::format("an expression of {} bytes; at most {} are read",
                                               text.size(), max_line_bytes)};
  }
  try {
    return Parser(trim(text)).parse();
  } catch (const Fault& fault) {
    return Error{ErrorKind::usage, fault.message};
  }
}

}  // namespace tilevm::vm
