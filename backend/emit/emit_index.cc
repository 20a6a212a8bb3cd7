#include "backend/emit/emit_index.h"

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

using isa::RegisterLayout;
using Terms = std::vector<RegisterLayout::Term>;

/// One digit of x (which is less than `bound`) times its stride: "tv::thread() / 4 % 8 * 2".
std::string digit(std::string_view x, std::int64_t bound, const RegisterLayout::Term& term) {
  std::string text(x);
  if (term.divisor != 1) text += fmt::format(" / {}", term.divisor);
  if (term.divisor * term.size < bound) text += fmt::format(" % {}", term.size);
  if (term.stride != 1) text += fmt::format(" * {}", term.stride);
  return text;
}

}  // namespace

/// The share of a tile dimension's index that the digits of x give, or "".
std::string share(std::string_view x, std::int64_t bound, const Terms& terms, int dim) {
  std::string text;
  for (const RegisterLayout::Term& term : terms) {
    if (term.dim == dim) text += (text.empty() ? "" : " + ") + digit(x, bound, term);
  }
  return text;
}

std::string first_holder(std::string_view thread, const isa::RegisterLayout& layout) {
  std::string text;
  for (const auto& term : layout.replica_terms()) {
    text += fmt::format("{}{} / {} % {} == 0", text.empty() ? "" : " && ", thread, term.divisor,
                        term.size);
  }
  return text;
}

std::string sum(const std::string& a, const std::string& b) {
  if (a.empty() || a == "0") return b.empty() ? "0" : b;
  return b.empty() ? a : fmt::format("{} + {}", a, b);
}

/// The offset in elements of the element at i0_, i1_, ... in a memory layout.
std::string layout_offset(const isa::MemoryLayout& layout, std::string_view letter) {
  std::string text;
  std::size_t mode = layout.mode_shape().size();
  for (int d = layout.rank() - 1; d >= 0; --d) {
    const std::int64_t extent = layout.shape()[static_cast<std::size_t>(d)];
    for (std::int64_t divisor = 1; divisor < extent;) {
      --mode;
      const std::int64_t size = layout.mode_shape()[mode];
      const std::int64_t stride = layout.mode_strides()[mode];
      if (stride != 0) {
        text += (text.empty() ? "" : " + ") +
                digit(fmt::format("{}{}_", letter, d), extent, {d, divisor, size, stride});
      }
      divisor *= size;
    }
  }
  if (text.empty()) return "0";  // which every swizzle leaves as it is
  if (const auto& s = layout.swizzle()) {
    text = fmt::format("tv::swizzle<{}, {}, {}>({})", s->base, s->bits, s->shift, text);
  }
  return text;
}

}  // namespace tilevm::backend
