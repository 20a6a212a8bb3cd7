#include "isa/numeric/target.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "isa/base/suggest.h"

namespace tilevm::isa {

namespace {

constexpr std::int64_t kilobyte = 1024;

/// Which suffixes code of an architecture may have.
enum class Suffixes : std::uint8_t { none, architecture, both };

struct Architecture {
  int sm;
  Suffixes suffixes;
  bool compiled_with_suffix;  ///< the plain form stands for the suffixed one
  std::int64_t shared;        ///< bytes of shared memory of a block
};

constexpr std::array architecture_rows{
    Architecture{80, Suffixes::none, false, 163 * kilobyte},
    Architecture{86, Suffixes::none, false, 99 * kilobyte},
    Architecture{88, Suffixes::none, false, 99 * kilobyte},
    Architecture{89, Suffixes::none, false, 99 * kilobyte},
    Architecture{90, Suffixes::architecture, true, 227 * kilobyte},
    Architecture{100, Suffixes::both, true, 227 * kilobyte},
    Architecture{103, Suffixes::both, true, 227 * kilobyte},
    Architecture{107, Suffixes::both, true, 227 * kilobyte},
    Architecture{110, Suffixes::both, true, 227 * kilobyte},
    Architecture{120, Suffixes::both, false, 99 * kilobyte},
    Architecture{121, Suffixes::both, false, 99 * kilobyte},
};

/// The row of a target. An architecture of before sm_80, of which only the arithmetic is known, has
/// none.
const Architecture* architecture_of(const Target& target) {
  const auto* const found = std::ranges::find(architecture_rows, target.sm, &Architecture::sm);
  return found == architecture_rows.end() ? nullptr : found;
}

std::vector<Target> make_targets() {
  std::vector<Target> targets;
  for (const Architecture& each : architecture_rows) {
    targets.push_back({each.sm, false, false});
    if (each.suffixes == Suffixes::both) targets.push_back({each.sm, false, true});
    if (each.suffixes != Suffixes::none) targets.push_back({each.sm, true, false});
  }
  return targets;
}

}  // namespace

const std::vector<Target>& known_targets() {
  static const std::vector<Target> targets = make_targets();
  return targets;
}

Target fullest_target(int sm) {
  Target found{sm, false};
  for (const Target& target : known_targets()) {
    if (target.sm == sm) found = target;
  }
  return found;
}

std::string to_string(const Target& target) {
  return fmt::format("sm_{}{}", target.sm, target.feature ? "a" : target.family ? "f" : "");
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
  const Architecture* const each = architecture_of(target);
  return each == nullptr ? 48 * kilobyte : each->shared;
}

Target compile_target(const Target& target) {
  const Architecture* const each = architecture_of(target);
  if (has_suffix(target) || each == nullptr || !each->compiled_with_suffix) return target;
  return {target.sm, true, false};
}

}  // namespace tilevm::isa
