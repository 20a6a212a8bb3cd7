#include "vm/debug/compare.h"

#include <utility>

#include "isa/base/render.h"
#include "vm/diff/bisect_render.h"
#include "vm/diff/verdict_render.h"
#include "vm/run/make_engine.h"
#include "vm/run/shadow.h"

namespace tilevm::vm {

namespace {

Error as_error(const Failure& failure, const SourceFile& source) {
  if (const auto* error = std::get_if<Error>(&failure)) return *error;
  return {ErrorKind::program, render(*std::get_if<Diagnostics>(&failure), source, false)};
}

Result<std::string> without_rounding(DebugTarget target) {
  EngineOptions options;
  options.keep_shadow = true;
  Result<std::unique_ptr<Engine>> engine = make_engine("sim", options);
  if (!engine) return engine.error();
  RunReport report;
  const std::optional<Failure> failure =
      (*engine)->run(target.program, target.entry, target.tensors, report);
  if (failure) return as_error(*failure, target.program.source());
  return shadow_table(target.program, report);
}

}  // namespace

Result<std::string> compare_with(const TargetRequest& request, const std::string& engine) {
  Result<FoundTarget> found = find_target(request);
  if (!found) return found.error();
  if (!found->target) return Error{ErrorKind::program, "the program has an error now"};
  if (engine == "shadow") return without_rounding(*std::move(found->target));
  const DiffCase what{found->target->program, found->target->entry};
  const Result<Engines> engines = make_engines("sim," + engine, {});
  if (!engines) return engines.error();
  const Result<SeedRun> run =
      run_on(what, *engines, std::move(found->target->tensors), request.seeding.seed);
  if (!run) return run.error();
  if (const Failure* failure = run->common_failure()) {
    return as_error(*failure, what.program.source());
  }
  std::string text = render_verdict(what, *run, {false, false});
  const auto pair = differing_pair(run->verdict);
  if (!pair) return text;
  const Result<BisectResult> first =
      bisect(what, *engines, pair->first, pair->second, run->inputs, {});
  if (!first) return first.error();
  return text + render_bisect(what, run->verdict, *first);
}

}  // namespace tilevm::vm
