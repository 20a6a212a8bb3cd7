#include "sim/state/undefined.h"

#include <algorithm>
#include <cstring>

#include "isa/type/bits.h"

namespace tilevm::sim {

bool has_bits(const std::uint8_t* bytes, std::size_t count) {
  return std::any_of(bytes, bytes + count, [](std::uint8_t byte) { return byte != 0; });
}

bool UndefinedRegisters::element(const Tile& tile, std::size_t thread, std::size_t place) const {
  return isa::get_bits(at(tile.offset) + thread * tile.thread_bytes, place * tile.bits,
                       tile.bits) != 0;
}

void UndefinedRegisters::update(const Tile& tile, const Origin& origin) {
  if (!has_bits(at(tile.offset), tile.bytes())) return clear(tile);
  Mark& mark = marks_[tile.offset / RegisterSlab::alignment];
  if (!mark.set) ++marked_;
  mark = {true, tile.bytes(), origin};
}

void UndefinedRegisters::fill(const Tile& tile, const Origin& origin) {
  std::memset(at(tile.offset), 0xff, tile.bytes());
  const std::size_t used = tile.locals * tile.bits % 8;
  for (std::size_t t = 0; used != 0 && t < tile.threads; ++t) {
    *at(tile.offset + (t + 1) * tile.thread_bytes - 1) =
        static_cast<std::uint8_t>(isa::low_mask(static_cast<unsigned>(used)));
  }
  update(tile, origin);
}

void UndefinedRegisters::clear(const Tile& tile) {
  Mark& mark = marks_[tile.offset / RegisterSlab::alignment];
  if (!mark.set) return;
  std::memset(at(tile.offset), 0, tile.bytes());
  mark.set = false;
  --marked_;
}

void UndefinedRegisters::reset() {
  if (!any()) return;
  for (std::size_t line = 0; line < marks_.size(); ++line) {
    if (!marks_[line].set) continue;
    std::memset(at(line * RegisterSlab::alignment), 0, marks_[line].bytes);
    marks_[line].set = false;
  }
  marked_ = 0;
}

}  // namespace tilevm::sim
