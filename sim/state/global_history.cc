#include "sim/state/global_history.h"

namespace tilevm::sim {

IntervalSet& TouchedBits::of(const AccessType& type) {
  switch (type.kind) {
    case AccessKind::read:
      return read;
    case AccessKind::combine:
      break;
    case AccessKind::write:
      return written;
  }
  for (CombinedBits& each : combined) {
    if (each.combination == type.combination) return each.bits;
  }
  return combined.emplace_back(CombinedBits{type.combination, {}}).bits;
}

std::size_t TouchedBits::size() const {
  std::size_t size = read.size() + written.size();
  for (const CombinedBits& each : combined) size += each.bits.size();
  return size;
}

void TouchedBits::add(const TouchedBits& other) {
  read.add(other.read);
  for (const CombinedBits& each : other.combined) of(each.type()).add(each.bits);
  written.add(other.written);
}

void TouchedBits::clear() {
  read.clear();
  combined.clear();
  written.clear();
}

void BufferHistory::clear() {
  touched.clear();
  recent.clear();
  marks.clear();
  replicated.clear();
  marking = false;
}

}  // namespace tilevm::sim
