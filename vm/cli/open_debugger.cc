#include "vm/cli/open_debugger.h"

#include <cstdint>
#include <utility>

#include "vm/cli/cmd_support.h"
#include "vm/debug/compare.h"
#include "vm/debug/open.h"
#include "vm/run/checks.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

constexpr std::uint64_t max_script_bytes = std::uint64_t{1} << 22;

/// What the options name.
TargetRequest request_of(const DebugCommandOptions& options) {
  TargetRequest request{options.program.file,
                        options.program.defines,
                        std::string(default_target),
                        options.execution.entry,
                        options.execution.data,
                        {options.execution.seed, options.execution.wild},
                        false};
  request.exact = options.execution.exact;
  if (!options.program.target.empty()) request.architecture = options.program.target;
  return request;
}

}  // namespace

std::variant<OpenDebugger, Exit> open_debugger(const DebugCommandOptions& options, Io& io,
                                               std::function<bool()> tick) {
  Result<sim::Checks> checks = parse_checks(options.checks);
  if (!checks) return fail(io, checks.error());
  OpenDebugger opened;
  if (!options.script.empty()) {
    const auto bytes = read_file(options.script, max_script_bytes);
    if (!bytes) return fail(io, bytes.error());
    opened.script.assign(bytes->begin(), bytes->end());
  }
  Result<FoundTarget> found = find_target(request_of(options));
  if (!found) return fail(io, found.error());
  if (found->source) show(io, found->diagnostics, *found->source);
  if (!options.json) show(io, found->notes);
  if (!found->target) return Exit::fault;
  opened.found = std::make_unique<FoundTarget>(*std::move(found));
  DebugTarget& target = *opened.found->target;
  DebugOptions settings;
  settings.run.checks = *checks;
  settings.run.max_steps = options.max_steps.value_or(settings.run.max_steps);
  settings.timeline.memory = options.memory << 20;
  settings.timeline.tick = std::move(tick);
  auto session = open_session(target.program, target.entry, std::move(target.tensors), settings);
  if (!session) return fail(io, session.error());
  opened.debugger = std::make_unique<Debugger>(
      *std::move(session), io.out,
      DebuggerOptions{options.json, io.color_out,
                      [request = request_of(options)](const std::string& engine) {
                        return compare_with(request, engine);
                      }});
  opened.debugger->greet();
  return opened;
}

}  // namespace tilevm::vm
