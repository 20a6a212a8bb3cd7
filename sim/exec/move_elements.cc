#include "sim/exec/move_elements.h"

#include <cstring>
#include <utility>

#include "isa/type/bits.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {
namespace {

/// Moves the bits of elements from tiles at their places in one array of bytes to another.
void move_bits(const ElementMoves& moves, const std::uint8_t* (*at)(Context&, std::size_t),
               Context& context, std::uint8_t* result) {
  const Tile& tile = moves.result;
  for (std::size_t e = 0; e < moves.from.size(); ++e) {
    const auto [source, number] = moves.from[e];
    const Tile& from = moves.sources[source];
    const std::uint64_t code =
        isa::get_bits(at(context, from.offset) + number / from.locals * from.thread_bytes,
                      number % from.locals * from.bits, from.bits);
    isa::put_bits(result + e / tile.locals * tile.thread_bytes, e % tile.locals * tile.bits,
                  tile.bits, code);
  }
}

/// The elements of whole bytes, by lanes.
template <class Lane>
void move_lanes(const ElementMoves& moves, const std::vector<const std::uint8_t*>& sources,
                std::uint8_t* result) {
  for (std::size_t e = 0; e < moves.from.size(); ++e) {
    store_lane(result, e, load_lane<Lane>(sources[moves.from[e].source], moves.from[e].number));
  }
}

const std::uint8_t* register_bytes(Context& context, std::size_t offset) {
  return context.state.registers.at(offset);
}
const std::uint8_t* undefined_bytes(Context& context, std::size_t offset) {
  return context.state.undefined.at(offset);
}

}  // namespace

std::shared_ptr<const ElementMoves> make_moves(const std::vector<isa::VarId>& sources,
                                               const Preparation& preparation,
                                               const FindSource& find) {
  auto moves = std::make_shared<ElementMoves>();
  std::vector<isa::RegisterLayout> layouts;
  for (const isa::VarId source : sources) {
    moves->sources.push_back(preparation.tile(source));
    layouts.push_back(preparation.register_type(source).layout);
  }
  moves->result = preparation.result_tile();
  moves->from = find_moves(preparation.register_type(preparation.result()).layout, layouts, find);
  return moves;
}

Action move_elements(std::shared_ptr<const ElementMoves> moves) {
  return [moves = std::move(moves)](Context& context) {
    const Tile& result = moves->result;
    // Its own bytes, since the result may be one of the sources.
    std::vector<std::uint8_t>& bytes = context.scratch.lanes[0].lanes;
    bytes.assign(result.bytes(), 0);
    if (result.bits >= 8) {
      std::vector<const std::uint8_t*> sources;
      for (const Tile& source : moves->sources) {
        sources.push_back(context.state.registers.at(source.offset));
      }
      with_lane(result.bits,
                [&]<class Lane>() { move_lanes<Lane>(*moves, sources, bytes.data()); });
    } else {
      move_bits(*moves, register_bytes, context, bytes.data());
    }
    std::memcpy(context.state.registers.at(result.offset), bytes.data(), result.bytes());
    return true;
  };
}

UndefinedTransfer move_undefined(std::shared_ptr<const ElementMoves> moves) {
  return {{}, [moves = std::move(moves)](Context& context) {
            UndefinedRegisters& undefined = context.state.undefined;
            const Tile* marked = nullptr;
            for (const Tile& source : moves->sources) {
              if (marked == nullptr && undefined.marked(source)) marked = &source;
            }
            if (marked == nullptr) return undefined.clear(moves->result);
            const Origin origin = undefined.origin(*marked);
            std::vector<std::uint8_t> bytes(moves->result.bytes(), 0);
            move_bits(*moves, undefined_bytes, context, bytes.data());
            std::memcpy(undefined.at(moves->result.offset), bytes.data(), bytes.size());
            undefined.update(moves->result, origin);
          }};
}

}  // namespace tilevm::sim
