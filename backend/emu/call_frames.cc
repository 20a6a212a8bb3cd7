#include "backend/emu/call_frames.h"

#include <unwind.h>

#include <array>

namespace tilevm::backend {

std::vector<const void*> call_frames() {
  constexpr std::size_t max_frames = 16;
  struct Walk {
    std::array<const void*, max_frames> frames{};
    std::size_t count = 0;
  } walk;
  const auto visit = [](_Unwind_Context* context, void* into) {
    auto& to = *static_cast<Walk*>(into);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the unwinder gives numbers
    to.frames[to.count++] = reinterpret_cast<const void*>(_Unwind_GetIP(context));
    return to.count < max_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
  };
  _Unwind_Backtrace(visit, &walk);
  // In parentheses: two pointers in braces would be the elements.
  return std::vector<const void*>(walk.frames.begin(), walk.frames.begin() + walk.count);
}

}  // namespace tilevm::backend
