#include "sim/shadow/shadow_tile.h"

namespace tilevm::sim {
namespace {

/// The row-major number of an index. The number of a sum of indices is the sum of their numbers.
std::size_t number_of(const std::int32_t* index, const isa::Shape& shape) {
  std::size_t number = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    number = number * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(index[d]);
  }
  return number;
}

}  // namespace

ShadowTile::ShadowTile(isa::VarId var, const Preparation& preparation)
    : tile_(preparation.tile(var)),
      type_(preparation.register_type(var)),
      parts_(preparation.parts(var)),
      holders_(&parts_->first_threads) {
  for (std::size_t t = 0; t < tile_.threads; ++t) {
    of_thread_.push_back(number_of(parts_->thread_part(t), type_.shape()));
  }
  for (std::size_t i = 0; i < tile_.locals; ++i) {
    of_place_.push_back(number_of(parts_->local_part(i), type_.shape()));
  }
}

void ShadowTile::read(BlockState& state, ShadowPairs& values) const {
  values.own.resize(size());
  values.shadow.resize(size());
  for_each([&](std::size_t t, std::size_t i, std::size_t e) {
    values.own[e] = value(state, t, i);
    values.shadow[e] = state.shadow.at(tile_, t, i);
  });
}

void ShadowTile::write(const std::vector<double>& shadow, BlockState& state) const {
  for (std::size_t t = 0; t < tile_.threads; ++t) {
    for (std::size_t i = 0; i < tile_.locals; ++i) {
      state.shadow.at(tile_, t, i) = shadow[element(t, i)];
    }
  }
}

}  // namespace tilevm::sim
