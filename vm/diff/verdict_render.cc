#include "vm/diff/verdict_render.h"

#include <fmt/format.h>

#include "isa/base/render.h"
#include "vm/data/hash.h"
#include "vm/text/style.h"

namespace tilevm::vm {

namespace {

template <class... F>
struct Overloads : F... {
  using F::operator()...;
};
template <class... F>
Overloads(F...) -> Overloads<F...>;

std::string first_message(const Failure& failure) {
  if (const auto* error = std::get_if<Error>(&failure)) return error->message;
  const auto& diagnostics = std::get<Diagnostics>(failure);
  const auto sorted = diagnostics.sorted();
  return sorted.empty() ? std::string("no message") : sorted.front().message;
}

/// The failure in full, ended by a line break.
std::string whole_text(const Failure& failure, const SourceFile& source) {
  if (const auto* error = std::get_if<Error>(&failure)) return error->message + "\n";
  return render(std::get<Diagnostics>(failure), source, false);
}

/// "sim = emu = cuda:O0 != cuda".
std::string groups_text(const SeedVerdict& verdict) {
  std::string text;
  for (const auto& group : verdict.agreement.groups) {
    if (!text.empty()) text += " != ";
    for (std::size_t i = 0; i < group.size(); ++i) {
      text += (i == 0 ? "" : " = ") + verdict.engines[group[i]];
    }
  }
  return text;
}

/// The lines of one seed.
class SeedText {
 public:
  SeedText(const DiffCase& what, const SeedRun& run, const VerdictStyle& style)
      : what_(what), run_(run), verdict_(run.verdict), style_(style) {
    if (style.several_seeds) prefix_ = fmt::format("seed {}: ", verdict_.seed);
  }

  std::string text() {
    for (const PrintVerdict& print : verdict_.prints) add_prints(print);
    for (const TensorVerdict& tensor : verdict_.tensors) add_tensor(tensor);
    for (std::size_t i = 0; i < verdict_.outcomes.size(); ++i) add_outcome(i);
    const bool many = verdict_.engines.size() > 2;
    if (many && verdict_.agreement.groups.size() > 1) {
      text_ += fmt::format("{}{}\n", prefix_, groups_text(verdict_));
    }
    if (!verdict_.agreement.suspect.empty()) {
      text_ += fmt::format("{}suspect {}\n", prefix_, verdict_.agreement.suspect);
    }
    return std::move(text_);
  }

 private:
  [[nodiscard]] std::string good(std::string_view text) const {
    return paint(text, Style::green, style_.color);
  }
  [[nodiscard]] std::string bad(std::string_view text) const {
    return paint(text, Style::red, style_.color);
  }
  [[nodiscard]] const std::string& name(std::size_t engine) const {
    return verdict_.engines[engine];
  }
  /// The pair, where there is more than one.
  [[nodiscard]] std::string pair(std::size_t a, std::size_t b) const {
    return verdict_.engines.size() > 2 ? fmt::format(" in {} and {}", name(a), name(b)) : "";
  }

  void add_prints(const PrintVerdict& print) {
    if (!print.difference) {
      text_ += fmt::format("{}prints: {}{} ({})\n", prefix_, good("exact"), pair(print.a, print.b),
                           print.count);
      return;
    }
    text_ +=
        fmt::format("{}prints: {}; the first in {}:\n{}and in {}:\n{}", prefix_, bad("different"),
                    name(print.a), print.difference->a, name(print.b), print.difference->b);
  }

  void add_tensor(const TensorVerdict& tensor) {
    const HostTensor& data = run_.runs[tensor.a].tensors[tensor.tensor];
    const Comparison& comparison = tensor.comparison;
    text_ += fmt::format("{}{}: ", prefix_, what_.entry.tensors[tensor.tensor].name);
    std::visit(
        Overloads{[&](const Exact&) {
                    text_ += fmt::format("{}{} ({} elements, hash {})\n", good("exact"),
                                         pair(tensor.a, tensor.b), comparison.elements,
                                         format_hash(tensor.hash_a));
                  },
                  [&](const Different&) { add_difference(tensor, data, "different", ""); },
                  [&](const Permuted& permuted) {
                    const std::string rule =
                        permuted.rule.empty()
                            ? std::string("the same elements at other places, by no simple rule")
                            : "the same elements at other places: " + permuted.rule;
                    add_difference(tensor, data, "permuted", "  " + rule + "\n");
                  }},
        tensor.relation);
  }

  void add_difference(const TensorVerdict& tensor, const HostTensor& data, std::string_view word,
                      const std::string& more) {
    const Comparison& comparison = tensor.comparison;
    text_ += fmt::format("{}, {} of {} elements ({} against {})\n", bad(word), comparison.different,
                         comparison.elements, name(tensor.a), name(tensor.b));
    text_ += fmt::format("  first {}\n", format_difference(data, *comparison.first));
    text_ += fmt::format("  worst {}\n", format_difference(data, *comparison.worst));
    text_ += more;
  }

