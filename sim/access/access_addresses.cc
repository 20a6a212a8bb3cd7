#include "sim/access/access_addresses.h"

#include <algorithm>

namespace tilevm::sim {
namespace {

/// A cache line: addresses modulo this determine sectors, banks and words.
constexpr std::uint64_t period_bits = 1024;

}  // namespace

bool AccessGrid::find(std::int64_t thread, std::int64_t i, isa::Index& index) const {
  if (parts_ == nullptr) {
    const std::int64_t piece = thread + i * threads_;
    if (piece >= isa::element_count(plan_->pieces)) return false;
    index = isa::unravel(piece, plan_->pieces);
    if (!index.empty()) index.back() *= plan_->elements;
    return true;
  }
  if (plan_->form == isa::AccessForm::matrix) {
    find_row(thread, i, index);
    return true;
  }
  const std::int32_t* of_thread = parts_->thread_part(static_cast<std::size_t>(thread));
  const std::int32_t* of_place =
      parts_->local_part(static_cast<std::size_t>(plan_->local_place(i)));
  index.resize(parts_->rank);
  for (std::size_t d = 0; d < index.size(); ++d) index[d] = of_thread[d] + of_place[d];
  return true;
}

void AccessGrid::find_row(std::int64_t thread, std::int64_t i, isa::Index& index) const {
  index.assign(parts_->rank, 0);
  const auto add = [&](int dim, std::int64_t share) {
    const int tile_dim = plan_->mapping.dimensions[static_cast<std::size_t>(dim)].tile_dim;
    index[static_cast<std::size_t>(tile_dim)] += share;
  };
  for (const isa::TensorTerm& term : plan_->threads) {
    add(term.dim, thread / term.divisor % term.size * term.stride);
  }
  for (const isa::AccessDigit& digit : plan_->outer) {
    add(digit.dim, i / digit.divisor % digit.size * digit.stride);
  }
}

TilePosition::TilePosition(const std::optional<isa::OffsetList>& offset, int tensor_rank,
                           const isa::Shape& tile_shape, std::optional<int> indexed_dim,
                           Wrapping wrapping) {
  const auto placement =
      isa::place_tile(offset, tensor_rank, static_cast<int>(tile_shape.size()), indexed_dim);
  for (const auto& dimension : placement.dimensions) {
    offsets.emplace_back(dimension.offset, wrapping);
    tile_dims.push_back(dimension.tile_dim);
    extents.push_back(
        dimension.tile_dim < 0 ? 1 : tile_shape[static_cast<std::size_t>(dimension.tile_dim)]);
  }
}

bool TilePosition::find_origin(const BlockState& state, Coordinates& origin) const {
  constexpr std::int64_t far_away = std::int64_t{1} << 41;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    std::uint64_t bits = 0;
    Span fault{};
    if (!offsets[d].evaluate(state.scalars.data(), bits, fault)) return false;
    origin[d] = std::clamp(static_cast<std::int64_t>(bits), -far_away, far_away);
  }
  return true;
}

GlobalAddresses::GlobalAddresses(const TilePosition& position, const GlobalView& view,
                                 unsigned bits, const Coordinates& origin)
    : position_(position), view_(view), bits_(bits), origin_(origin) {
  for (std::size_t d = 0; d < position.extents.size(); ++d) {
    const std::int64_t extent = position.extents[d];
    low_[d] = std::clamp<std::int64_t>(-origin[d], 0, extent);
    high_[d] = std::clamp<std::int64_t>(view.extents[d] - origin[d], 0, extent);
    base_bits_ +=
        static_cast<std::uint64_t>(origin[d]) * static_cast<std::uint64_t>(view.strides[d]) * bits;
  }
  base_bits_ %= period_bits;
}

void GlobalAddresses::add_key(std::vector<std::int64_t>& key) const {
  for (std::size_t d = 0; d < position_.extents.size(); ++d) {
    key.insert(key.end(), {low_[d], high_[d]});
    key.push_back(view_.layout != nullptr ? origin_[d] : view_.strides[d]);
  }
  key.push_back(view_.layout != nullptr ? -1 : static_cast<std::int64_t>(base_bits_));
}

std::int64_t GlobalAddresses::elements_inside(const isa::Index& index, std::int64_t count) const {
  for (std::size_t d = 0; d < position_.extents.size(); ++d) {
    const std::int64_t at = position_.share(d, index);
    if (at < low_[d] || at >= high_[d]) return 0;
    const bool last =
        !index.empty() && position_.tile_dims[d] + 1 == static_cast<int>(index.size());
    if (last) count = std::min(count, high_[d] - at);
  }
  return count;
}

std::uint64_t GlobalAddresses::bit(const isa::Index& index) const {
  if (view_.layout != nullptr) {
    isa::Index in_view(position_.extents.size());
    for (std::size_t d = 0; d < in_view.size(); ++d) {
      in_view[d] = origin_[d] + position_.share(d, index);
    }
    return static_cast<std::uint64_t>(view_.layout->offset(in_view)) * bits_;
  }
  std::uint64_t bit = base_bits_;
  for (std::size_t d = 0; d < position_.extents.size(); ++d) {
    bit += static_cast<std::uint64_t>(position_.share(d, index)) *
           static_cast<std::uint64_t>(view_.strides[d]) * bits_;
  }
  return bit;
}

bool SharedAddresses::inside() const {
  for (std::size_t d = 0; d < position->extents.size(); ++d) {
    if (origin[d] < 0 || origin[d] + position->extents[d] > layout->shape()[d]) return false;
  }
  return true;
}

std::uint64_t SharedAddresses::bit(const isa::Index& index) const {
  isa::Index in_tensor(position->extents.size());
  for (std::size_t d = 0; d < in_tensor.size(); ++d) {
    in_tensor[d] = origin[d] + position->share(d, index);
  }
  return tensor_bits + static_cast<std::uint64_t>(layout->offset(in_tensor)) * bits;
}

}  // namespace tilevm::sim
