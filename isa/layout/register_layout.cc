#include "isa/layout/register_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "isa/layout/digits.h"
#include "isa/layout/hash_state.h"

namespace tilevm::isa {
namespace {

using Digit = RegisterLayout::Digit;

/// The dimension and the stride of every mode; an error where modes do not factor the shape.
Result<Digits> modes_to_digits(const Shape& shape, const std::vector<std::int64_t>& mode_shape) {
  Digits digits;
  std::size_t next = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t rest = shape[d];
    for (; next < mode_shape.size() && (rest > 1 || mode_shape[next] == 1); ++next) {
      if (rest % mode_shape[next] != 0) break;
      rest /= mode_shape[next];
      digits.push_back({static_cast<int>(d), mode_shape[next], rest});
    }
    if (rest == 1) continue;
    return layout_error(
        fmt::format("mode shape {} does not factor shape {}: the modes of dimension {} must have "
                    "the product {}",
                    to_string(mode_shape), to_string(shape), d, shape[d]));
  }
  for (; next < mode_shape.size() && mode_shape[next] == 1; ++next) digits.push_back({-1, 1, 0});
  if (next == mode_shape.size()) return digits;
  return layout_error(fmt::format("mode shape {} has more modes than factor shape {}",
                                  to_string(mode_shape), to_string(shape)));
}

/// Looks the entries of spatial_modes or local_modes up in the list of modes.
class ModeReader {
 public:
  explicit ModeReader(Digits modes) : modes_(std::move(modes)), used_(modes_.size(), false) {}

  Result<Digits> read(const std::vector<int>& entries, bool spatial) {
    Digits digits;
    for (const int entry : entries) {
      if (entry < 0) {
        if (!spatial) return negative_local(entry);
        digits.push_back({-1, -static_cast<std::int64_t>(entry), 0});
        continue;
      }
      const auto mode = static_cast<std::size_t>(entry);
      if (mode >= modes_.size()) return no_such_mode(mode);
      if (used_[mode]) {
        return layout_error(fmt::format(
            "mode {} stands twice; each mode stands once, in the spatial or the local modes",
            mode));
      }
      used_[mode] = true;
      digits.push_back(modes_[mode]);
    }
    return digits;
  }

  [[nodiscard]] std::optional<Error> check_complete() const {
    const auto unused = std::find(used_.begin(), used_.end(), false);
    if (unused == used_.end()) return std::nullopt;
    return layout_error(
        fmt::format("mode {} stands neither in the spatial nor in the local modes; each mode must "
                    "stand in one of them",
                    unused - used_.begin()));
  }

 private:
  static Error negative_local(int entry) {
    return layout_error(fmt::format(
        "{} in the local modes; only spatial modes may have a replica factor (-k)", entry));
  }
  [[nodiscard]] Error no_such_mode(std::size_t mode) const {
    return layout_error(
        fmt::format("mode {} does not exist; the mode shape has {} modes", mode, modes_.size()));
  }

