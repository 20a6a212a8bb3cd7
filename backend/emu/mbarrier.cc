#include "backend/emu/mbarrier.h"

#include "isa/base/check.h"

namespace tilevm::backend {

Mbarrier::Mbarrier(std::uint32_t count) : expected_(count), pending_(count) {
  TILEVM_CHECK(count > 0 && count < limit, "a memory barrier of no legal count");
}

bool Mbarrier::fits(std::int64_t bytes) const {
  return -std::int64_t{limit} <= bytes && bytes < std::int64_t{limit};
}

void Mbarrier::end_phase_if_complete() {
  if (pending_ != 0 || bytes_ != 0) return;
  phase_ ^= 1;
  pending_ = expected_;
}

Mbarrier::Trap Mbarrier::arrive(std::uint32_t count) {
  if (count >= limit || count > pending_) return Trap::arrivals;
  if (count == 0) return Trap::none;
  pending_ -= count;
  end_phase_if_complete();
  return Trap::none;
}

Mbarrier::Trap Mbarrier::arrive_and_drop(std::uint32_t count) {
  if (count >= limit || count > pending_) return Trap::arrivals;
  if (count == 0) return Trap::none;
  expected_ -= count;
  pending_ -= count;
  end_phase_if_complete();
  return Trap::none;
}

Mbarrier::Trap Mbarrier::expect(std::uint32_t bytes) {
  if (bytes >= limit || !fits(std::int64_t{bytes_} - bytes)) return Trap::bytes;
  if (bytes == 0) return Trap::none;
  bytes_ -= static_cast<std::int32_t>(bytes);
  end_phase_if_complete();
  return Trap::none;
}

Mbarrier::Trap Mbarrier::arrive_expecting(std::uint32_t bytes) {
  if (bytes >= limit || !fits(std::int64_t{bytes_} - bytes)) return Trap::bytes;
  if (pending_ == 0) return Trap::arrivals;
  bytes_ -= static_cast<std::int32_t>(bytes);
  --pending_;
  end_phase_if_complete();
  return Trap::none;
}

Mbarrier::Trap Mbarrier::complete(std::uint32_t bytes) {
  if (bytes >= limit || !fits(std::int64_t{bytes_} + bytes)) return Trap::bytes;
  if (bytes == 0) return Trap::none;
  bytes_ += static_cast<std::int32_t>(bytes);
  end_phase_if_complete();
  return Trap::none;
}

std::uint64_t Mbarrier::word() const {
  constexpr std::uint64_t count_mask = limit - 1, byte_mask = 2 * std::uint64_t{limit} - 1;
  const auto negated = [&](std::uint64_t count) { return (0 - count) & count_mask; };
  const auto bytes = static_cast<std::uint64_t>(std::int64_t{bytes_}) & byte_mask;
  return std::uint64_t{phase_} << 63 | negated(pending_) << 43 | bytes << 21 |
         negated(expected_) << 1;
}

}  // namespace tilevm::backend
