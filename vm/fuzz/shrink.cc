#include "vm/fuzz/shrink.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "vm/fuzz/program_text.h"
#include "vm/fuzz/smaller_programs.h"

namespace tilevm::vm::fuzz {
namespace {

/// The program of a case, if it verifies; a case that does not is not changed.
std::optional<isa::Program> program_of(const FuzzCase& each) {
  const auto source = std::make_shared<const SourceFile>("case.tile", each.text);
  const Loaded loaded = load(source, {}, each.target);
  if (!loaded.program) return std::nullopt;
  return loaded.program->program();
}

class Shrinker {
 public:
  Shrinker(const FuzzCase& failing, const Finding& finding, const JudgeFunction& judge,
           int most_tries)
      : best_(failing),
        signature_(finding.signature),
        changes_(finding.run == "sim" ? harmless_changes() : program_changes()),
        judge_(judge),
        tries_left_(most_tries) {}

  FuzzCase run() {
    bool smaller = true;
    while (smaller && tries_left_ > 0) {
      smaller = false;
      for (const ProgramChange change : changes_) smaller = apply(change) || smaller;
      smaller = simplify_inputs() || smaller;
    }
    return std::move(best_);
  }

 private:
  /// Every change of a kind, as long as there is one; true if one was taken.
  bool apply(ProgramChange change) {
    bool taken = false;
    auto program = program_of(best_);
    for (std::size_t n = 0; program && tries_left_ > 0;) {
      isa::Program changed = *program;
      if (!change(changed, n)) break;
      FuzzCase candidate = best_;
      candidate.text = program_text(changed);
      candidate.inputs = inputs_of(changed);
      if (!try_case(std::move(candidate))) {
        ++n;
        continue;
      }
      taken = true;
      program = program_of(best_);
    }
    return taken;
  }

  /// The inputs that a program still has.
  std::vector<std::string> inputs_of(const isa::Program& program) const {
    std::vector<std::string> inputs;
    for (const std::string& input : best_.inputs) {
      const std::string name = input.substr(0, input.find('='));
      const auto& tensors = program.pipelines.front().tensors;
      const bool there = std::any_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
        return tensor.name == name && tensor.role == isa::PipelineTensor::Role::input;
      });
      if (there) inputs.push_back(input);
    }
    return inputs;
  }

  bool simplify_inputs() {
    bool taken = false;
    for (std::size_t i = 0; i < best_.inputs.size(); ++i) {
      const std::string name = best_.inputs[i].substr(0, best_.inputs[i].find('='));
      for (const char* const data : {"zeros", "full:1", "iota", "rand:0"}) {
        FuzzCase candidate = best_;
        candidate.inputs[i] = name + "=" + data;
        if (candidate.inputs[i] == best_.inputs[i]) break;  // as simple as it gets
        if (!try_case(std::move(candidate))) continue;
        taken = true;
        break;
      }
    }
    return taken;
  }

  bool try_case(FuzzCase candidate) {
    if (candidate.text == best_.text && candidate.inputs == best_.inputs) return false;
    if (!program_of(candidate)) return false;
    --tries_left_;
    const auto finding = judge_(candidate);
    if (!finding || finding->signature != signature_) return false;
    best_ = std::move(candidate);
    return true;
  }

  FuzzCase best_;
  const std::string& signature_;
  const std::vector<ProgramChange>& changes_;
  const JudgeFunction& judge_;
  int tries_left_;
};

}  // namespace

FuzzCase shrink(const FuzzCase& failing, const Finding& finding, const JudgeFunction& judge,
                int most_tries) {
  return Shrinker(failing, finding, judge, most_tries).run();
}

}  // namespace tilevm::vm::fuzz
