#include "sim/state/global_history.h"

namespace tilevm::sim {

void TouchedBits::add(const TouchedBits& other) {
  read.add(other.read);
  combined.add(other.combined);
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
