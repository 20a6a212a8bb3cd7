// The functions of the C interface, each a guard around what the room does.
// More than 400 lines: nothing but these functions is visible outside, so one source has them all.
#include "vm/library/c_api.h"

#include <memory>
#include <mutex>
#include <new>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "frontend/syntax/includes.h"
#include "isa/base/float_environment.h"
#include "isa/base/render.h"
#include "vm/library/callable.h"
#include "vm/library/library_report.h"
#include "vm/library/library_words.h"
#include "vm/library/size_report.h"
#include "vm/report/diagnostic_json.h"
#include "vm/run/checks.h"
#include "vm/run/engine_cuda.h"
#include "vm/run/include_folders.h"
#include "vm/run/stats.h"
#include "vm/text/large_stack.h"

using namespace tilevm;

static_assert(TILEVM_FAULT == static_cast<int>(vm::Exit::fault));
static_assert(TILEVM_USAGE == static_cast<int>(vm::Exit::usage));
static_assert(TILEVM_UNAVAILABLE == static_cast<int>(vm::Exit::unavailable));
static_assert(TILEVM_LIMIT == static_cast<int>(vm::Exit::limit));
static_assert(TILEVM_INTERNAL == static_cast<int>(vm::Exit::internal));
static_assert(sizeof(tilevm_argument) == sizeof(vm::CallArgument));

struct tilevm_program {
  explicit tilevm_program(const vm::Loaded& loaded)
      : program(*loaded.program),
        warnings(render(vm::without_options(loaded.diagnostics), *loaded.source, false)),
        callables(vm::callables(program)),
        plans(sim::keep_plans(program)) {}

  isa::VerifiedProgram program;
  std::string warnings;
  std::vector<vm::Callable> callables;
  std::shared_ptr<sim::KeptPlans> plans;
  // Parameters as C sees them; their strings and shapes are the members above.
  std::vector<std::string> types;
  std::vector<std::vector<tilevm_parameter>> parameters;
  std::vector<tilevm_entry> entries;
  std::mutex mutex;  // of the GPU's engine, which is made when it is needed
  std::unique_ptr<vm::Engine> cuda;
};

struct tilevm_kernel {
  vm::LoadedCallable loaded;
};

struct tilevm_control {
  sim::Progress progress;
};

