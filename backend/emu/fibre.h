// Fibres: functions with stacks of their own, of which one runs until it switches to another.
//
// A fibre here is a CUDA thread. Its stack ends with a Lane (backend/emu/lane.h), is lazily backed
// by memory, and begins with a page that nothing may touch. Switching takes about 10 ns
// (Boost.Context).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/emu/lane.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// The stacks of a worker, handed out again and again.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  /// The lane at the end of a free stack. Error (limit): the system gives no more memory.
  [[nodiscard]] Result<emu::Lane*> take();
  void give_back(emu::Lane* lane) { free_.push_back(lane); }

 private:
  std::vector<void*> all_;
  std::vector<emu::Lane*> free_;
};

/// A function on a stack. A fibre that is dropped where it paused is not unwound: at a pause it
/// must own nothing.
class Fibre {
 public:
  using Body = void (*)(emu::Lane*);

  /// Will run `body` on the lane's stack. Whoever resumes it waits meanwhile.
  void prepare(emu::Lane* lane, Body body);
  /// Runs the fibre until it pauses (true) or ends (false).
  bool resume();
  /// Called on the fibre: gives control back to who resumed it.
  void pause();

 private:
  static void enter(Fibre& fibre);
  void* other_ = nullptr;  ///< where the one that does not run stands
  emu::Lane* lane_ = nullptr;
  Body body_ = nullptr;
  bool ended_ = false;
  // What AddressSanitizer knows of the stack of who resumed.
  const void* caller_stack_ = nullptr;
  std::size_t caller_size_ = 0;
  friend struct FibreEntry;
};

}  // namespace tilevm::backend