  void add_outcome(std::size_t engine) {
    const auto add_failure = [&](std::string_view word, const Failure& failure) {
      text_ += fmt::format("{}{}: {}\n{}", prefix_, name(engine), bad(word),
                           whole_text(failure, what_.program.source()));
    };
    std::visit(Overloads{[](const Finished&) {},
                         [&](const Faulted& fault) { add_failure("fault", fault.failure); },
                         [&](const Stopped& stopped) {
                           add_failure("reached a limit before its end", stopped.failure);
                         },
                         [&](const Unstable& unstable) { add_unstable(engine, unstable); }},
               verdict_.outcomes[engine]);
  }

  void add_unstable(std::size_t engine, const Unstable& unstable) {
    const HostTensor& data = run_.runs[engine].tensors[unstable.tensor];
    text_ += fmt::format(
        "{}{}: {} between two runs on the same inputs, {} of {} elements of {}\n  first {}\n"
        "  threads or blocks seem to race; the simulator's checks find where (tilevm run)\n",
        prefix_, name(engine), bad("differs"), unstable.comparison.different,
        unstable.comparison.elements, what_.entry.tensors[unstable.tensor].name,
        format_difference(data, *unstable.comparison.first));
  }

  const DiffCase& what_;
  const SeedRun& run_;
  const SeedVerdict& verdict_;
  const VerdictStyle& style_;
  std::string prefix_, text_;
};

Json difference_json(const HostTensor& tensor, const Difference& difference) {
  Json object = Json::object();
  object.set("index", format_index(tensor.shape, difference.index));
  object.set("a", fmt::format("0x{:x}", difference.a));
  object.set("b", fmt::format("0x{:x}", difference.b));
  object.set("ulps", difference.ulps == infinitely_far ? Json("nan") : Json(difference.ulps));
  return object;
}

Json backends_json(const SeedVerdict& verdict, std::size_t a, std::size_t b) {
  return Json::array().push(verdict.engines[a]).push(verdict.engines[b]);
}

Json tensor_json(const DiffCase& what, const SeedRun& run, const TensorVerdict& tensor) {
  const HostTensor& data = run.runs[tensor.a].tensors[tensor.tensor];
  const Comparison& comparison = tensor.comparison;
  Json object = Json::object();
  object.set("name", what.entry.tensors[tensor.tensor].name).set("seed", run.verdict.seed);
  object.set("backends", backends_json(run.verdict, tensor.a, tensor.b));
  const char* word = std::visit(
      Overloads{[](const Exact&) { return "exact"; }, [](const Different&) { return "different"; },
                [](const Permuted&) { return "permuted"; }},
      tensor.relation);
  object.set("verdict", word).set("exact", comparison.different == 0);
  object.set("elements", comparison.elements).set("different", comparison.different);
  object.set("hash_a", format_hash(tensor.hash_a)).set("hash_b", format_hash(tensor.hash_b));
  if (comparison.first) {
    object.set("first", difference_json(data, *comparison.first));
    object.set("worst", difference_json(data, *comparison.worst));
  }
  if (const auto* permuted = std::get_if<Permuted>(&tensor.relation)) {
    object.set("rule", permuted->rule);
  }
  return object;
}

Json outcome_json(const DiffCase& what, const std::string& engine, const Outcome& outcome) {
  Json object = Json::object();
  object.set("backend", engine);
  std::visit(
      Overloads{[&](const Finished&) { object.set("outcome", "finished"); },
                [&](const Faulted& fault) {
                  object.set("outcome", "fault").set("message", first_message(fault.failure));
                },
                [&](const Stopped& stopped) {
                  object.set("outcome", "stopped");
                  object.set("message", first_message(stopped.failure));
                },
                [&](const Unstable& unstable) {
                  object.set("outcome", "unstable");
                  object.set("tensor", what.entry.tensors[unstable.tensor].name);
                  object.set("different", unstable.comparison.different);
                }},
      outcome);
  return object;
}

}  // namespace

std::string render_verdict(const DiffCase& what, const SeedRun& run, const VerdictStyle& style) {
  return SeedText(what, run, style).text();
}

void add_results(const DiffCase& what, const SeedRun& run, Json& list) {
  for (const TensorVerdict& tensor : run.verdict.tensors) list.push(tensor_json(what, run, tensor));
}

void add_prints(const SeedRun& run, Json& list) {
  for (const PrintVerdict& print : run.verdict.prints) {
    Json object = Json::object();
    object.set("seed", run.verdict.seed);
    object.set("backends", backends_json(run.verdict, print.a, print.b));
    object.set("exact", !print.difference).set("count", print.count);
    if (print.difference) object.set("a", print.difference->a).set("b", print.difference->b);
    list.push(std::move(object));
  }
}

Json seed_json(const DiffCase& what, const SeedRun& run) {
  const SeedVerdict& verdict = run.verdict;
  Json groups = Json::array(), engines = Json::array();
  for (const auto& group : verdict.agreement.groups) {
    Json names = Json::array();
    for (const std::size_t engine : group) names.push(verdict.engines[engine]);
    groups.push(std::move(names));
  }
  for (std::size_t i = 0; i < verdict.engines.size(); ++i) {
    engines.push(outcome_json(what, verdict.engines[i], verdict.outcomes[i]));
  }
  Json object = Json::object();
  object.set("seed", verdict.seed).set("verdict", to_string(verdict.kind()));
  object.set("groups", std::move(groups)).set("suspect", verdict.agreement.suspect);
  return object.set("engines", std::move(engines));
}

}  // namespace tilevm::vm