namespace {

/// The last messages of a thread.
struct Answer {
  std::string message, prints, target, counters, report;
  std::string painted;  ///< the message in colours; empty: as it is
  std::string diagnostics = "[]";
};
Answer& answer() {
  thread_local Answer one;
  return one;
}

tilevm_status fail(const Error& error) {
  answer().message = vm::without_options(error.message);
  return static_cast<tilevm_status>(vm::exit_of(error.kind));
}

/// Keeps what is said of the program, with its places.
void say(const Diagnostics& diagnostics, const SourceFile& source) {
  if (diagnostics.sorted().empty()) return;
  vm::Json list = vm::Json::array();
  vm::add_diagnostics(vm::without_options(diagnostics), source, list);
  answer().diagnostics = list.text();
}

tilevm_status fail(const vm::Failure& failure, const SourceFile& source) {
  if (const auto* error = std::get_if<Error>(&failure)) return fail(*error);
  const Diagnostics said = vm::without_options(std::get<Diagnostics>(failure));
  answer().message = render(said, source, false);
  answer().painted = render(said, source, true);
  say(said, source);
  return static_cast<tilevm_status>(vm::exit_of(failure));
}

/// Calls `body` so that nothing it throws leaves the library, and so that the floating-point mode
/// of the caller changes nothing.
template <class Body>
tilevm_status guarded(const Body& body) {
  const DefaultFloatEnvironment environment;
  try {
    answer().message.clear();
    answer().painted.clear();
    answer().diagnostics = "[]";
    return body();
  } catch (const std::bad_alloc&) {
    return fail({ErrorKind::limit, "out of memory"});
  } catch (const std::length_error&) {
    return fail({ErrorKind::limit, "out of memory"});
  } catch (const std::exception& error) {
    answer().message = fmt::format("internal error: {}; please report this", error.what());
  } catch (...) {
    answer().message = "internal error; please report this";
  }
  return TILEVM_INTERNAL;
}

tilevm_status missing(const char* what) {
  return fail({ErrorKind::usage, fmt::format("`{}` is NULL", what)});
}

/// A tensor that the program neither reads nor writes is given all the same, as one that is read.
int role_of(const vm::Callable::Parameter& parameter) {
  if (parameter.scalar) return TILEVM_SCALAR;
  const int role = (parameter.input ? TILEVM_INPUT : 0) | (parameter.output ? TILEVM_OUTPUT : 0);
  return role == 0 ? TILEVM_INPUT : role;
}

/// The callables as C sees them.
void describe(tilevm_program& program) {
  std::size_t count = 0;
  for (const vm::Callable& callable : program.callables) count += callable.parameters.size();
  program.types.reserve(count);  // pointers into it stay
  for (const vm::Callable& callable : program.callables) {
    std::vector<tilevm_parameter>& list = program.parameters.emplace_back();
    for (const vm::Callable::Parameter& parameter : callable.parameters) {
      program.types.push_back(parameter.scalar ? std::string(isa::to_string(*parameter.scalar))
                                               : isa::to_string(parameter.dtype));
      list.push_back({parameter.name.c_str(), program.types.back().c_str(), role_of(parameter),
                      parameter.shape ? static_cast<int>(parameter.shape->size()) : -1,
                      parameter.shape ? parameter.shape->data() : nullptr, parameter.bytes()});
    }
    program.entries.push_back(
        {callable.name.c_str(), callable.index.is_pipeline ? 1 : 0, list.size(), list.data()});
  }
}

tilevm_status open(const std::shared_ptr<const SourceFile>& source, const char* const* defines,
                   const char* target, tilevm_program** program) {
  std::vector<std::string> texts;
  for (; defines != nullptr && *defines != nullptr; ++defines) texts.emplace_back(*defines);
  const Result<std::vector<frontend::Define>> parsed = vm::parse_defines(texts);
  if (!parsed) return fail(parsed.error());
  const Result<isa::Target> known = isa::parse_target(target == nullptr ? "sm_90" : target);
  if (!known) return fail({ErrorKind::usage, known.error().message});
  const vm::Loaded loaded = vm::on_large_stack([&] { return vm::load(source, *parsed, *known); });
  if (!loaded.program) return fail(vm::Failure(loaded.diagnostics), *loaded.source);
  auto made = std::make_unique<tilevm_program>(loaded);
  describe(*made);
  say(loaded.diagnostics, *loaded.source);
  *program = made.release();
  return TILEVM_OK;
}

/// The callable of a name, or the default one for NULL.
Result<const vm::Callable*> find(const tilevm_program& program, const char* entry) {
  const Result<vm::EntryIndex> index =
      vm::find_entry(program.program.program(), entry == nullptr ? "" : entry);
  if (!index) return index.error();
  const vm::Callable* found = program.callables.data();
  while (found->index != *index) ++found;
  return found;
}

vm::CallArguments span_of(const tilevm_argument* arguments, std::size_t count) {
  // Both structs have these two members in this order.
  return {reinterpret_cast<const vm::CallArgument*>(arguments), count};
}

/// Error (usage): a value out of its range, or a size that no version of the options has had.
Result<vm::EngineOptions> engine_options(const tilevm_run_options* given) {
  if (given == nullptr) return vm::EngineOptions{};
  const tilevm_run_options& options = *given;
  if (options.size < sizeof options) {
    return Error{ErrorKind::usage,
                 fmt::format("`size` of the options is {}; it is sizeof(tilevm_run_options), {}",
                             options.size, sizeof options)};
  }
  const Result<sim::Checks> checks =
      vm::parse_checks(options.checks == nullptr ? "all" : options.checks);
  if (!checks) return checks.error();
  if (options.threads < 0 || options.threads > 4096) {
    return Error{ErrorKind::usage,
                 fmt::format("`threads` is {}; it is 0 to 4096, 0 for all cores", options.threads)};
  }
  vm::EngineOptions engine{.threads = options.threads, .checks = *checks};
  if (options.max_steps != 0) engine.max_steps = options.max_steps;
  engine.count_accesses = options.count_accesses != 0;
  if (options.control != nullptr) engine.progress = &options.control->progress;
  return engine;
}

tilevm_status run_with(vm::Engine& engine, const tilevm_program& program,
                       const vm::Callable& callable, vm::CallArguments arguments, bool counts) {
  vm::RunReport report;
  const std::optional<vm::Failure> failure =
      vm::call(engine, program.program, callable, arguments, report);
  answer().prints = vm::format_prints(program.program, report.prints);
  if (failure) return fail(*failure, program.program.source());
  say(report.notes, program.program.source());
  if (counts) answer().counters = vm::run_stats_json(program.program, engine, report).text();
  return TILEVM_OK;
}

tilevm_status run(tilevm_program& program, const vm::Callable& callable,
                  const std::string& engine_name, vm::CallArguments arguments,
                  const tilevm_run_options* options) {
  Result<vm::EngineOptions> settings = engine_options(options);
  if (!settings) return fail(settings.error());
  settings->plans = program.plans;
  const bool counts = settings->count_accesses;
  if (engine_name != "cuda") {
    const Result<std::unique_ptr<vm::Engine>> engine = vm::make_engine(engine_name, *settings);
    return engine ? run_with(**engine, program, callable, arguments, counts) : fail(engine.error());
  }
  const std::lock_guard lock(program.mutex);
  if (!program.cuda) {
    Result<std::unique_ptr<vm::Engine>> engine = vm::make_cuda_engine({});
    if (!engine) return fail(engine.error());
    program.cuda = *std::move(engine);
  }
  return run_with(*program.cuda, program, callable, arguments, counts);
}

/// A device's number as the backend takes it.
int ordinal_of(int device) { return device < 0 ? backend::device_of_context : device; }

/// What a function that reports gives; what there is besides a failure goes out as well.
tilevm_status hand_out(vm::LibraryReport report, const char** result) {
  answer().report = std::move(report.text);
  if (!report.failure || !answer().report.empty()) *result = answer().report.c_str();
  if (report.failure) return fail(*report.failure, *report.source);
  say(report.notes, *report.source);
  return TILEVM_OK;
}

/// vm::report_stats or vm::report_page.
using RunReporter = vm::LibraryReport (*)(const isa::VerifiedProgram&, const std::string&,
                                          const vm::DataOptions&, std::uint64_t, vm::EngineOptions);

tilevm_status report_run(RunReporter reporter, const tilevm_program* program, const char* entry,
                         const char* const* inputs, std::uint64_t seed,
                         const tilevm_run_options* options, const char** result) {
  return guarded([&] {
    if (result == nullptr) return missing("the last argument");
    *result = nullptr;
    if (program == nullptr) return missing("program");
    const Result<vm::EngineOptions> settings = engine_options(options);
    if (!settings) return fail(settings.error());
    vm::DataOptions data;
    for (; inputs != nullptr && *inputs != nullptr; ++inputs) data.inputs.emplace_back(*inputs);
    return hand_out(
        reporter(program->program, entry == nullptr ? "" : entry, data, seed, *settings), result);
  });
}

}  // namespace

