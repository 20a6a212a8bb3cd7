#include "sim/state/global_history.h"

namespace tilevm::sim {

void BufferHistory::clear() {
  read.clear();
  written.clear();
  recent.clear();
  marks.clear();
  replicated.clear();
  marking = false;
}

}  // namespace tilevm::sim
