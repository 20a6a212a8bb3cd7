// A box that a tensor map moves, element by element (PTX ISA, cp.async.bulk.tensor). The rules are
// those of an H100, with which a model of them was compared in 4,387 loads and 2,178 stores of
// random maps: the swizzle is one of addresses, rows have the pitch of its span, loads fill what is
// outside and count the whole box, stores clip the innermost dimension at multiples of 16 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "backend/emu/lane.h"

namespace tilevm::backend {

class TensorBox {
 public:
  /// `shared` is the begin of the block's shared memory, `at` the box's place in it.
  TensorBox(const emu::TensorMap& map, const int* begin, unsigned char* shared, unsigned at,
            bool stores);

  /// Bytes that a barrier counts.
  [[nodiscard]] std::size_t bytes() const;
  /// Bytes of shared memory from `at` on that the box may touch.
  [[nodiscard]] std::size_t span() const;
  /// Why hardware ends the launch; nothing if it does not.
  [[nodiscard]] std::optional<std::string> refused() const;
  /// Moves all elements.
  void move() const;
  /// Calls f(address in global memory, bytes) for each row of elements that is touched there.
  template <class F>
  void for_each_row(F&& f) const {
    for_each_index([&](const std::array<std::uint64_t, 5>& at_index) {
      if (at_index[0] != 0) return;
      const std::uint64_t count = row_elements(at_index);
      if (count > 0) f(row_address(at_index), count * map_.element_bytes);
    });
  }

 private:
  template <class F>
  void for_each_index(F&& f) const {
    std::array<std::uint64_t, 5> at{};
    const std::uint64_t count = bytes() / map_.element_bytes;
    for (std::uint64_t number = 0; number < count; ++number) {
      f(at);
      for (std::size_t d = 0; d < map_.rank; ++d) {
        if (++at[d] < map_.box[d]) break;
        at[d] = 0;
      }
    }
  }
  /// The place of an element in shared memory.
  [[nodiscard]] std::uint64_t shared_place(const std::array<std::uint64_t, 5>& at) const;
  /// The address of an element in global memory; null outside of what is touched.
  [[nodiscard]] unsigned char* global_address(const std::array<std::uint64_t, 5>& at) const;
  /// First address and number of touched elements of the row that begins at an index.
  [[nodiscard]] unsigned char* row_address(const std::array<std::uint64_t, 5>& at) const;
  [[nodiscard]] std::uint64_t row_elements(const std::array<std::uint64_t, 5>& at) const;
  /// Where elements of the innermost dimension end for a copy.
  [[nodiscard]] std::int64_t innermost_end() const;

  emu::TensorMap map_;
  std::array<std::int64_t, 5> begin_{};
  unsigned char* shared_;
  unsigned at_;
  bool stores_;
};

}  // namespace tilevm::backend