const char* tilevm_version(void) { return TILEVM_VERSION; }

const char* tilevm_message(void) { return answer().message.c_str(); }

const char* tilevm_message_in_color(void) {
  return answer().painted.empty() ? tilevm_message() : answer().painted.c_str();
}

const char* tilevm_diagnostics(void) { return answer().diagnostics.c_str(); }

const char* tilevm_prints(void) { return answer().prints.c_str(); }

tilevm_status tilevm_open(const char* text, const char* name, const char* const* defines,
                          const char* target, tilevm_program** program) {
  return guarded([&] {
    if (program == nullptr) return missing("program");
    *program = nullptr;
    if (text == nullptr) return missing("text");
    const auto source =
        std::make_shared<const SourceFile>(name == nullptr ? "program" : name, text);
    return open(frontend::with_standard_library(source), defines, target, program);
  });
}

tilevm_status tilevm_open_file(const char* path, const char* const* defines, const char* target,
                               tilevm_program** program) {
  return tilevm_open_file_in(path, nullptr, defines, target, program);
}

tilevm_status tilevm_open_file_in(const char* path, const char* const* folders,
                                  const char* const* defines, const char* target,
                                  tilevm_program** program) {
  return guarded([&] {
    if (program == nullptr) return missing("program");
    *program = nullptr;
    if (path == nullptr) return missing("path");
    vm::IncludeFolders permitted;
    for (; folders != nullptr && *folders != nullptr; ++folders) permitted.emplace_back(*folders);
    std::istringstream nothing;  // "-" is not a file
    const auto source = vm::read_program(path, nothing, permitted);
    return source ? open(*source, defines, target, program) : fail(source.error());
  });
}

void tilevm_close(tilevm_program* program) { delete program; }

const char* tilevm_warnings(const tilevm_program* program) {
  return program == nullptr ? "" : program->warnings.c_str();
}

const tilevm_entry* tilevm_entries(const tilevm_program* program, size_t* count) {
  if (count != nullptr) *count = program == nullptr ? 0 : program->entries.size();
  return program == nullptr ? nullptr : program->entries.data();
}

tilevm_status tilevm_run_with(tilevm_program* program, const char* entry, const char* engine,
                              const tilevm_argument* arguments, size_t count,
                              const tilevm_run_options* options) {
  return guarded([&] {
    answer().prints.clear();
    answer().counters.clear();
    if (program == nullptr) return missing("program");
    if (engine == nullptr) return missing("engine");
    if (arguments == nullptr && count != 0) return missing("arguments");
    const Result<const vm::Callable*> callable = find(*program, entry);
    if (!callable) return fail(callable.error());
    return run(*program, **callable, engine, span_of(arguments, count), options);
  });
}

tilevm_status tilevm_run(tilevm_program* program, const char* entry, const char* engine,
                         const tilevm_argument* arguments, size_t count) {
  return tilevm_run_with(program, entry, engine, arguments, count, nullptr);
}

tilevm_control* tilevm_control_new(void) { return new (std::nothrow) tilevm_control; }

