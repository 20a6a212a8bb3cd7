#include "isa/layout/layout_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "isa/base/check.h"
#include "isa/layout/digits.h"

namespace tilevm::isa {
namespace {

using Digit = RegisterLayout::Digit;

/// The digits with dimensions counted `by` later; replicas stay.
Digits shifted(Digits digits, int by) {
  for (auto& digit : digits) {
    if (digit.dim >= 0) digit.dim += by;
  }
  return digits;
}

/// The digits with each stride multiplied by its dimension's factor.
Digits scaled(Digits digits, const Shape& factors) {
  for (auto& digit : digits) {
    if (digit.dim >= 0) digit.stride *= factors[static_cast<std::size_t>(digit.dim)];
  }
  return digits;
}

/// The digits with strides divided; nothing where one does not divide.
std::optional<Digits> scaled_down(Digits digits, const Shape& factors) {
  for (auto& digit : digits) {
    if (digit.dim < 0) continue;
    const std::int64_t factor = factors[static_cast<std::size_t>(digit.dim)];
    if (digit.stride % factor != 0) return std::nullopt;
    digit.stride /= factor;
  }
  return digits;
}

Digits joined(Digits high, const Digits& low) {
  high.insert(high.end(), low.begin(), low.end());
  return high;
}

/// A layout's parts, its shape padded with leading ones to a rank.
struct Parts {
  Shape shape;
  Digits spatial, local;
};

Parts padded(const RegisterLayout& layout, int rank) {
  const int pad = rank - layout.rank();
  Parts parts{layout.shape(), shifted(layout.spatial_digits(), pad),
              shifted(layout.local_digits(), pad)};
  parts.shape.insert(parts.shape.begin(), static_cast<std::size_t>(pad), 1);
  return parts;
}

Result<RegisterLayout> build(Parts parts) {
  return RegisterLayout::from_digits(std::move(parts.shape), std::move(parts.spatial),
                                     std::move(parts.local));
}

/// Both halves of a layout cut into an upper and a lower factor.
struct Cut {
  Parts high, low;
};

/// Cuts h so that the lower factor has the given shape, threads and locals; the upper one's strides
/// count whole lower tiles. Nothing if a size or a stride does not divide.
std::optional<Cut> cut(const RegisterLayout& h, const Shape& low_shape, std::int64_t low_threads,
                       std::int64_t low_locals) {
  auto spatial = split_digits(h.spatial_digits(), low_threads);
  auto local = split_digits(h.local_digits(), low_locals);
  if (!spatial || !local) return std::nullopt;
  auto high_spatial = scaled_down(std::move(spatial->high), low_shape);
  auto high_local = scaled_down(std::move(local->high), low_shape);
  if (!high_spatial || !high_local) return std::nullopt;
  Shape high_shape = h.shape();
  for (std::size_t d = 0; d < high_shape.size(); ++d) high_shape[d] /= low_shape[d];
  return Cut{{std::move(high_shape), *std::move(high_spatial), *std::move(high_local)},
             {low_shape, std::move(spatial->low), std::move(local->low)}};
}

/// The sizes of a quotient h / f or f \ h; an error if they do not divide.
struct QuotientSizes {
  Shape shape;
  std::int64_t threads, locals;
};

Result<QuotientSizes> quotient_sizes(const RegisterLayout& h, const RegisterLayout& factor) {
  if (factor.rank() > h.rank()) {
    return layout_error(fmt::format("its rank {} is larger than {}", factor.rank(), h.rank()));
  }
  QuotientSizes sizes{h.shape(), h.num_threads(), h.num_locals()};
  const Shape shape = padded(factor, h.rank()).shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (h.shape()[d] % shape[d] != 0) {
      return layout_error(fmt::format("its shape {} does not divide shape {}",
                                      to_string(factor.shape()), to_string(h.shape())));
    }
    sizes.shape[d] /= shape[d];
  }
  if (h.num_threads() % factor.num_threads() != 0) {
    return layout_error(fmt::format("its {} threads do not divide {} threads", factor.num_threads(),
                                    h.num_threads()));
  }
  if (h.num_locals() % factor.num_locals() != 0) {
    return layout_error(
        fmt::format("its {} local elements do not divide {}", factor.num_locals(), h.num_locals()));
  }
  sizes.threads /= factor.num_threads();
  sizes.locals /= factor.num_locals();
  return sizes;
}

Error not_divisible(const RegisterLayout& h, const RegisterLayout& factor, const char* side,
                    const std::string& reason) {
  return layout_error(fmt::format("layout `{}` has no {} factor `{}`: {}", to_string(h), side,
                                  to_string(factor), reason));
}

bool same_digits(const Parts& parts, const Parts& expected) {
  return merge_digits(parts.spatial) == expected.spatial &&
         merge_digits(parts.local) == expected.local;
}

constexpr const char* elsewhere = "its elements lie in other threads or local places";

}  // namespace

