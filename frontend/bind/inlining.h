// What the calls, lists and constant loops of a program have in common while it is bound.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/base/diagnostic.h"
#include "isa/base/source.h"

namespace tilevm::frontend {

/// Bounds what a short program may expand to, in time, memory and depth.
class Inlining {
 public:
  /// `text` gets a copy of the text of each inlined call.
  explicit Inlining(SourceFile& text) : source(text), stack_(here()) {}

  /// Counts steps of the binder; false, and one report, if there were too many.
  bool spend(std::size_t steps, Span span, Diagnostics& diagnostics) {
    constexpr std::size_t most = 2'000'000;
    spent_ += steps;
    if (spent_ <= most) return true;
    if (!reported_) {
      diagnostics.error(Code::program_too_large, span,
                        "the program's lists, calls and constant loops take too long to expand");
    }
    reported_ = true;
    return false;
  }

  /// Whether the calls and expressions around this one leave little of the stack.
  [[nodiscard]] bool is_deep() const {
    constexpr std::uintptr_t most = std::uintptr_t{1} << 20;
    const std::uintptr_t now = here();
    return (now > stack_ ? now - stack_ : stack_ - now) > most;
  }

  SourceFile& source;

 private:
  static std::uintptr_t here() {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  }

  std::uintptr_t stack_;
  std::size_t spent_ = 0;
  bool reported_ = false;
};

}  // namespace tilevm::frontend
