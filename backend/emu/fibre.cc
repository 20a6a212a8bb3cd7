#include "backend/emu/fibre.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include <boost/context/detail/fcontext.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define TILEVM_ASAN_FIBRES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TILEVM_ASAN_FIBRES 1
#endif
#endif
#ifdef TILEVM_ASAN_FIBRES
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace tilevm::backend {
namespace {

namespace context = boost::context::detail;

char* stack_begin(emu::Lane* lane) {
  char* const at = reinterpret_cast<char*>(lane);
  return at - reinterpret_cast<std::uintptr_t>(lane) % emu::stack_bytes;
}

// AddressSanitizer must know of each switch: which stack comes next, and when it is there.
void begin_switch([[maybe_unused]] void** kept, [[maybe_unused]] const void* stack,
                  [[maybe_unused]] std::size_t size) {
#ifdef TILEVM_ASAN_FIBRES
  __sanitizer_start_switch_fiber(kept, stack, size);
#endif
}
void end_switch([[maybe_unused]] void* kept, [[maybe_unused]] const void** stack,
                [[maybe_unused]] std::size_t* size) {
#ifdef TILEVM_ASAN_FIBRES
  __sanitizer_finish_switch_fiber(kept, stack, size);
#endif
}
// Redzones of a fibre that was dropped must not be those of the next one, nor of whatever is mapped
// there next.
void forget_stack([[maybe_unused]] char* stack) {
#ifdef TILEVM_ASAN_FIBRES
  const auto page = static_cast<std::size_t>(getpagesize());
  __asan_unpoison_memory_region(stack + page, emu::stack_bytes - page);
#endif
}

}  // namespace

StackPool::~StackPool() {
  for (void* stack : all_) {
    forget_stack(static_cast<char*>(stack));
    munmap(stack, emu::stack_bytes);
  }
}

Result<emu::Lane*> StackPool::take() {
  if (!free_.empty()) {
    emu::Lane* const lane = free_.back();
    free_.pop_back();
    return lane;
  }
  // Twice the size contains an aligned stack; the rest goes back.
  constexpr std::size_t size = emu::stack_bytes;
  void* const mapped = mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return Error{ErrorKind::limit, "the system gives no more stacks for emulated threads"};
  }
  char* const from = static_cast<char*>(mapped);
  const std::size_t before = (size - reinterpret_cast<std::size_t>(from) % size) % size;
  if (before > 0) munmap(from, before);
  if (before < size) munmap(from + before + size, size - before);
  char* const stack = from + before;
  if (mprotect(stack, static_cast<std::size_t>(getpagesize()), PROT_NONE) != 0) {
    munmap(stack, size);
    return Error{ErrorKind::limit, "the system gives no more stacks for emulated threads"};
  }
  all_.push_back(stack);
  return emu::lane_of_stack(reinterpret_cast<std::uintptr_t>(stack));
}

/// What runs first on a fibre's stack.
struct FibreEntry {
  static void run(context::transfer_t from) {
    auto& fibre = *static_cast<Fibre*>(from.data);
    fibre.other_ = from.fctx;
    end_switch(nullptr, &fibre.caller_stack_, &fibre.caller_size_);
    fibre.body_(fibre.lane_);
    fibre.ended_ = true;
    begin_switch(nullptr, fibre.caller_stack_, fibre.caller_size_);
    context::jump_fcontext(fibre.other_, nullptr);
  }
};

void Fibre::prepare(emu::Lane* lane, Body body) {
  if (other_ != nullptr && !ended_) forget_stack(stack_begin(lane));
  lane_ = lane;
  body_ = body;
  ended_ = false;
  // The stack grows down from the lane, which it keeps its distance from by 64 bytes.
  char* const top = reinterpret_cast<char*>(lane) - reinterpret_cast<std::size_t>(lane) % 64 - 64;
  other_ = context::make_fcontext(top, static_cast<std::size_t>(top - stack_begin(lane)),
                                  FibreEntry::run);
}

bool Fibre::resume() {
  void* kept = nullptr;
  begin_switch(&kept, stack_begin(lane_), emu::stack_bytes);
  other_ = context::jump_fcontext(other_, this).fctx;
  end_switch(kept, nullptr, nullptr);
  return !ended_;
}

void Fibre::pause() {
  void* kept = nullptr;
  begin_switch(&kept, caller_stack_, caller_size_);
  other_ = context::jump_fcontext(other_, nullptr).fctx;
  end_switch(kept, &caller_stack_, &caller_size_);
}

}  // namespace tilevm::backend
