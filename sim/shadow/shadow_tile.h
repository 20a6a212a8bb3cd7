// A register tile as doubles: its elements in row-major order, without replicas.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/state/context.h"
#include "sim/state/preparation.h"

namespace tilevm::sim {

class ShadowTile {
 public:
  ShadowTile(isa::VarId var, const Preparation& preparation);

  [[nodiscard]] const Tile& tile() const { return tile_; }
  [[nodiscard]] const isa::RegisterType& type() const { return type_; }
  /// Elements, replicas counted once.
  [[nodiscard]] std::size_t size() const { return holders_->size() * tile_.locals; }
  /// The row-major number of the element at a place of a thread.
  [[nodiscard]] std::size_t element(std::size_t thread, std::size_t place) const {
    return of_thread_[thread] + of_place_[place];
  }

  /// Calls f(thread, place, element) for the first holder of each element.
  template <class F>
  void for_each(F&& f) const {
    for (const std::int32_t holder : *holders_) {
      const auto t = static_cast<std::size_t>(holder);
      for (std::size_t i = 0; i < tile_.locals; ++i) f(t, i, element(t, i));
    }
  }

  /// The value of an element in the registers.
  [[nodiscard]] double value(const BlockState& state, std::size_t thread, std::size_t place) const {
    return value_at(type_.dtype, tile_, state.registers, thread, place);
  }
  /// Own and shadow values of all elements.
  void read(BlockState& state, ShadowPairs& values) const;
  /// Gives all holders of the elements their shadow values.
  void write(const std::vector<double>& shadow, BlockState& state) const;

 private:
  Tile tile_;
  const isa::RegisterType& type_;
  std::shared_ptr<const LayoutParts> parts_;
  const std::vector<std::int32_t>* holders_;
  std::vector<std::size_t> of_thread_, of_place_;  // shares of an element's number
};

}  // namespace tilevm::sim
