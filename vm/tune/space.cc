#include "vm/tune/space.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/emit.h"
#include "frontend/syntax/grammar.h"
#include "isa/base/hash.h"
#include "vm/data/random.h"
#include "vm/run/entry.h"
#include "vm/run/vm.h"
#include "vm/tune/least_time.h"

namespace tilevm::vm::tuning {

namespace {

/// Points of larger spaces are drawn, and never all.
constexpr std::uint64_t listed = 200'000;

/// The numbers below `size` in a random order.
std::vector<std::uint64_t> order_of(std::uint64_t size, std::uint64_t key) {
  std::vector<std::uint64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint64_t i = size; i > 1; --i) {
    std::swap(order[i - 1], order[splitmix64(key, i) % i]);
  }
  return order;
}

std::size_t position_of(const isa::Tunable& axis, const std::string& value) {
  const auto found = std::find(axis.choices.begin(), axis.choices.end(), value);
  return static_cast<std::size_t>(found - axis.choices.begin());
}

/// Why a point is not a candidate: the requirement's words, else the title of the code, so that
/// points with one cause are counted together.
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

std::optional<std::uint64_t> Space::index_of(std::string_view point) const {
  std::map<std::string, std::string> named;
  std::istringstream words{std::string(point)};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) named[word.substr(0, equals)] = word.substr(equals + 1);
  }
  std::uint64_t index = 0;
  for (const isa::Tunable& axis : axes) {
    const auto found = named.find(axis.name);
    const std::size_t choice = position_of(axis, found == named.end() ? axis.value : found->second);
    if (choice == axis.choices.size()) return std::nullopt;
    index = index * axis.choices.size() + choice;
  }
  return index;
}

std::vector<std::uint64_t> Space::neighbours(std::uint64_t index) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;  // by distance
  std::uint64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::uint64_t count = axes[i].choices.size(), own = index / stride % count;
    for (std::uint64_t other = 0; other < count; ++other) {
      if (other == own) continue;
      const std::uint64_t distance = other > own ? other - own : own - other;
      found.emplace_back(distance, index - own * stride + other * stride);
    }
    stride *= count;
  }
  std::sort(found.begin(), found.end());
  std::vector<std::uint64_t> indices;
  for (const auto& [distance, neighbour] : found) indices.push_back(neighbour);
  return indices;
}

Points::Points(std::shared_ptr<const SourceFile> source, PointsSettings settings,
               Diagnostics& diagnostics)
    : source_(std::move(source)), settings_(std::move(settings)) {
  tree_ = frontend::parse(*source_, diagnostics);
  if (!tree_) return;
  Diagnostics at_default;  // the default point may break a requirement; others need not
  space_ =
      space_of(frontend::evaluate_constants(*tree_, *source_, settings_.fixed, at_default).tunables,
               settings_.fixed);
  if (space_.size() <= listed) {
    order_ = order_of(space_.size(), random_key(settings_.seed, "tune"));
  }
  if (space_.size() == 1 && look_at(0) == nullptr) {
    Diagnostics why;
    (void)make(0, why);
    diagnostics = why;
  }
}

std::optional<Candidate> Points::make(std::uint64_t index, Diagnostics& why) {
  Candidate candidate{index, space_.point(index), {}, 0};
  const std::vector<frontend::Define> defines = joined(settings_.fixed, candidate.point);
  (void)frontend::evaluate_constants(*tree_, *source_, defines, why);  // the cheap check first
  if (why.has_errors()) return std::nullopt;
  const Loaded loaded = load(source_, defines, settings_.target);
  why = loaded.diagnostics;
  if (!loaded.program) {
    if (space_.size() == 1) source_ = loaded.source;
    return std::nullopt;
  }
  const backend::CudaSource emitted = backend::emit_cuda(*loaded.program);
  std::string what = fmt::format("{}\n{}", settings_.entry, settings_.kernel);
  for (const std::string& input : settings_.inputs) what += "\n" + input;
  const std::string whole = fmt::format("{}\n{}\n{}", what, to_string(defines), emitted.text);
  candidate.key = format_hash(xxh64(whole));
  if (const Result<Entry> entry =
          resolve_entry(*loaded.program, settings_.entry, {settings_.inputs, {}})) {
    candidate.least_us =
        least_time(*loaded.program, emitted, *entry, settings_.kernel, settings_.multiprocessors);
  }
  return candidate;
}

const Candidate* Points::look_at(std::uint64_t index) {
  const auto [at, is_new] = looked_at_.try_emplace(index);
  if (is_new) {
    Diagnostics why;
    at->second = make(index, why);
    if (at->second) {
      ++legal_;
    } else {
      ++rejected_[reason_of(why)];
    }
  }
  return at->second ? &*at->second : nullptr;
}

std::optional<std::uint64_t> Points::draw() {
  if (!order_.empty()) {
    if (draws_ == order_.size()) return std::nullopt;
    return order_[draws_++];
  }
  const std::uint64_t key = random_key(settings_.seed, "tune"), size = space_.size();
  while (tree_ && drawn_.size() < listed) {
    const std::uint64_t index = splitmix64(key, draws_++) % size;
    if (drawn_.insert(index).second) return index;
  }
  return std::nullopt;
}

std::string to_string(const std::vector<frontend::Define>& point) {
  std::string text;
  for (const frontend::Define& define : point) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", define.name, define.value);
  }
  return text;
}

}  // namespace tilevm::vm::tuning
