#include "vm/diff/verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "vm/data/hash.h"
#include "vm/diff/permutation.h"

namespace tilevm::vm {

namespace {

using Group = std::vector<std::size_t>;

/// "cuda" of "cuda:O0".
std::string_view engine_kind(std::string_view engine) { return engine.substr(0, engine.find(':')); }

bool all_of_kind(const Group& group, const std::vector<std::string>& engines,
                 std::string_view kind) {
  return std::all_of(group.begin(), group.end(),
                     [&](std::size_t i) { return engine_kind(engines[i]) == kind; });
}

bool has_kind(const Group& group, const std::vector<std::string>& engines, std::string_view kind) {
  return std::any_of(group.begin(), group.end(),
                     [&](std::size_t i) { return engine_kind(engines[i]) == kind; });
}

/// What is suspected of an engine whose bits all others contradict.
std::string suspect_alone(const std::string& alone, bool other_level) {
  const std::string_view kind = engine_kind(alone);
  if (kind == "cuda" && other_level) {
    return fmt::format(
        "the optimiser of ptxas: `{}` stands alone, and another level of optimisation of the same "
        "text gives the others' bits",
        alone);
  }
  if (kind == "cuda") {
    return fmt::format(
        "the CUDA compiler or the device: `{}` stands alone; `cuda:O0` beside it tells whether the "
        "optimiser of ptxas is at fault",
        alone);
  }
  if (kind == "emu" && other_level) {
    return fmt::format(
        "the optimiser of the host's compiler: `{}` stands alone, and another level of "
        "optimisation gives the others' bits",
        alone);
  }
  if (kind == "emu") {
    return fmt::format("the emulated machine or the host's compiler: `{}` stands alone", alone);
  }
  if (kind == "sim") {
    return "the simulator, or the code that was emitted for all others: `sim` stands alone";
  }
  return fmt::format("`{}` stands alone", alone);
}

}  // namespace

SeedVerdict::Kind SeedVerdict::kind() const {
  Kind worst = Kind::exact;
  const auto note = [&](Kind found) { worst = std::max(worst, found); };
  for (const TensorVerdict& tensor : tensors) {
    if (std::holds_alternative<Permuted>(tensor.relation)) note(Kind::permuted);
    if (std::holds_alternative<Different>(tensor.relation)) note(Kind::different);
  }
  for (const PrintVerdict& print : prints) {
    if (print.difference) note(Kind::different);
  }
  for (const Outcome& outcome : outcomes) {
    if (std::holds_alternative<Unstable>(outcome)) note(Kind::unstable);
    if (std::holds_alternative<Faulted>(outcome)) note(Kind::fault);
    if (std::holds_alternative<Stopped>(outcome)) note(Kind::stopped);
  }
  return worst;
}

Exit SeedVerdict::status() const {
  switch (kind()) {
    case Kind::exact:
      return Exit::ok;
    case Kind::stopped:
      return Exit::limit;
    case Kind::different:
    case Kind::permuted:
    case Kind::unstable:
    case Kind::fault:
      break;
  }
  return Exit::fault;
}

std::string_view to_string(SeedVerdict::Kind kind) {
  switch (kind) {
    case SeedVerdict::Kind::exact:
      return "exact";
    case SeedVerdict::Kind::different:
      return "different";
    case SeedVerdict::Kind::permuted:
      return "permuted";
    case SeedVerdict::Kind::unstable:
      return "unstable";
    case SeedVerdict::Kind::stopped:
      return "stopped";
    case SeedVerdict::Kind::fault:
      break;
  }
  return "fault";
}

TensorVerdict judge_tensor(std::size_t tensor, std::size_t engine_a, const HostTensor& a,
                           std::size_t engine_b, const HostTensor& b) {
  TensorVerdict verdict{tensor,          engine_a,      engine_b, content_hash(a),
                        content_hash(b), compare(a, b), Exact{}};
  if (verdict.comparison.different == 0) return verdict;
  verdict.relation = Different{};
  if (auto rule = find_permutation(a, b)) verdict.relation = Permuted{*std::move(rule)};
  return verdict;
}

std::string find_suspect(const std::vector<std::string>& engines,
                         const std::vector<Group>& groups) {
  std::size_t votes = 0;
  for (const Group& group : groups) votes += group.size();
  if (groups.size() != 2 || votes < 3) return {};
  for (std::size_t i = 0; i < 2; ++i) {
    const Group &group = groups[i], &others = groups[1 - i];
    if (group.size() == 1 && others.size() > 1) {
      const std::string& alone = engines[group.front()];
      return suspect_alone(alone, has_kind(others, engines, engine_kind(alone)));
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (all_of_kind(groups[i], engines, "cuda") && !has_kind(groups[1 - i], engines, "cuda")) {
      return "what all levels of the CUDA compiler share, its front end, or the device";
    }
    if (all_of_kind(groups[i], engines, "sim")) {
      return "the simulator, or the code that was emitted for all others";
    }
  }
  return {};
}

}  // namespace tilevm::vm