Result<RegisterLayout> compose(const RegisterLayout& a, const RegisterLayout& b) {
  const int rank = std::max(a.rank(), b.rank());
  Parts high = padded(a, rank);
  const Parts low = padded(b, rank);
  high.spatial = joined(scaled(std::move(high.spatial), low.shape), low.spatial);
  high.local = joined(scaled(std::move(high.local), low.shape), low.local);
  for (std::size_t d = 0; d < high.shape.size(); ++d) high.shape[d] *= low.shape[d];
  return build(std::move(high));
}

Result<RegisterLayout> divide(const RegisterLayout& h, const RegisterLayout& g) {
  if (auto sizes = quotient_sizes(h, g); !sizes) {
    return not_divisible(h, g, "right", sizes.error().message);
  }
  const Parts factor = padded(g, h.rank());
  auto parts = cut(h, factor.shape, g.num_threads(), g.num_locals());
  if (!parts || !same_digits(parts->low, factor)) return not_divisible(h, g, "right", elsewhere);
  return build(std::move(parts->high));
}

Result<RegisterLayout> left_divide(const RegisterLayout& h, const RegisterLayout& f) {
  auto sizes = quotient_sizes(h, f);
  if (!sizes) return not_divisible(h, f, "left", sizes.error().message);
  auto parts = cut(h, sizes->shape, sizes->threads, sizes->locals);
  if (!parts || !same_digits(parts->high, padded(f, h.rank()))) {
    return not_divisible(h, f, "left", elsewhere);
  }
  return build(std::move(parts->low));
}

Result<RegisterLayout> reduce(const RegisterLayout& l, const std::vector<int>& dims,
                              bool keep_dims) {
  if (auto error = check_dims(dims, l.rank())) return *error;
  Parts parts;
  std::vector<int> position(l.shape().size(), -1);  // in the result, -1 for a reduced dimension
  for (int d = 0; d < l.rank(); ++d) {
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    const auto at = static_cast<std::size_t>(d);
    if (!reduced) position[at] = static_cast<int>(parts.shape.size());
    if (!reduced || keep_dims) parts.shape.push_back(reduced ? 1 : l.shape()[at]);
  }
  for (auto digit : l.spatial_digits()) {
    if (digit.dim >= 0) digit.dim = position[static_cast<std::size_t>(digit.dim)];
    if (digit.dim < 0) digit.stride = 0;
    parts.spatial.push_back(digit);
  }
  for (auto digit : l.local_digits()) {
    digit.dim = position[static_cast<std::size_t>(digit.dim)];
    if (digit.dim >= 0) parts.local.push_back(digit);
  }
  return build(std::move(parts));
}

Result<RegisterLayout> reduce_to(const RegisterLayout& l, const Shape& shape) {
  const std::size_t rank = l.shape().size();
  const auto mismatch = [&] {
    return layout_error(
        fmt::format("shape {} does not broadcast to shape {}; aligned right, each extent must be "
                    "equal or 1",
                    to_string(shape), to_string(l.shape())));
  };
  if (shape.size() > rank) return mismatch();
  const std::size_t extra = rank - shape.size();
  std::vector<int> to_one, dropped(extra);
  std::iota(dropped.begin(), dropped.end(), 0);
  for (std::size_t d = extra; d < rank; ++d) {
    const std::int64_t target = shape[d - extra];
    if (target == l.shape()[d]) continue;
    if (target != 1) return mismatch();
    to_one.push_back(static_cast<int>(d));
  }
  auto kept = reduce(l, to_one, true);
  return kept ? reduce(*kept, dropped) : kept;
}

Result<RegisterLayout> permute(const RegisterLayout& l, const std::vector<int>& dims) {
  if (auto error = check_permutation(dims, l.rank())) return *error;
  Parts parts{Shape(dims.size()), l.spatial_digits(), l.local_digits()};
  std::vector<int> position(dims.size());
  for (std::size_t j = 0; j < dims.size(); ++j) {
    parts.shape[j] = l.shape()[static_cast<std::size_t>(dims[j])];
    position[static_cast<std::size_t>(dims[j])] = static_cast<int>(j);
  }
  for (auto* digits : {&parts.spatial, &parts.local}) {
    for (auto& digit : *digits) {
      if (digit.dim >= 0) digit.dim = position[static_cast<std::size_t>(digit.dim)];
    }
  }
  return build(std::move(parts));
}

Result<RegisterLayout> squeeze(const RegisterLayout& l, const std::vector<int>& dims) {
  if (auto error = check_dims(dims, l.rank())) return *error;
  for (const int dim : dims) {
    const std::int64_t extent = l.shape()[static_cast<std::size_t>(dim)];
    if (extent == 1) continue;
    return layout_error(
        fmt::format("dimension {} of shape {} has extent {}; only extents of 1 can be squeezed out",
                    dim, to_string(l.shape()), extent));
  }
  return reduce(l, dims);
}

