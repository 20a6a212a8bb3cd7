#include "isa/numeric/target.h"

#include <fmt/format.h>

#include "isa/base/suggest.h"

namespace tilevm::isa {

const std::vector<Target>& known_targets() {
  static const std::vector<Target> targets{{80, false}, {86, false},  {89, false},
                                           {90, false}, {90, true},   {100, false},
                                           {100, true}, {120, false}, {120, true}};
  return targets;
}

std::string to_string(const Target& target) {
  return fmt::format("sm_{}{}", target.sm, target.feature ? "a" : "");
}

Result<Target> parse_target(std::string_view text) {
  std::vector<std::string> names;
  std::string list;
  for (const Target& target : known_targets()) {
    const std::string name = to_string(target);
    if (text == name || text == std::string_view(name).substr(3)) return target;
    names.push_back(name);
    list += (list.empty() ? "" : ", ") + name;
  }
  const std::string near = nearest(text, names);
  return Error{ErrorKind::usage,
               fmt::format("unknown target `{}`{}; known targets are {}", text.substr(0, 40),
                           near.empty() ? "" : fmt::format("; did you mean `{}`?", near), list)};
}

std::int64_t max_shared_bytes(const Target& target) {
  constexpr std::int64_t kilobyte = 1024;
  if (target.sm == 80) return 163 * kilobyte;
  if (target.sm == 90 || target.sm == 100) return 227 * kilobyte;
  return 99 * kilobyte;
}

Target compile_target(const Target& target) {
  return {target.sm, target.feature || target.sm == 90 || target.sm == 100};
}

}  // namespace tilevm::isa
