// Help for the tests of layouts: a reader of their text, an oracle that knows only the definitions
// of the paper's section 4, and random layouts.
#pragma once

#include <cctype>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "isa/layout/layout_ops.h"
#include "isa/layout/register_layout.h"

namespace tilevm::isa::testing {

/// A layout as its function, written out: at[t * locals + i] is the element at (t, i).
struct Table {
  Shape shape;
  std::int64_t threads = 1, locals = 1;
  std::vector<Index> at;
  friend bool operator==(const Table&, const Table&) = default;
  friend auto operator<=>(const Table&, const Table&) = default;
};

/// One factor of a product as it is written.
struct Factor {
  std::string name;
  std::vector<std::int64_t> arguments;
};

/// Reads the numbers, names and brackets of a layout's text.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return next_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[next_]; }
  void expect(char c) {
    if (peek() != c) throw std::runtime_error("not a layout: " + std::string(text_));
    ++next_;
    while (peek() == ' ') ++next_;
  }
  std::string name() {
    const std::size_t begin = next_;
    while (std::isalpha(static_cast<unsigned char>(peek())) != 0 || peek() == '_') ++next_;
    return std::string(text_.substr(begin, next_ - begin));
  }
  /// "3, 4" up to the closing bracket.
  std::vector<std::int64_t> numbers(char open, char close) {
    std::vector<std::int64_t> numbers;
    expect(open);
    while (peek() != close) {
      std::size_t length = 0;
      numbers.push_back(std::stoll(std::string(text_.substr(next_)), &length));
      next_ += length;
      if (peek() == ',') expect(',');
    }
    expect(close);
    return numbers;
  }

 private:
  std::string_view text_;
  std::size_t next_ = 0;
};

/// The factors of a product.
inline std::vector<Factor> read_factors(std::string_view text) {
  TextReader reader(text);
  std::vector<Factor> factors;
  do {
    if (!factors.empty()) reader.expect('.');
    std::string name = reader.name();
    factors.push_back({name, reader.numbers('(', ')')});
  } while (!reader.at_end());
  return factors;
}

/// The value of a Result; throws its message.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

inline RegisterLayout read_unified(TextReader reader) {
  const auto to_int = [](const std::vector<std::int64_t>& list) {
    return std::vector<int>(list.begin(), list.end());
  };
  reader.name();
  reader.expect('(');
  const auto shape = reader.numbers('[', ']');
  reader.expect(',');
  const auto modes = reader.numbers('[', ']');
  reader.expect(',');
  const auto spatial_modes = reader.numbers('[', ']');
  reader.expect(',');
  const auto local_modes = reader.numbers('[', ']');
  return must(RegisterLayout::make(shape, modes, to_int(spatial_modes), to_int(local_modes)));
}

inline RegisterLayout make_factor(const Factor& factor) {
  if (factor.name == "local") return must(local(factor.arguments));
  if (factor.name == "spatial") return must(spatial(factor.arguments));
  if (factor.name == "column_local") return must(column_local(factor.arguments));
  if (factor.name == "column_spatial") return must(column_spatial(factor.arguments));
  if (factor.name == "replicated") return must(replicated(factor.arguments.at(0)));
  throw std::runtime_error("not a factor: " + factor.name);
}

/// Reads what to_string writes.
inline RegisterLayout read_layout(std::string_view text) {
  if (text.starts_with("layout(")) return read_unified(TextReader(text));
  RegisterLayout product;
  for (const Factor& factor : read_factors(text)) {
    product = must(compose(product, make_factor(factor)));
  }
  return product;
}

/// The function of a layout, by its own look-up.
inline Table table_of(const RegisterLayout& layout) {
  Table table{layout.shape(), layout.num_threads(), layout.num_locals(), {}};
  for (std::int64_t t = 0; t < table.threads; ++t) {
    for (std::int64_t i = 0; i < table.locals; ++i) table.at.push_back(layout.element(t, i));
  }
  return table;
}

/// The paper's Kronecker product, formula by formula.
inline Table kronecker(Table f, Table g) {
  const auto pad = [](Table& table, std::size_t rank) {
    const std::size_t missing = rank - std::min(rank, table.shape.size());
    table.shape.insert(table.shape.begin(), missing, 1);
    for (Index& index : table.at) index.insert(index.begin(), missing, 0);
  };
  pad(f, g.shape.size());
  pad(g, f.shape.size());
  Table h{f.shape, f.threads * g.threads, f.locals * g.locals, {}};
  for (std::size_t d = 0; d < h.shape.size(); ++d) h.shape[d] *= g.shape[d];
  for (std::int64_t t = 0; t < h.threads; ++t) {
    for (std::int64_t i = 0; i < h.locals; ++i) {
      Index index = f.at[static_cast<std::size_t>(t / g.threads * f.locals + i / g.locals)];
      const Index& inner = g.at[static_cast<std::size_t>(t % g.threads * g.locals + i % g.locals)];
      for (std::size_t d = 0; d < index.size(); ++d) index[d] = index[d] * g.shape[d] + inner[d];
      h.at.push_back(index);
    }
  }
  return h;
}

/// All indices of a shape, the last dimension fastest, or the first.
inline std::vector<Index> indices_of(const Shape& shape, bool column = false) {
  std::vector<Index> all;
  const Shape reversed(shape.rbegin(), shape.rend());
  for (std::int64_t x = 0; x < element_count(shape); ++x) {
    const Index index = unravel(x, column ? reversed : shape);
    all.push_back(column ? Index(index.rbegin(), index.rend()) : index);
  }
  return all;
}

/// The function of a product, from the definitions of its factors only.
inline Table oracle(std::string_view text) {
  Table product{{}, 1, 1, {{}}};
  for (const auto& [name, arguments] : read_factors(text)) {
    Table factor{arguments, 1, 1, indices_of(arguments, name.starts_with("column_"))};
    if (name == "replicated") {
      factor = {{}, arguments.at(0), 1, std::vector<Index>(std::size_t(arguments.at(0)))};
    } else if (name.ends_with("local")) {
      factor.locals = element_count(arguments);
    } else {
      factor.threads = element_count(arguments);
    }
    product = kronecker(product, factor);
  }
  return product;
}

/// "[16,8] | [2,8,4,2] | [1,2] | [0,3] | 32 x 4": the canonical attributes.
inline std::string attributes(const RegisterLayout& l) {
  const auto list = [](const auto& values) {
    std::string text;
    for (const auto value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
    return "[" + text + "]";
  };
  return list(l.shape()) + " | " + list(l.mode_shape()) + " | " + list(l.spatial_modes()) + " | " +
         list(l.local_modes()) + " | " + std::to_string(l.num_threads()) + " x " +
         std::to_string(l.num_locals());
}

inline std::string attributes(std::string_view text) { return attributes(read_layout(text)); }

}  // namespace tilevm::isa::testing
