// A program with tunables, and its points.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vm/tune/space.h"

namespace tilevm::vm::tuning {

/// 3 x 3 x 2 points, of which the requirement leaves 2 x 3 x 2; with T = 2048 there are more
/// threads than a block has.
inline const std::string program = R"(# reduce: N=256
const N = 4096
const T in [64, 128, 2048] = 64
const V in [1, 2, 3] = 2
const W in [1, 2] = 1
require V < 3, "V must be 1 or 2"
const S: layout = spatial(T).local(V * W)

def copy<N / (T * V * W)>(f32* x_ptr, f32* y_ptr):
    i = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[N]), layout=S, offset=[i * T * V * W:])
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[N]), offset=[i * T * V * W:])

pipeline main(x: f32[N]) -> (y: f32[N]):
    copy(x, y)
)";

inline Points points_of(PointsSettings settings = {}, const std::string& text = program) {
  Diagnostics diagnostics;
  Points points(std::make_shared<SourceFile>("copy.tile", text), std::move(settings), diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  return points;
}

/// All legal ones, in the order of the space.
inline std::vector<const Candidate*> legal_of(Points& points) {
  std::vector<const Candidate*> candidates;
  for (std::uint64_t i = 0; i < points.space().size(); ++i) {
    if (const Candidate* candidate = points.look_at(i)) candidates.push_back(candidate);
  }
  return candidates;
}

}  // namespace tilevm::vm::tuning
