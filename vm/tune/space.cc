#include "vm/tune/space.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "backend/emit/emit.h"
#include "frontend/syntax/grammar.h"
#include "isa/base/hash.h"
#include "vm/data/random.h"
#include "vm/run/vm.h"

namespace tilevm::vm::tuning {

namespace {

/// Larger spaces are not listed but drawn from.
constexpr std::uint64_t listed = 200'000;

/// The order in which points are looked at; a part of them, drawn at random, where the space is
/// large.
std::vector<std::uint64_t> order_of(std::uint64_t size, std::uint64_t seed) {
  const std::uint64_t key = random_key(seed, "tune");
  std::vector<std::uint64_t> order;
  if (size > listed) {
    std::set<std::uint64_t> drawn;
    for (std::uint64_t k = 0; drawn.size() < listed; ++k) {
      const std::uint64_t index = splitmix64(key, k) % size;
      if (drawn.insert(index).second) order.push_back(index);
    }
    return order;
  }
  order.resize(size);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint64_t i = size; i > 1; --i) {
    std::swap(order[i - 1], order[splitmix64(key, i) % i]);
  }
  return order;
}

/// Why a point is no candidate: the requirement's words, else the title of the code, so that points
/// with one cause are counted together.
std::string reason_of(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    if (diagnostic.severity != Severity::error) continue;
    if (diagnostic.code == Code::require_failed) return diagnostic.message;
    const auto info = code_info(diagnostic.code);
    return fmt::format("{}: {}", to_string(diagnostic.code), info ? info->title : "");
  }
  return "unknown";
}

std::vector<frontend::Define> joined(std::vector<frontend::Define> a,
                                     const std::vector<frontend::Define>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Space space_of(std::vector<isa::Tunable> tunables, const std::vector<frontend::Define>& fixed) {
  std::erase_if(tunables, [&](const isa::Tunable& tunable) {
    return std::any_of(fixed.begin(), fixed.end(),
                       [&](const frontend::Define& define) { return define.name == tunable.name; });
  });
  return {std::move(tunables)};
}

}  // namespace

std::uint64_t Space::size() const {
  std::uint64_t size = 1;
  for (const isa::Tunable& axis : axes) {
    const std::uint64_t count = axis.choices.size();
    if (size > (std::uint64_t{1} << 63) / count) return std::uint64_t{1} << 63;
    size *= count;
  }
  return size;
}

std::vector<frontend::Define> Space::point(std::uint64_t index) const {
  std::vector<frontend::Define> values(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::uint64_t count = axes[i].choices.size();
    values[i] = {axes[i].name, axes[i].choices[index % count]};
    index /= count;
  }
  return values;
}

Plan make_plan(const std::shared_ptr<const SourceFile>& source, const PlanSettings& settings,
               Diagnostics& diagnostics) {
  Plan plan;
  plan.source = source;
  const auto tree = frontend::parse(*source, diagnostics);
  if (!tree) return plan;
  Diagnostics at_default;  // the default point may break a requirement; others need not
  const Space space =
      space_of(frontend::evaluate_constants(*tree, *source, settings.fixed, at_default).tunables,
               settings.fixed);
  plan.size = space.size();
  for (const std::uint64_t index : order_of(plan.size, settings.seed)) {
    if (plan.candidates.size() == settings.most) break;
    ++plan.seen;
    std::vector<frontend::Define> point = space.point(index);
    const std::vector<frontend::Define> defines = joined(settings.fixed, point);
    Diagnostics own;
    (void)frontend::evaluate_constants(*tree, *source, defines, own);  // the cheap check first
    Loaded loaded{source, Diagnostics{}, std::nullopt};
    if (!own.has_errors()) {
      loaded = load(source, defines, settings.target);
      own = loaded.diagnostics;
    }
    if (!loaded.program) {
      ++plan.rejected[reason_of(own)];
      if (plan.size == 1) {
        diagnostics = own;
        plan.source = loaded.source;
      }
      continue;
    }
    const std::string text = backend::emit_cuda(*loaded.program).text;
    const std::string whole = fmt::format("{}\n{}\n{}", settings.what, to_string(defines), text);
    plan.candidates.push_back({std::move(point), format_hash(xxh64(whole))});
  }
  plan.exhaustive = plan.seen == plan.size;
  return plan;
}

std::string to_string(const std::vector<frontend::Define>& point) {
  std::string text;
  for (const frontend::Define& define : point) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", define.name, define.value);
  }
  return text;
}

}  // namespace tilevm::vm::tuning
