#include "vm/diff/permutation.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "vm/data/compare.h"

namespace tilevm::vm {

namespace {

using ElementCodes = std::vector<std::uint64_t>;

/// Rules of one kind that are tried for one pair of tensors.
constexpr std::size_t max_tried_rules = 64;

ElementCodes codes_of(const HostTensor& tensor) {
  ElementCodes codes(tensor.size());
  for (std::size_t k = 0; k < codes.size(); ++k) codes[k] = significant_code(tensor, k);
  return codes;
}

/// Whether b[k] = a[place(k)] for every k.
template <class Place>
bool follows(const ElementCodes& a, const ElementCodes& b, Place&& place) {
  for (std::size_t k = 0; k < b.size(); ++k) {
    if (b[k] != a[place(k)]) return false;
  }
  return true;
}

/// One dimension of a tensor in row-major order.
struct Dimension {
  std::size_t extent, stride;

  [[nodiscard]] std::size_t index(std::size_t k) const { return k / stride % extent; }
  /// The place of element k when its index in this dimension is another.
  [[nodiscard]] std::size_t with(std::size_t k, std::size_t index_there) const {
    return k - index(k) * stride + index_there * stride;
  }
};

std::vector<Dimension> dimensions_of(const isa::Shape& shape) {
  std::vector<Dimension> dimensions(shape.size());
  std::size_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    dimensions[d] = {static_cast<std::size_t>(shape[d]), stride};
    stride *= dimensions[d].extent;
  }
  return dimensions;
}

/// Every index in the dimension is moved by one distance, round its end.
std::optional<std::string> find_shift(const ElementCodes& a, const ElementCodes& b,
                                      const Dimension& dimension, std::size_t number) {
  std::size_t tried = 0;
  for (std::size_t by = 1; by < dimension.extent && tried < max_tried_rules; ++by) {
    if (b[0] != a[by * dimension.stride]) continue;
    ++tried;
    const auto place = [&](std::size_t k) {
      return dimension.with(k, (dimension.index(k) + by) % dimension.extent);
    };
    if (!follows(a, b, place)) continue;
    const bool forward = by <= dimension.extent / 2;
    return fmt::format("shifted by {} along dimension {}", forward ? by : dimension.extent - by,
                       number) +
           (forward ? " towards lower indices" : " towards higher indices");
  }
  return std::nullopt;
}

std::optional<std::string> find_reversal(const ElementCodes& a, const ElementCodes& b,
                                         const Dimension& dimension, std::size_t number) {
  const auto place = [&](std::size_t k) {
    return dimension.with(k, dimension.extent - 1 - dimension.index(k));
  };
  if (dimension.extent < 2 || !follows(a, b, place)) return std::nullopt;
  return fmt::format("reversed along dimension {}", number);
}

/// Dimensions of one extent trade places.
std::optional<std::string> find_exchange(const ElementCodes& a, const ElementCodes& b,
                                         const std::vector<Dimension>& dimensions) {
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    for (std::size_t j = i + 1; j < dimensions.size(); ++j) {
      const Dimension &first = dimensions[i], &second = dimensions[j];
      if (first.extent != second.extent || first.extent < 2) continue;
      const auto place = [&](std::size_t k) {
        return second.with(first.with(k, second.index(k)), first.index(k));
      };
      if (follows(a, b, place)) {
        return fmt::format("transposed: dimensions {} and {} are exchanged", i, j);
      }
    }
  }
  return std::nullopt;
}

/// The last two dimensions are read as columns where they were written as rows, or the reverse.
std::optional<std::string> find_other_order(const ElementCodes& a, const ElementCodes& b,
                                            const std::vector<Dimension>& dimensions) {
  if (dimensions.size() < 2) return std::nullopt;
  const std::size_t rows = dimensions[dimensions.size() - 2].extent;
  const std::size_t columns = dimensions.back().extent;
  for (const bool by_columns : {true, false}) {
    const std::size_t outer = by_columns ? rows : columns, inner = by_columns ? columns : rows;
    const auto place = [&](std::size_t k) {
      const std::size_t matrix = rows * columns, in_matrix = k % matrix;
      return k - in_matrix + in_matrix % outer * inner + in_matrix / outer;
    };
    if (follows(a, b, place)) return "its rows lie in memory as columns do, or the reverse";
  }
  return std::nullopt;
}

/// The number of every element is combined with one number by XOR, as a swizzle does.
std::optional<std::string> find_flip(const ElementCodes& a, const ElementCodes& b) {
  if ((a.size() & (a.size() - 1)) != 0) return std::nullopt;
  std::size_t tried = 0;
  for (std::size_t bits = 1; bits < a.size() && tried < max_tried_rules; ++bits) {
    if (b[0] != a[bits]) continue;
    ++tried;
    if (follows(a, b, [&](std::size_t k) { return k ^ bits; })) {
      return fmt::format("element numbers are combined with {} by XOR", bits);
    }
  }
  return std::nullopt;
}

std::string find_rule(const ElementCodes& a, const ElementCodes& b, const isa::Shape& shape) {
  const std::vector<Dimension> dimensions = dimensions_of(shape);
  if (auto rule = find_exchange(a, b, dimensions)) return *rule;
  for (std::size_t d = dimensions.size(); d-- > 0;) {
    if (auto rule = find_shift(a, b, dimensions[d], d)) return *rule;
    if (auto rule = find_reversal(a, b, dimensions[d], d)) return *rule;
  }
  if (auto rule = find_other_order(a, b, dimensions)) return *rule;
  if (auto rule = find_flip(a, b)) return *rule;
  return {};
}

}  // namespace

std::optional<std::string> find_permutation(const HostTensor& a, const HostTensor& b) {
  if (a.size() != b.size() || a.size() > max_permuted_elements) return std::nullopt;
  const ElementCodes from = codes_of(a), to = codes_of(b);
  if (from == to) return std::nullopt;
  ElementCodes sorted_from = from, sorted_to = to;
  std::sort(sorted_from.begin(), sorted_from.end());
  std::sort(sorted_to.begin(), sorted_to.end());
  if (sorted_from != sorted_to) return std::nullopt;
  return find_rule(from, to, a.shape);
}

}  // namespace tilevm::vm
