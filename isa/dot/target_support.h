// On which targets an instruction exists. A product whose struct asks for special tensor-core
// instructions exists where the target has one of them; every other instruction exists everywhere.
#pragma once

#include <algorithm>
#include <vector>

#include "isa/dot/mma_shapes.h"
#include "isa/dot/wgmma_shapes.h"
#include "isa/numeric/target.h"

namespace tilevm::isa {

/// An instruction that multiplies block-scaled operands.
template <class Inst>
concept TakesScales = requires {
  &Inst::a_scales;
  &Inst::b_scales;
};

/// An instruction that multiplies a matrix of which some elements are stored, at given places.
template <class Inst>
concept TakesStoredPlaces = requires {
  &Inst::a;
  &Inst::b;
  &Inst::places;
};

/// An instruction whose right matrix is read later, from shared memory.
template <class Inst>
concept CompletesLater = requires {
  &Inst::b_offset;
  &Inst::accumulate;
};

/// The tensor-core instructions of which one is needed; null if the instruction needs none.
template <class Inst>
[[nodiscard]] const std::vector<MmaShape>* required_shapes() {
  if constexpr (TakesScales<Inst>) return &scaled_mma_shapes();
  if constexpr (TakesStoredPlaces<Inst>) return &sparse_mma_shapes();
  if constexpr (CompletesLater<Inst>) return &wgmma_shapes();
  return nullptr;
}

template <class Inst>
[[nodiscard]] bool exists_on(const Target& target) {
  const std::vector<MmaShape>* const shapes = required_shapes<Inst>();
  return shapes == nullptr || std::any_of(shapes->begin(), shapes->end(), [&](const auto& shape) {
           return mma_rule(target, shape).has_value();
         });
}

}  // namespace tilevm::isa
