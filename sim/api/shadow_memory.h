// Shadow values in memory: what an element would be if nothing had been rounded on the way to it.
//
// A ShadowMemory keeps shadow values for elements of one type, by index in the buffer. An element
// without a shadow value (never written, or written as another type) counts as the value of its
// code.
#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "isa/type/dtype.h"

namespace tilevm::sim {

/// A shadow value, or none.
class ShadowSlot {
 public:
  ShadowSlot() = default;
  explicit ShadowSlot(double value) {
    // NaN has one form here, which cannot be taken for `none`.
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
    bits_ = std::bit_cast<std::uint64_t>(value) ^ none;
  }

  [[nodiscard]] std::optional<double> value() const {
    if (bits_ == 0) return std::nullopt;
    return std::bit_cast<double>(bits_ ^ none);
  }

 private:
  static constexpr std::uint64_t none = 0x7ff4'0000'0000'0001;  // so that zeroed memory has none

  std::uint64_t bits_ = 0;
};

/// The shadow values of a buffer that all blocks of a launch share.
class ShadowMemory {
 public:
  /// As many elements as fit the bytes.
  ShadowMemory(const isa::DType& type, std::size_t bytes)
      : type_(type), slots_(bytes * 8 / type.bits) {}

  /// The shadow value of the element at a bit of the buffer.
  [[nodiscard]] ShadowSlot load(const isa::DType& type, std::uint64_t bit) const {
    if (type != type_) return {};
    return std::atomic_ref(slots_[bit / type.bits]).load(std::memory_order_relaxed);
  }
  /// An element of another type clears the shadow values of the elements that it overlaps.
  void store(const isa::DType& type, std::uint64_t bit, ShadowSlot slot) {
    if (type != type_) slot = {};
    const std::uint64_t last = (bit + type.bits - 1) / type_.bits;
    for (std::uint64_t k = bit / type_.bits; k <= last && k < slots_.size(); ++k) {
      std::atomic_ref(slots_[k]).store(slot, std::memory_order_relaxed);
    }
  }

 private:
  isa::DType type_;
  // Accessed atomically: a race of blocks is the program's fault, not undefined behaviour here.
  mutable std::vector<ShadowSlot> slots_;
};

}  // namespace tilevm::sim
