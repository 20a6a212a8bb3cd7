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

struct DecoratorRule {
  std::string_view name, takes;
  /// Takes the number, if it is known; false if it cannot be.
  bool (*set)(isa::Kernel& kernel, std::optional<std::int64_t> number);
};

bool set_split_barriers(isa::Kernel& kernel, std::optional<std::int64_t> number) {
  kernel.split_barriers = number == 1;
  return number.value_or(0) == 0 || number == 1;
}

constexpr DecoratorRule decorators[] = {
    {"threads", "one number of threads",
     [](isa::Kernel& kernel, std::optional<std::int64_t> number) {
       kernel.threads = number;
       return true;
     }},
    {"resident", "one number of blocks",
     [](isa::Kernel& kernel, std::optional<std::int64_t> number) {
       kernel.resident = number.value_or(1);
       return true;
     }},
    {"split_barriers", "0 or 1", set_split_barriers},
};

/// "`@threads(n)`, `@resident(n)` and `@split_barriers(n)`".
std::string list_decorators() {
  std::vector<std::string> names = decorator_names();
  for (std::string& name : names) name = fmt::format("`@{}(n)`", name);
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
  const bool one = decorator.args.size() == 1 && !decorator.args[0].name;
  if (!one || !rule->set(kernel, bind_integer(decorator.args[0].value, scope))) {
    scope.diagnostics.error(Code::missing_operand, decorator.span,
                            fmt::format("`@{}(n)` takes {}", name, rule->takes));
  }
}

}  // namespace tilevm::frontend
