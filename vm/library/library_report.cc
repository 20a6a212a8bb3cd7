#include "vm/library/library_report.h"

#include <utility>
#include <vector>

#include "vm/picture/layout_svg.h"
#include "vm/picture/report.h"
#include "vm/picture/typed_layout.h"
#include "vm/report/compile_unit.h"
#include "vm/report/layout_report.h"
#include "vm/run/stats.h"
#include "vm/text/choice.h"
#include "vm/text/large_stack.h"

namespace tilevm::vm {

namespace {

/// The program outlives the report.
LibraryReport report_of(const isa::VerifiedProgram& program) {
  LibraryReport report;
  report.source = {std::shared_ptr<const SourceFile>(), &program.source()};
  return report;
}

/// A run in the simulator on generated data.
struct GeneratedRun {
  Entry entry;
  std::vector<HostTensor> tensors;
};

Result<GeneratedRun> make_run(const isa::VerifiedProgram& program, const std::string& entry,
                              const DataOptions& data, std::uint64_t seed) {
  Result<Entry> found = resolve_entry(program, entry, data);
  if (!found) return found.error();
  Result<std::vector<HostTensor>> tensors = make_tensors(*found, {seed, false});
  if (!tensors) return tensors.error();
  return GeneratedRun{*std::move(found), *std::move(tensors)};
}

/// Runs an entry in the simulator and draws the page about it.
void draw_run(const isa::VerifiedProgram& program, const Entry& entry,
              std::vector<HostTensor>& tensors, EngineOptions settings, LibraryReport& report) {
  constexpr std::uint64_t most_ticks = 20'000;
  TimelineRecorder recorder(program, most_ticks);
  settings.count_accesses = true;
  settings.traced_blocks = 1;
  settings.trace_values = false;
  settings.trace = [&recorder](int kernel, const sim::TraceEvent& event) {
    return recorder.take(kernel, event);
  };
  const Result<std::unique_ptr<Engine>> engine = make_engine("sim", settings);
  if (!engine) {
    report.failure = engine.error();
    return;
  }
  RunReport counted;
  report.failure = (*engine)->run(program, entry, tensors, counted);
  report.notes = counted.notes;
  const Timeline timeline = recorder.finish();
  report.text = draw_report({program, entry, tensors, counted, timeline, report.failure});
}

std::string draw(const TypedLayout& typed, const std::string& form) {
  const LayoutScene scene{{typed}};
  if (form == "json") return layout_json(typed).text();
  if (form == "text") return layout_text(scene, false);
  return form == "svg" ? draw_svg(scene) : draw_html(scene);
}

}  // namespace

LibraryReport report_stats(const isa::VerifiedProgram& program, const std::string& entry,
                           const DataOptions& data, std::uint64_t seed, EngineOptions settings) {
  LibraryReport report = report_of(program);
  settings.count_accesses = true;
  Result<GeneratedRun> run = make_run(program, entry, data, seed);
  if (!run) {
    report.failure = run.error();
    return report;
  }
  const Result<std::unique_ptr<Engine>> engine = make_engine("sim", settings);
  if (!engine) {
    report.failure = engine.error();
    return report;
  }
  RunReport counted;
  report.failure = (*engine)->run(program, run->entry, run->tensors, counted);
  report.notes = std::move(counted.notes);
  if (!report.failure) report.text = run_stats_json(program, **engine, counted).text();
  return report;
}

LibraryReport report_page(const isa::VerifiedProgram& program, const std::string& entry,
                          const DataOptions& data, std::uint64_t seed, EngineOptions settings) {
  LibraryReport report = report_of(program);
  Result<GeneratedRun> run = make_run(program, entry, data, seed);
  if (run) {
    draw_run(program, run->entry, run->tensors, std::move(settings), report);
  } else {
    report.failure = run.error();
  }
  return report;
}

LibraryReport report_page_of_call(const isa::VerifiedProgram& program, const Callable& callable,
                                  CallArguments arguments, EngineOptions settings) {
  LibraryReport report = report_of(program);
  Result<HostCall> call = HostCall::make(program, callable, arguments);
  if (call) {
    draw_run(program, call->entry, call->tensors, std::move(settings), report);
  } else {
    report.failure = call.error();
  }
  return report;
}

LibraryReport report_compilation(const isa::VerifiedProgram& program) {
  LibraryReport report = report_of(program);
  const CompileUnit unit = make_compile_unit(program, true);
  const CompileReport compiled = unit.compile_and_report();
  report.notes = compiled.warnings();
  report.text = report_json(compiled).text();
  return report;
}

LibraryReport report_layout(const std::string& expression, const std::string& form) {
  LibraryReport report;
  const auto source = std::make_shared<const SourceFile>("<layout>", expression);
  report.source = source;
  if (const Status known = check_choice("form", form, {"json", "text", "svg", "html"}); !known) {
    report.failure = known.error();
    return report;
  }
  Diagnostics diagnostics;
  const std::optional<TypedLayout> typed =
      on_large_stack([&] { return read_typed_layout(*source, diagnostics); });
  if (typed) {
    report.text = draw(*typed, form);
  } else {
    report.failure = diagnostics;
  }
  return report;
}

}  // namespace tilevm::vm
