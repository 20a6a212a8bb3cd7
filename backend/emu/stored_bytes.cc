#include "backend/emu/stored_bytes.h"

namespace tilevm::backend {

void StoredBytes::clear() {
  if (!groups_.empty()) groups_.clear();
}

/// A byte that several threads stored does not say which thread stored which bits.
std::optional<unsigned> StoredBytes::note(Byte& byte, unsigned thread, unsigned char value,
                                          unsigned char mask) {
  std::optional<unsigned> other;
  const bool differs = (byte.mask & mask & (byte.value ^ value)) != 0;
  if (differs && byte.thread != several && byte.thread != thread) other = byte.thread;
  const bool is_replaced = (byte.mask & ~mask) == 0;
  byte.thread = is_replaced || byte.thread == thread ? static_cast<std::uint16_t>(thread) : several;
  byte.value = static_cast<unsigned char>((byte.value & ~mask) | (value & mask));
  byte.mask = static_cast<unsigned char>(byte.mask | mask);
  return other;
}

std::optional<unsigned> StoredBytes::store(unsigned thread, const unsigned char* address,
                                           const unsigned char* bytes, const unsigned char* masks,
                                           unsigned count) {
  std::optional<unsigned> other;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (unsigned i = 0; i < count; ++i) {
    const std::uintptr_t at = begin + i;
    const unsigned char mask = masks != nullptr ? masks[i] : 0xff;
    if (mask == 0) continue;
    const auto found = note(groups_[at / in_group][at % in_group], thread, bytes[i], mask);
    if (found && !other) other = found;
  }
  return other;
}

}  // namespace tilevm::backend
