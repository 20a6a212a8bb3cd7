#include "vm/fuzz/replay.h"

#include "vm/diff/bundle.h"
#include "vm/run/make_engine.h"

namespace tilevm::vm::fuzz {

bool has_replay(const Finding& finding) {
  return !finding.backends.empty() && parse_engine(finding.run).ok();
}

Status write_replay(const std::string& folder, const ReadyCase& each, const FuzzCase& text,
                    const Finding& finding, const EngineOptions& options,
                    const std::string& version) {
  const Result<Engines> engines = make_engines(finding.backends, options);
  if (!engines) return engines.error();
  const DiffCase what{each.program, each.entry};
  const Result<SeedRun> run = vm::run_on(what, *engines, each.tensors, each.seed);
  if (!run) return run.error();
  return write_bundle(folder, make_bundle(what, *run, *engines, {version, {}, {text.inputs, {}}}));
}

}  // namespace tilevm::vm::fuzz