void tilevm_control_stop(tilevm_control* control) {
  if (control != nullptr) control->progress.stop = true;
}

void tilevm_control_free(tilevm_control* control) { delete control; }

const char* tilevm_counters(void) { return answer().counters.c_str(); }

tilevm_status tilevm_stats(const tilevm_program* program, const char* entry,
                           const char* const* inputs, uint64_t seed,
                           const tilevm_run_options* options, const char** json) {
  return report_run(vm::report_stats, program, entry, inputs, seed, options, json);
}

tilevm_status tilevm_page(const tilevm_program* program, const char* entry,
                          const char* const* inputs, uint64_t seed,
                          const tilevm_run_options* options, const char** html) {
  return report_run(vm::report_page, program, entry, inputs, seed, options, html);
}

tilevm_status tilevm_page_with(tilevm_program* program, const char* entry,
                               const tilevm_argument* arguments, size_t count,
                               const tilevm_run_options* options, const char** html) {
  return guarded([&] {
    if (html == nullptr) return missing("html");
    *html = nullptr;
    if (program == nullptr) return missing("program");
    if (arguments == nullptr && count != 0) return missing("arguments");
    const Result<const vm::Callable*> callable = find(*program, entry);
    if (!callable) return fail(callable.error());
    const Result<vm::EngineOptions> settings = engine_options(options);
    if (!settings) return fail(settings.error());
    return hand_out(
        vm::report_page_of_call(program->program, **callable, span_of(arguments, count), *settings),
        html);
  });
}

tilevm_status tilevm_explain(const tilevm_program* program, const char** json) {
  return guarded([&] {
    if (json == nullptr) return missing("json");
    *json = nullptr;
    if (program == nullptr) return missing("program");
    return hand_out(vm::report_compilation(program->program), json);
  });
}

tilevm_status tilevm_sizes(const tilevm_program* program, const char* entry,
                           const char* const* known, const char** json) {
  return guarded([&] {
    if (json == nullptr) return missing("json");
    *json = nullptr;
    if (program == nullptr) return missing("program");
    std::vector<std::string> texts;
    for (; known != nullptr && *known != nullptr; ++known) texts.emplace_back(*known);
    return hand_out(vm::report_sizes(program->program, entry == nullptr ? "" : entry, texts), json);
  });
}

tilevm_status tilevm_layout(const char* expression, const char* form, const char** result) {
  return guarded([&] {
    if (result == nullptr) return missing("result");
    *result = nullptr;
    if (expression == nullptr) return missing("expression");
    if (form == nullptr) return missing("form");
    return hand_out(vm::report_layout(expression, form), result);
  });
}

const char* tilevm_device_target(void) { return tilevm_target_of(-1); }

const char* tilevm_target_of(int device) {
  const tilevm_status status = guarded([&] {
    const Result<vm::CudaMachine> machine = vm::open_cuda(ordinal_of(device));
    if (!machine) return fail(machine.error());
    answer().target = isa::to_string(machine->target);
    return TILEVM_OK;
  });
  return status == TILEVM_OK ? answer().target.c_str() : nullptr;
}

tilevm_status tilevm_load(const tilevm_program* program, const char* entry,
                          tilevm_kernel** kernel) {
  return tilevm_load_on(program, entry, -1, kernel);
}

tilevm_status tilevm_load_on(const tilevm_program* program, const char* entry, int device,
                             tilevm_kernel** kernel) {
  return guarded([&] {
    if (kernel == nullptr) return missing("kernel");
    *kernel = nullptr;
    if (program == nullptr) return missing("program");
    const Result<const vm::Callable*> callable = find(*program, entry);
    if (!callable) return fail(callable.error());
    Result<vm::LoadedCallable> loaded =
        vm::LoadedCallable::load(program->program, **callable, ordinal_of(device));
    if (!loaded) return fail(loaded.error());
    *kernel = new tilevm_kernel{*std::move(loaded)};
    return TILEVM_OK;
  });
}

int tilevm_kernel_may_overlap(const tilevm_kernel* kernel) {
  return kernel != nullptr && kernel->loaded.may_overlap() ? 1 : 0;
}

int tilevm_kernel_device(const tilevm_kernel* kernel) {
  return kernel == nullptr ? -1 : kernel->loaded.device();
}

void tilevm_unload(tilevm_kernel* kernel) { delete kernel; }

tilevm_status tilevm_launch(const tilevm_kernel* kernel, const tilevm_argument* arguments,
                            size_t count, void* stream) {
  return guarded([&] {
    if (kernel == nullptr) return missing("kernel");
    if (arguments == nullptr && count != 0) return missing("arguments");
    const Status put = kernel->loaded.launch(span_of(arguments, count),
                                             static_cast<backend::cuda::Stream>(stream));
    return put ? TILEVM_OK : fail(put.error());
  });
}
