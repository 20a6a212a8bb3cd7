// Files of `tilevm tune`, and what a process that it started printed.
#include <sstream>
#include <string>

#include "tests/fuzz/target.h"
#include "vm/tune/trial.h"

namespace tilevm::fuzz {
namespace {

using vm::tuning::Trial;
using vm::tuning::Trials;

void fuzz_trials(std::string_view bytes) {
  const vm::Environment here{"gpu", "sm_90a", "1", "nvrtc"};
  std::istringstream file{std::string(bytes)};
  const Result<Trials> trials = vm::tuning::read_trials(file, "fuzz.jsonl", here);
  if (trials) {
    std::string text;
    for (const auto& [key, trial] : *trials)
      text += vm::tuning::to_line(trial, here, {"a.tile", {"N=1"}});
    std::istringstream written(text);
    const Result<Trials> again = vm::tuning::read_trials(written, "again.jsonl", here);
    require(again.ok() && again->size() == trials->size(), "written trials are read again");
  } else {
    require(!trials.error().message.empty(), "a refusal has words");
  }
  const std::string output(bytes);
  const Trial trial = vm::tuning::read_bench(output, 0);
  require(trial.us || !trial.reason.empty(), "a trial has a time, or a reason why not");
  require(!vm::tuning::read_bench(output, 1).us, "a process that failed has no time");
  static_cast<void>(vm::tuning::read_refusal(output, 1));
}

TILEVM_FUZZ_TARGET(trials, fuzz_trials);

}  // namespace
}  // namespace tilevm::fuzz
