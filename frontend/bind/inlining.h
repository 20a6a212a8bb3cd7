// What the calls, lists and constant loops of a program have in common while it is bound: a budget
// of steps and of memory.
//
// A list is copied when its name is used, and what holds lists is copied whole, so a short text can
// ask for any amount. The binder counts before it copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frontend/bind/bind_scope.h"
#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "isa/inst/expr.h"

namespace tilevm::frontend {

/// What a copy of a value takes, with all that it holds.
[[nodiscard]] Cost cost_of(const Value& value);
[[nodiscard]] Cost cost_of(const ValueList& list);
[[nodiscard]] Cost cost_of(const ConstantValue& value);
[[nodiscard]] Cost cost_of(const ConstantList& list);

/// How large an expression is as a tree, in which shared parts count as often as they are used.
/// Counting ends at `most` nodes.
struct TreeSize {
  std::size_t nodes = 0;
  std::size_t height = 0;
};
[[nodiscard]] TreeSize size_of(const isa::Expr& expr, std::size_t most);

/// Bounds what a short program may expand to, in time, memory and depth: one budget for all that
/// its constants, lists, calls and constant loops make.
class Inlining {
 public:
  static constexpr std::size_t most_steps = 2'000'000;
  static constexpr std::size_t most_bytes = std::size_t{256} << 20;

  /// `text` gets a copy of the text of each inlined call.
  explicit Inlining(SourceFile& text) : source(text), stack_(here()) {}

  /// Counts what the binder is about to do; false, and one report, if it is too much.
  bool spend(Cost cost, Span span, Diagnostics& diagnostics);

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
  std::size_t steps_ = 0, bytes_ = 0;
  bool reported_ = false;
};

}  // namespace tilevm::frontend
