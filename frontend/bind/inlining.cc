#include "frontend/bind/inlining.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

namespace tilevm::frontend {
namespace {

Cost& operator+=(Cost& sum, Cost more) {
  sum.steps += more.steps;
  sum.bytes += more.bytes;
  return sum;
}

/// What a layout has on the heap, about.
std::size_t heap_bytes(const isa::RegisterLayout& layout) {
  return (layout.shape().size() + 3 * layout.mode_shape().size()) * sizeof(std::int64_t);
}
std::size_t heap_bytes(const isa::MemoryLayout& layout) {
  return (layout.shape().size() + 2 * layout.mode_shape().size()) * sizeof(std::int64_t);
}
template <class T>
std::size_t heap_bytes(const T&) {
  return 0;
}

/// The bytes of a variant that may hold a list, in an element of `bytes`.
template <class Variant>
Cost cost_of_variant(const Variant& value, std::size_t bytes) {
  return std::visit(
      [&]<class T>(const T& x) {
        Cost cost{1, bytes + heap_bytes(x)};
        if constexpr (std::is_same_v<T, ValueList> || std::is_same_v<T, ConstantList>) {
          cost += cost_of(x);
        }
        return cost;
      },
      value);
}

class TreeCounter {
 public:
  explicit TreeCounter(std::size_t most) : most_(most) {}

  TreeSize count(const isa::Expr& expr, std::size_t above) {
    ++size_.nodes;
    size_.height = std::max(size_.height, above + 1);
    // The height is a bound of this function's own recursion, too.
    if (size_.nodes > most_ || above > most_height) return size_;
    std::visit([&](const auto& node) { visit(node, above + 1); }, expr.node());
    return size_;
  }

 private:
  static constexpr std::size_t most_height = 4096;

  void visit(const isa::Expr::Constant&, std::size_t) {}
  void visit(const isa::Expr::Variable&, std::size_t) {}
  void visit(const isa::Expr::Unary& node, std::size_t above) { (void)count(node.a, above); }
  void visit(const isa::Expr::Convert& node, std::size_t above) { (void)count(node.a, above); }
  void visit(const isa::Expr::Binary& node, std::size_t above) {
    (void)count(node.a, above);
    (void)count(node.b, above);
  }
  void visit(const isa::Expr::Select& node, std::size_t above) {
    (void)count(node.condition, above);
    (void)count(node.a, above);
    (void)count(node.b, above);
  }

  std::size_t most_;
  TreeSize size_;
};

}  // namespace

Cost cost_of(const Value& value) { return cost_of_variant(value.node, sizeof(Value)); }

Cost cost_of(const ValueList& list) {
  Cost cost;
  for (const Value& each : list) cost += cost_of(each);
  return cost;
}

Cost cost_of(const ConstantValue& value) { return cost_of_variant(value, sizeof(ConstantElement)); }

Cost cost_of(const ConstantList& list) {
  Cost cost;
  for (const ConstantElement& each : list.values) cost += cost_of(each.value);
  return cost;
}

TreeSize size_of(const isa::Expr& expr, std::size_t most) {
  return TreeCounter(most).count(expr, 0);
}

bool Inlining::spend(Cost cost, Span span, Diagnostics& diagnostics) {
  steps_ += cost.steps;
  bytes_ += cost.bytes;
  if (steps_ <= most_steps && bytes_ <= most_bytes) return true;
  if (!reported_) {
    diagnostics.error(
        Code::program_too_large, span,
        steps_ > most_steps
            ? fmt::format("the program's lists, calls and constant loops take too long to "
                          "expand: more than {} steps",
                          most_steps)
            : fmt::format("the program's lists take more than {} MiB", most_bytes >> 20));
  }
  reported_ = true;
  return false;
}

}  // namespace tilevm::frontend