  Digits modes_;
  std::vector<bool> used_;
};

/// Bounds and dimensions of the digits of threads or of local places (`what`).
std::optional<Error> check_digits(const Digits& digits, int rank, const char* what) {
  for (const auto& digit : digits) {
    if (digit.size < 1) return layout_error(fmt::format("a factor of {} {}", digit.size, what));
    const bool replica = digit.dim == -1 && digit.stride == 0;
    if (!replica && (digit.dim < 0 || digit.dim >= rank || digit.stride < 1)) {
      return layout_error(
          fmt::format("a digit of dimension {} with stride {} in a layout of rank {}", digit.dim,
                      digit.stride, rank));
    }
  }
  if (digits_size(digits) <= RegisterLayout::max_extent) return std::nullopt;
  return layout_error(
      fmt::format("the layout has more {} than the limit of {}", what, RegisterLayout::max_extent));
}

/// All digits of one dimension, most significant first; an error if their strides do not form a
/// factorisation of the extent.
Result<Digits> digits_of_dim(const Digits& spatial, const Digits& local, int dim,
                             std::int64_t extent) {
  Digits own;
  for (const auto* list : {&spatial, &local}) {
    std::copy_if(list->begin(), list->end(), std::back_inserter(own),
                 [dim](const Digit& digit) { return digit.dim == dim; });
  }
  std::sort(own.begin(), own.end(),
            [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
  std::int64_t rest = extent;
  const bool chained = std::all_of(own.begin(), own.end(), [&rest](const Digit& digit) {
    const bool fits = saturating_product(digit.stride, digit.size) == rest;
    rest = digit.stride;
    return fits;
  });
  if (chained && rest == 1) return own;
  return layout_error(
      fmt::format("the modes of dimension {} do not factor its extent {}", dim, extent));
}

}  // namespace

Result<RegisterLayout> RegisterLayout::make(Shape shape,
                                            const std::vector<std::int64_t>& mode_shape,
                                            const std::vector<int>& spatial_modes,
                                            const std::vector<int>& local_modes) {
  if (auto error = check_shape(shape, max_extent)) return *error;
  if (mode_shape.size() > max_modes || spatial_modes.size() > max_modes ||
      local_modes.size() > max_modes) {
    return layout_error(fmt::format("a layout has at most {} modes", max_modes));
  }
  for (const std::int64_t mode : mode_shape) {
    if (mode >= 1) continue;
    return layout_error(fmt::format("mode of size {} in {}; a mode has a size of 1 or more", mode,
                                    to_string(mode_shape)));
  }
  auto modes = modes_to_digits(shape, mode_shape);
  if (!modes) return modes.error();
  ModeReader reader(*std::move(modes));
  auto spatial = reader.read(spatial_modes, true);
  if (!spatial) return spatial.error();
  auto local = reader.read(local_modes, false);
  if (!local) return local.error();
  if (auto error = reader.check_complete()) return *error;
  return from_digits(std::move(shape), *std::move(spatial), *std::move(local));
}

Result<RegisterLayout> RegisterLayout::from_digits(Shape shape, std::vector<Digit> spatial,
                                                   std::vector<Digit> local) {
  if (auto error = check_shape(shape, max_extent)) return *error;
  const auto rank = static_cast<int>(shape.size());
  if (auto error = check_digits(spatial, rank, "threads")) return *error;
  if (auto error = check_digits(local, rank, "local elements")) return *error;
  spatial = merge_digits(spatial);
  local = merge_digits(local);

  RegisterLayout layout;
  Digits modes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto own = digits_of_dim(spatial, local, static_cast<int>(d), shape[d]);
    if (!own) return own.error();
    modes.insert(modes.end(), own->begin(), own->end());
  }
  for (const auto& mode : modes) layout.mode_shape_.push_back(mode.size);
  const auto name = [&](const Digit& digit) {
    if (digit.dim < 0) return static_cast<int>(-digit.size);
    return static_cast<int>(std::find(modes.begin(), modes.end(), digit) - modes.begin());
  };
  std::transform(spatial.begin(), spatial.end(), std::back_inserter(layout.spatial_modes_), name);
  std::transform(local.begin(), local.end(), std::back_inserter(layout.local_modes_), name);
  layout.shape_ = std::move(shape);
  layout.set_terms();
  return layout;
}

std::vector<Digit> RegisterLayout::digits_of(const std::vector<int>& modes) const {
  Digits all;
  std::size_t next = 0;
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    for (std::int64_t rest = shape_[d]; rest > 1; ++next) {
      rest /= mode_shape_[next];
      all.push_back({static_cast<int>(d), mode_shape_[next], rest});
    }
  }
  Digits digits;
  for (const int mode : modes) {
    digits.push_back(mode < 0 ? Digit{-1, -mode, 0} : all[static_cast<std::size_t>(mode)]);
  }
  return digits;
}

std::vector<Digit> RegisterLayout::spatial_digits() const { return digits_of(spatial_modes_); }
std::vector<Digit> RegisterLayout::local_digits() const { return digits_of(local_modes_); }

void RegisterLayout::set_terms() {
  const Digits spatial = spatial_digits();
  const Digits local = local_digits();
  num_threads_ = digits_size(spatial);
  num_locals_ = digits_size(local);
  std::int64_t divisor = num_threads_;
  for (const auto& digit : spatial) {
    divisor /= digit.size;
    auto& terms = digit.dim < 0 ? replica_terms_ : thread_terms_;
    terms.push_back({digit.dim, divisor, digit.size, digit.stride});
  }
  divisor = num_locals_;
  for (const auto& digit : local) {
    divisor /= digit.size;
    local_terms_.push_back({digit.dim, divisor, digit.size, digit.stride});
  }
}

std::int64_t RegisterLayout::num_replicas() const {
  std::int64_t replicas = 1;
  for (const auto& term : replica_terms_) replicas *= term.size;
  return replicas;
}

Shape RegisterLayout::spatial_shape() const {
  Shape sizes;
  for (const auto& digit : spatial_digits()) sizes.push_back(digit.size);
  return sizes;
}

Shape RegisterLayout::local_shape() const {
  Shape sizes;
  for (const auto& digit : local_digits()) sizes.push_back(digit.size);
  return sizes;
}

int RegisterLayout::mode_dim(int mode) const { return digits_of({mode}).front().dim; }

}  // namespace tilevm::isa

std::size_t std::hash<tilevm::isa::RegisterLayout>::operator()(
    const tilevm::isa::RegisterLayout& layout) const noexcept {
  tilevm::isa::HashState state;
  state.add_all(layout.shape());
  state.add_all(layout.mode_shape());
  state.add_all(layout.spatial_modes());
  state.add_all(layout.local_modes());
  return state.value();
}
