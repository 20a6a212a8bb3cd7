// Elements that move to other places of a tile or to other threads, with their undefined bits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/checks/undefined_flow.h"
#include "sim/state/preparation.h"
#include "sim/tiles/element_moves.h"

namespace tilevm::sim {

/// The source of the result's element at an index, which becomes the index there.
using FindSource = std::function<std::uint32_t(isa::Index&)>;

/// The moves of the statement's elements from these tiles.
[[nodiscard]] std::shared_ptr<const ElementMoves> make_moves(const std::vector<isa::VarId>& sources,
                                                             const Preparation& preparation,
                                                             const FindSource& find);
[[nodiscard]] Action move_elements(std::shared_ptr<const ElementMoves> moves);
/// The undefined bits of elements move with them.
[[nodiscard]] UndefinedTransfer move_undefined(std::shared_ptr<const ElementMoves> moves);

}  // namespace tilevm::sim