Result<RegisterLayout> unsqueeze(const RegisterLayout& l, const std::vector<int>& dims) {
  const int rank = l.rank() + static_cast<int>(std::min<std::size_t>(dims.size(), 64));
  if (rank > RegisterLayout::max_rank) {
    return layout_error(fmt::format("a rank of {} is too large; the rank is at most {}", rank,
                                    RegisterLayout::max_rank));
  }
  if (auto error = check_dims(dims, rank)) return *error;
  Parts parts{{}, l.spatial_digits(), l.local_digits()};
  std::vector<int> position;
  for (int d = 0; d < rank; ++d) {
    const bool inserted = std::find(dims.begin(), dims.end(), d) != dims.end();
    parts.shape.push_back(inserted ? 1 : l.shape()[position.size()]);
    if (!inserted) position.push_back(d);
  }
  for (auto* digits : {&parts.spatial, &parts.local}) {
    for (auto& digit : *digits) {
      if (digit.dim >= 0) digit.dim = position[static_cast<std::size_t>(digit.dim)];
    }
  }
  return build(std::move(parts));
}

Result<RegisterLayout> concat(const RegisterLayout& a, const RegisterLayout& b) {
  Parts parts{a.shape(), joined(a.spatial_digits(), shifted(b.spatial_digits(), a.rank())),
              joined(a.local_digits(), shifted(b.local_digits(), a.rank()))};
  parts.shape.insert(parts.shape.end(), b.shape().begin(), b.shape().end());
  return build(std::move(parts));
}

Result<RegisterLayout> slice(const RegisterLayout& l, int dim, std::int64_t extent) {
  if (auto error = check_dims({dim}, l.rank())) return *error;
  const auto at = static_cast<std::size_t>(dim);
  if (extent < 1 || l.shape()[at] % extent != 0) {
    return layout_error(
        fmt::format("parts of {} elements do not make up dimension {}, which has {}", extent, dim,
                    l.shape()[at]));
  }
  Parts parts{l.shape(), l.spatial_digits(), {}};
  parts.shape[at] = extent;
  const auto crosses = [&](const LayoutDigit& digit) {
    return digit.dim == dim && digit.stride * digit.size > extent;
  };
  if (std::any_of(parts.spatial.begin(), parts.spatial.end(), crosses)) {
    return layout_error(fmt::format(
        "parts of {} elements of dimension {} are spread over threads that hold no other part",
        extent, dim));
  }
  for (LayoutDigit digit : l.local_digits()) {
    if (digit.dim == dim && digit.stride >= extent) continue;
    if (crosses(digit)) {
      if (extent % digit.stride != 0 || digit.size % (extent / digit.stride) != 0) {
        return layout_error(fmt::format(
            "parts of {} elements of dimension {} are not those that the layout has", extent, dim));
      }
      digit.size = extent / digit.stride;
    }
    parts.local.push_back(digit);
  }
  return build(std::move(parts));
}

Result<RegisterLayout> auto_local_spatial(std::int64_t threads, const Shape& shape) {
  if (auto error = check_shape(shape, RegisterLayout::max_extent)) return *error;
  Parts parts{shape, {}, {}};
  for (std::size_t d = shape.size(); d-- > 0 && threads > 0;) {
    const std::int64_t spread = std::gcd(threads, shape[d]);
    const auto dim = static_cast<int>(d);
    parts.spatial.push_back({dim, spread, 1});
    parts.local.push_back({dim, shape[d] / spread, spread});
    threads /= spread;
  }
  parts.spatial.push_back({-1, threads, 0});
  std::reverse(parts.spatial.begin(), parts.spatial.end());
  std::reverse(parts.local.begin(), parts.local.end());
  return build(std::move(parts));
}

bool thread_local_equivalent(const RegisterLayout& a, const RegisterLayout& b) {
  // The local digits then cover the same set of places: all that the spatial digits leave.
  return a.shape() == b.shape() && a.spatial_digits() == b.spatial_digits();
}

std::optional<Crossing> find_crossing(const RegisterLayout& from, const RegisterLayout& to) {
  if (thread_local_equivalent(from, to)) return std::nullopt;
  const auto holds = [](const RegisterLayout& layout, std::int64_t thread, const Index& element) {
    return layout.element(thread, layout.local_of(element)) == element;
  };
  for (std::int64_t t = 0; t < from.num_threads(); ++t) {
    // `before` and `after` are the thread's first elements in the two layouts. Unless they are the
    // same element, one of them is not in this thread in the other layout.
    Index before = from.thread_part(t), after = to.thread_part(t);
    if (!holds(to, t, before)) {
      const std::int64_t thread = to.first_thread_of(before);
      return Crossing{std::move(before), t, thread};
    }
    if (!holds(from, t, after)) {
      const std::int64_t thread = from.first_thread_of(after);
      return Crossing{std::move(after), thread, t};
    }
  }
  TILEVM_CHECK(false, "layouts that differ between threads, in no thread");
  return std::nullopt;
}

std::int64_t contiguity(const RegisterLayout& l, int dim) {
  // Merged, the lowest local digit is the longest run, and all other strides are its multiples.
  if (l.local_terms().empty()) return 1;
  const auto& lowest = l.local_terms().back();
  return lowest.dim == dim && lowest.stride == 1 ? lowest.size : 1;
}

}  // namespace tilevm::isa
