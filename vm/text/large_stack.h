// Work that recurses deeply, called from a thread whose stack may be small: of a host, or of a
// shell with a low `ulimit -s`.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

namespace tilevm::vm {

/// Stack that the deepest program needs, many times over.
inline constexpr std::size_t large_stack_bytes = std::size_t{1} << 24;

/// Calls `work` on a thread with a large stack, and waits for it; on this thread if the system
/// gives no other one. `work` throws nothing.
void run_on_large_stack(const std::function<void()>& work);

/// The result of `work`, or what it throws.
template <class Work>
auto on_large_stack(const Work& work) {
  std::optional<decltype(work())> result;
  std::exception_ptr thrown;
  run_on_large_stack([&] {
    try {
      result.emplace(work());
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
  return *std::move(result);
}

}  // namespace tilevm::vm
