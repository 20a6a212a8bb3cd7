// The register files of a block's threads, as bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilevm::sim {

/// A tile occupies consecutive bytes: the bit streams of its threads one after another, each
/// rounded up to whole bytes. Tiles start at multiples of 64 bytes. Up to 64 bytes past the end
/// of the last tile may be read.
class RegisterSlab {
 public:
  static constexpr std::size_t alignment = 64;

  explicit RegisterSlab(std::size_t bytes = 0) : lines_(bytes / sizeof(Line) + 2) {}
  [[nodiscard]] std::uint8_t* at(std::size_t byte) { return lines_.data()->bytes.data() + byte; }
  [[nodiscard]] const std::uint8_t* at(std::size_t byte) const {
    return lines_.data()->bytes.data() + byte;
  }
  [[nodiscard]] std::size_t bytes() const { return lines_.size() * sizeof(Line); }

 private:
  struct alignas(alignment) Line {
    std::array<std::uint8_t, alignment> bytes{};
  };
  std::vector<Line> lines_;
};

}  // namespace tilevm::sim
