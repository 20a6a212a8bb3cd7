// The undefined mask of the register slab: which bits hold no defined value. A run that follows
// padding (Checks::padding) keeps in it which bits depend on elements outside of a view instead.
//
// The mask has a bit for each bit of the slab, so the code that moves a tile also moves its mask. A
// tile with undefined bits is marked; the mask of all other tiles is zero. As long as no tile is
// marked, an instruction pays one comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/base/source.h"
#include "sim/tiles/layout_parts.h"
#include "sim/tiles/register_slab.h"

namespace tilevm::sim {

/// Where undefined elements came from, for messages.
struct Origin {
  std::string_view mnemonic;
  Span span{};
  std::string_view advice = "store them before";
};

class UndefinedRegisters {
 public:
  UndefinedRegisters() = default;
  /// For a slab of that many bytes; all bits are defined.
  explicit UndefinedRegisters(std::size_t register_bytes)
      : bits_(register_bytes), marks_(register_bytes / RegisterSlab::alignment + 1) {}

  /// Whether any tile is marked.
  [[nodiscard]] bool any() const { return marked_ != 0; }
  [[nodiscard]] bool marked(const Tile& tile) const { return any() && mark_of(tile).set; }
  [[nodiscard]] const Origin& origin(const Tile& tile) const { return mark_of(tile).origin; }

  /// The undefined mask of a tile begins at the tile's own offset.
  [[nodiscard]] std::uint8_t* at(std::size_t byte) { return bits_.at(byte); }
  [[nodiscard]] const std::uint8_t* at(std::size_t byte) const { return bits_.at(byte); }
  [[nodiscard]] std::size_t bytes() const { return bits_.bytes(); }
  [[nodiscard]] bool element(const Tile& tile, std::size_t thread, std::size_t place) const;

  /// Marks the tile after a change of its mask; a mask of zeros clears the mark.
  void update(const Tile& tile, const Origin& origin);
  /// Makes all elements of the tile undefined.
  void fill(const Tile& tile, const Origin& origin);
  /// Makes all elements of the tile defined.
  void clear(const Tile& tile);
  /// Makes all registers defined, as when a block begins.
  void reset();

 private:
  struct Mark {
    bool set = false;
    std::size_t bytes = 0;
    Origin origin;
  };
  [[nodiscard]] const Mark& mark_of(const Tile& tile) const {
    return marks_[tile.offset / RegisterSlab::alignment];
  }

  RegisterSlab bits_;
  std::vector<Mark> marks_;  // by the line of the slab where a tile begins
  std::size_t marked_ = 0;
};

/// Whether any of the bytes is not zero.
[[nodiscard]] bool has_bits(const std::uint8_t* bytes, std::size_t count);

}  // namespace tilevm::sim
