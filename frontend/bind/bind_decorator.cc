#include "frontend/bind/bind_decorator.h"
#include "frontend/bind/expressions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace tilevm::frontend {
namespace {

using Numbers = std::vector<std::optional<std::int64_t>>;

struct DecoratorRule {
  std::string_view name, arguments, takes;
  std::size_t most;  ///< most numbers that it takes
  /// Takes the numbers, as far as they are known; false if they cannot be.
  bool (*set)(isa::Kernel& kernel, const Numbers& numbers);
};

bool set_split_barriers(isa::Kernel& kernel, const Numbers& numbers) {
  const std::optional<std::int64_t> number = numbers.front();
  kernel.split_barriers = number == 1;
  return number.value_or(0) == 0 || number == 1;
}

bool set_cluster(isa::Kernel& kernel, const Numbers& numbers) {
  kernel.cluster.clear();
  for (const auto& number : numbers) kernel.cluster.push_back(number.value_or(1));
  return true;
}

constexpr DecoratorRule decorators[] = {
    {"threads", "(n)", "one number of threads", 1,
     [](isa::Kernel& kernel, const Numbers& numbers) {
       kernel.threads = numbers.front();
       return true;
     }},
    {"resident", "(n)", "one number of blocks", 1,
     [](isa::Kernel& kernel, const Numbers& numbers) {
       kernel.resident = numbers.front().value_or(1);
       return true;
     }},
    {"split_barriers", "(n)", "0 or 1", 1, set_split_barriers},
    {"cluster", "(x, ..)", "the blocks of a cluster along one to three extents of the grid", 3,
     set_cluster},
};

std::string text_of(const DecoratorRule& rule) {
  return fmt::format("`@{}{}`", rule.name, rule.arguments);
}

/// "`@threads(n)`, `@resident(n)` and `@split_barriers(n)`".
std::string list_decorators() {
  std::vector<std::string> names;
  for (const DecoratorRule& rule : decorators) names.push_back(text_of(rule));
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

}  // namespace

std::vector<std::string> decorator_names() {
  std::vector<std::string> names;
  for (const DecoratorRule& rule : decorators) names.emplace_back(rule.name);
  return names;
}

void bind_decorator(const ast::Decorator& decorator, const BindScope& scope, isa::Kernel& kernel) {
  const std::string& name = decorator.name.text;
  const auto* rule = std::ranges::find(decorators, name, &DecoratorRule::name);
  if (rule == std::end(decorators)) {
    scope.diagnostics.error(
        Code::unknown_decorator, decorator.name.span,
        fmt::format("unknown decorator `@{}`; there are {}", name, list_decorators()));
    return;
  }
  Numbers numbers;
  bool well = !decorator.args.empty() && decorator.args.size() <= rule->most;
  for (const auto& argument : decorator.args) {
    well = well && !argument.name;
    if (well) numbers.push_back(bind_integer(argument.value, scope));
  }
  if (!well || !rule->set(kernel, numbers)) {
    scope.diagnostics.error(Code::missing_operand, decorator.span,
                            fmt::format("{} takes {}", text_of(*rule), rule->takes));
  }
}

}  // namespace tilevm::frontend
