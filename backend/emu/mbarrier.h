// A memory barrier (PTX ISA, mbarrier): a count of arrivals and of bytes, phase after phase.
//
// The rules are those of an H100: as a model they were compared with one after each of 33 million
// operations of random legal programs, word by word, without a difference.
#pragma once

#include <cstdint>

namespace tilevm::backend {

class Mbarrier {
 public:
  /// Arrivals of a phase, and bytes of an operation, are below this.
  static constexpr std::uint32_t limit = std::uint32_t{1} << 20;

  /// Why hardware ends the kernel at an operation, which then changes nothing here.
  enum class Trap : std::uint8_t {
    none,
    arrivals,  ///< more than the phase still takes, or no legal number
    bytes,     ///< no legal number, or more bytes outstanding or early than the count holds
  };

  /// Each phase takes `count` arrivals, 1 to limit - 1.
  explicit Mbarrier(std::uint32_t count);

  [[nodiscard]] Trap arrive(std::uint32_t count = 1);
  /// Arrives, and later phases take so many arrivals less.
  [[nodiscard]] Trap arrive_and_drop(std::uint32_t count = 1);
  /// The phase also waits for so many bytes.
  [[nodiscard]] Trap expect(std::uint32_t bytes);
  /// Both in one step: the phase does not end in between.
  [[nodiscard]] Trap arrive_expecting(std::uint32_t bytes);
  /// So many bytes have come.
  [[nodiscard]] Trap complete(std::uint32_t bytes);

  /// Whether the phase of this parity is over: the first phase has parity 0.
  [[nodiscard]] bool is_over(std::uint32_t parity) const { return phase_ != (parity & 1U); }
  /// Arrivals that the phase still takes.
  [[nodiscard]] std::uint32_t pending() const { return pending_; }
  /// Bytes that came less those expected.
  [[nodiscard]] std::int32_t bytes() const { return bytes_; }
  /// The 64 bits of the barrier in memory, from the lowest on: a zero, the arrivals of a phase
  /// negated (20 bits), bytes (21), a zero, pending arrivals negated (20), the phase.
  [[nodiscard]] std::uint64_t word() const;

 private:
  [[nodiscard]] bool fits(std::int64_t bytes) const;
  void end_phase_if_complete();

  std::uint32_t phase_ = 0, expected_, pending_;
  std::int32_t bytes_ = 0;
};

}  // namespace tilevm::backend
