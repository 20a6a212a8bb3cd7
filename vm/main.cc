// The command line: options in, one command called, its exit status out. CLI11 lives here only.
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "isa/base/suggest.h"
#include "vm/commands.h"
#include "vm/help.h"

namespace {

using tilevm::Error;
using tilevm::ErrorKind;
using tilevm::vm::Exit;
using tilevm::vm::Io;

/// Options before or behind the command's name.
struct Common {
  std::string color = "auto";
};

/// A subcommand and what to call once it is parsed.
struct Command {
  CLI::App* app;
  std::function<Exit(Io&)> call;
};
using Commands = std::vector<Command>;

/// Help pages open with what can be typed as it stands.
class ExamplesFirst : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    const std::string examples = tilevm::vm::help_examples(app->get_name());
    const std::string summary = app->get_description() + "\n";
    return examples.empty() ? summary : summary + "\n" + examples + "\n";
  }
};

void add_list(CLI::App* app, const std::string& name, std::vector<std::string>& values,
              const std::string& description, const std::string& form) {
  app->add_option(name, values, description)->type_name(form)->allow_extra_args(false);
}

/// A program for the device's target.
void add_device_program(CLI::App* app, tilevm::vm::ProgramOptions& options) {
  app->add_option("file", options.file, "the program; - reads standard input")
      ->required()
      ->type_name("FILE");
  add_list(app, "-D,--define", options.defines, "overrides a constant", "NAME=VALUE");
}

void add_program(CLI::App* app, tilevm::vm::ProgramOptions& options, const std::string& target) {
  add_device_program(app, options);
  app->add_option(
         "--target", options.target,
         "the architecture: sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_100a sm_120 ...; " + target)
      ->type_name("TARGET");
}

/// CLI11 would read "-1" as 2^64 - 1.
std::string is_seed(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end) return {};
  return "`" + text + "` is no seed, an integer from 0 to 2^64 - 1";
}

void add_entry(CLI::App* app, std::string& entry, std::vector<std::string>& inputs,
               std::uint64_t& seed) {
  app->add_option("--entry", entry,
                  "the pipeline or kernel to run; the only pipeline, else main, else the only "
                  "kernel if left out")
      ->type_name("NAME");
  add_list(app, "--in", inputs,
           "what an input holds: FILE.npy, rand[:SEED], wild[:SEED], zeros, iota, full:VALUE, "
           "codes:FILE.npy, packed:FILE.npy; or a scalar's value. For a kernel alone also with a "
           "type: 'a=f16[64,64]=rand'",
           "NAME=SPEC");
  app->add_option("--seed", seed, "of random inputs that name none; 0 if left out")
      ->check(is_seed, "");
}

void add_execution(CLI::App* app, tilevm::vm::ExecutionOptions& options) {
  add_entry(app, options.entry, options.data.inputs, options.seed);
  add_list(app, "--out", options.data.outputs, "where an output goes: FILE.npy or codes:FILE.npy",
           "NAME=DEST");
  app->add_flag("--wild", options.wild,
                "inputs that are not given hold random bits of every exponent instead of [-1, 1)");
  app->add_option("--threads", options.threads, "host threads of the simulator; 0: all cores")
      ->check(CLI::Range(0, 4096));
}

template <class Options>
std::pair<CLI::App*, Options*> add_command(CLI::App& root, Commands& commands,
                                           const std::string& name, const std::string& summary,
                                           Exit (*function)(const Options&, Io&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(name, summary);
  commands.push_back({app, [options, function](Io& io) { return function(*options, io); }});
  return {app, options.get()};
}

void add_reading_commands(CLI::App& root, Commands& commands) {
  {
    auto [app, o] = add_command<tilevm::vm::CheckOptions>(
        root, commands, "check", "Parses and verifies; shows every error of the file.",
        tilevm::vm::check);
    add_program(app, o->program, "sm_90 if left out");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  {
    auto [app, o] = add_command<tilevm::vm::FormatOptions>(
        root, commands, "fmt", "Writes a program in its canonical form.", tilevm::vm::format);
    app->add_option("files", o->files, "the programs; - reads standard input")
        ->required()
        ->type_name("FILE");
    app->add_flag("--check", o->check, "write nothing; exit 1 if a file would change");
    app->add_flag("-i,--in-place", o->in_place, "rewrite the files");
  }
  {
    auto [app, o] = add_command<tilevm::vm::LayoutOptions>(
        root, commands, "layout", "Draws a layout: which thread holds which element.",
        tilevm::vm::layout);
    app->add_option("expression", o->expression, "a layout")->required()->type_name("EXPR");
    app->add_option("-o,--output", o->output, "draw to FILE.svg or FILE.html; - for SVG to stdout")
        ->type_name("FILE");
  }
  {
    auto [app, o] = add_command<tilevm::vm::IsaOptions>(
        root, commands, "isa", "Explains the instructions.", tilevm::vm::isa_reference);
    app->add_option("mnemonic", o->mnemonic, "one instruction")->type_name("NAME");
    app->add_flag("--markdown", o->markdown, "the whole reference as Markdown");
  }
  {
    auto [app, o] = add_command<tilevm::vm::ExplainOptions>(
        root, commands, "explain", "Explains the code of a message.", tilevm::vm::explain);
    app->add_option("code", o->code, "a code such as TV0104")->type_name("CODE");
  }
}

std::string check_help() {
  std::string names;
  for (const tilevm::sim::NamedCheck& check : tilevm::sim::named_checks) {
    names += (names.empty() ? "" : ", ") + std::string(check.name);
  }
  return "checks of the simulator: all (default), none, or a list of: " + names;
}

void add_running_commands(CLI::App& root, Commands& commands) {
  {
    auto [app, o] = add_command<tilevm::vm::RunOptions>(
        root, commands, "run", "Runs a program and shows or writes its outputs.", tilevm::vm::run);
    add_program(app, o->program, "the device's, or sm_90, if left out");
    add_execution(app, o->execution);
    app->add_option("--backend", o->backend, "sim (default) or cuda")->type_name("NAME");
    app->add_option("--check", o->checks, check_help())->type_name("LIST");
    app->add_option("--max-steps", o->max_steps,
                    "statements that a block may execute in the simulator; 4294967296 if left out")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62))
        ->type_name("N");
    app->add_option("--async", o->completion,
                    "when the simulator lets asynchronous copies arrive: latest (default), "
                    "earliest, random[:SEED]")
        ->type_name("TIME");
    app->add_option("--block-order", o->block_order,
                    "the order in which the simulator begins blocks: ascending (default), "
                    "descending, random[:SEED]")
        ->type_name("ORDER");
    app->add_flag("--stats", o->stats, "times and counters to standard error");
    app->add_flag("--shadow", o->shadow,
                  "compute every value also without rounding, and show the errors of outputs and "
                  "statements; simulator only");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  {
    auto [app, o] = add_command<tilevm::vm::TraceOptions>(
        root, commands, "trace", "Shows what every statement of one block gives.",
        tilevm::vm::trace);
    add_program(app, o->program, "sm_90 if left out");
    add_execution(app, o->execution);
    app->add_option("--block", o->block, "the block, in every launch; 0 if left out")
        ->type_name("X[,Y[,Z]]");
    app->add_option("--limit", o->limit, "statements that are shown; 1000 if left out")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
        ->type_name("N");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  {
    auto [app, o] = add_command<tilevm::vm::DiffOptions>(
        root, commands, "diff", "Runs a program on two backends and compares every bit.",
        tilevm::vm::diff);
    add_program(app, o->program, "the device's, or sm_90, if left out");
    add_execution(app, o->execution);
    app->add_option("--backends", o->backends, "the two to compare; sim,cuda if left out")
        ->type_name("A,B");
    app->add_option("--seeds", o->seeds, "several seeds in one go, both ends included")
        ->type_name("A..B");
    app->add_option("--record", o->record, "append what the second backend gave, one line a seed")
        ->type_name("FILE");
    app->add_flag("--bisect", o->bisect, "find the first instruction that differs");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
}

void add_record_command(CLI::App& root, Commands& commands) {
  auto [app, o] = add_command<tilevm::vm::RecordOptions>(
      root, commands, "record",
      "Compares every instruction on every type with a GPU, bit for bit, and records the outcome.",
      tilevm::vm::record);
  app->add_option("--size", o->size,
                  "quick (default), full (some millions of outputs a case), or exhaustive (every "
                  "input where there are at most 2^32)")
      ->type_name("SIZE");
  app->add_option("--only", o->only,
                  "cases whose name contains the text, or that have a result of this name")
      ->type_name("TEXT");
  app->add_option("-o,--output", o->output,
                  "append one line a case, and skip cases that the file has for this device with "
                  "as many outputs; standard output if left out")
      ->type_name("FILE");
  app->add_flag("--force", o->force, "repeat them");
  app->add_option("--report", o->report,
                  "run nothing; write docs/fidelity.md from files of records to standard output")
      ->type_name("FILE");
  app->add_option("--time-limit", o->time_limit, "begin no case after so many seconds; exit 4")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  app->add_option("--backend", o->backend,
                  "cuda (default); sim compares the simulator with itself, to try cases out")
      ->type_name("NAME");
  app->add_option("--target", o->target, "of the simulator; the device's if left out")
      ->type_name("TARGET");
  app->add_option("--seed", o->seed, "of the operands beyond the kept ones; 0 if left out")
      ->check(is_seed, "");
  app->add_option("--threads", o->threads, "host threads of the simulator; 0: all cores")
      ->check(CLI::Range(0, 4096));
}

void add_measuring_commands(CLI::App& root, Commands& commands) {
  {
    auto [app, o] = add_command<tilevm::vm::BenchOptions>(
        root, commands, "bench", "Times the kernels of a program on the GPU.", tilevm::vm::bench);
    add_device_program(app, o->program);
    add_entry(app, o->entry, o->inputs, o->seed);
    app->add_option("--kernel", o->kernel, "time only this kernel")->type_name("NAME");
    app->add_option("--repeat", o->rounds, "timed launches of each kernel; 30 if left out")
        ->check(CLI::Range(1, 100000))
        ->type_name("N");
    app->add_flag("--warm", o->warm, "keep in L2 what the last launch left there");
    app->add_option("--baseline", o->baseline,
                    "compare with cublas: f16 (bf16 if an input is) in and out, f32 added up; "
                    "sizes are the constants M, N and K")
        ->type_name("NAME");
    app->add_option("--verify-against", o->reference,
                    "another pipeline with the same inputs and outputs; shows the relative error "
                    "of each output")
        ->type_name("ENTRY");
    app->add_flag("--check,!--no-check", o->check,
                  "run once more after the timing, and demand the same bits (the default)");
    app->add_flag("!--no-peak", o->peak, "leave out the reading of 4 GiB");
    app->add_option("--lock", o->lock, "lock this file while the GPU is used, to share the GPU")
        ->type_name("FILE");
    app->add_option("-o,--output", o->output, "append the result as one line of JSON")
        ->type_name("FILE");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  {
    auto [app, o] = add_command<tilevm::vm::TuneOptions>(
        root, commands, "tune", "Finds the fastest values of a program's tunables on the GPU.",
        tilevm::vm::tune);
    add_device_program(app, o->program);
    app->add_option("--entry", o->entry, "the pipeline or kernel to tune")->type_name("NAME");
    app->add_option("--kernel", o->kernel, "only this kernel's time counts; else the sum of all")
        ->type_name("NAME");
    add_list(app, "--reduce", o->reduced,
             "a constant of the smaller problem on which a winner must give the simulator's bits; "
             "the file's line `# reduce: NAME=VALUE ..` if left out",
             "NAME=VALUE");
    app->add_option("-o,--output", o->output,
                    "a line for each point; points that it has are not timed again; tune.jsonl if "
                    "left out")
        ->type_name("FILE");
    app->add_option("--time-limit", o->time_limit, "begin no point after so many seconds")
        ->check(CLI::PositiveNumber)
        ->type_name("SECONDS");
    app->add_option("--jobs", o->jobs, "processes at a time; 0: one for each core, up to 8")
        ->check(CLI::Range(0, 256));
    app->add_option("--repeat", o->rounds, "timed launches of each point; 30 if left out")
        ->check(CLI::Range(1, 100000))
        ->type_name("N");
    app->add_option("--points", o->most,
                    "the most points that are timed; of more, so many are chosen at random, and "
                    "the best quarter once more; 512 if left out")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20))
        ->type_name("N");
    app->add_option("--seed", o->seed, "of the random choice; 0 if left out")->check(is_seed, "");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
}

void add_other_commands(CLI::App& root, Commands& commands) {
  {
    auto [app, o] = add_command<tilevm::vm::CompileOptions>(
        root, commands, "compile", "Turns a program into CUDA C++, PTX or machine code.",
        tilevm::vm::compile);
    add_program(app, o->program, "sm_90a if left out");
    app->add_option("--emit", o->emit, "cuda (default), ptx, cubin or fatbin")->type_name("KIND");
    app->add_option("-o,--output", o->output, "the file to write; - for standard output")
        ->type_name("FILE");
    app->add_flag("--explain", o->explain, "what became of each kernel, to standard error");
  }
  {
    auto [app, o] = add_command<tilevm::vm::DoctorOptions>(
        root, commands, "doctor", "Says what this machine offers and what is missing.",
        tilevm::vm::doctor);
    o->version = TILEVM_VERSION;
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  {
    auto [app, o] = add_command<tilevm::vm::DemoOptions>(
        root, commands, "demo", "Multiplies f16 by 6-bit integers, and checks every step.",
        tilevm::vm::demo);
    o->source_folder = TILEVM_SOURCE_DIR;
    app->add_option("--threads", o->threads, "host threads of the simulator; 0: all cores")
        ->check(CLI::Range(0, 4096));
  }
}

// --- Errors of usage ------------------------------------------------------------------------

std::vector<std::string> command_names(const CLI::App& root) {
  std::vector<std::string> names;
  for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(app->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// The command that was being parsed, or the root.
const CLI::App& active(const CLI::App& root) {
  const std::vector<CLI::App*> parsed = root.get_subcommands();
  return parsed.empty() ? root : *parsed.front();
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = tilevm::nearest(name, names);
  return near.empty() ? std::string() : "; did you mean `" + near + "`?";
}

/// CLI11's complaint in our words.
std::string usage_message(const CLI::ParseError& error, const CLI::App& root) {
  const CLI::App& app = active(root);
  const std::string help =
      &app == &root ? "`tilevm --help`" : "`tilevm " + app.get_name() + " --help`";
  const std::vector<std::string> rest = root.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !rest.empty()) {
    const std::string& word = rest.front();
    if (word.size() > 1 && word.front() == '-') {
      const std::string name = word.substr(0, word.find('='));
      return "unknown option `" + name + "`" + did_you_mean(name, option_names(app)) + " (" + help +
             " lists them)";
    }
    if (&app == &root) {
      return "unknown command `" + word + "`" + did_you_mean(word, command_names(root)) + " (" +
             help + " lists them)";
    }
    return "`" + word + "` is one operand too many (" + help + ")";
  }
  std::string message = error.what();
  if (const std::size_t end = message.find('\n'); end != std::string::npos) message.resize(end);
  while (!message.empty() && message.back() == '.') message.pop_back();
  return message + " (" + help + ")";
}

bool wants_color(const std::string& choice, int descriptor) {
  if (choice != "auto") return choice == "always";
  const char* const none = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  if (none != nullptr && *none != '\0') return false;
  if (term != nullptr && std::string_view(term) == "dumb") return false;
  return isatty(descriptor) == 1;
}

/// Parses and runs; help and version come back as CLI11's own exceptions.
Exit dispatch(CLI::App& root, const Commands& commands, const Common& common, Io& io) {
  io.color_out = wants_color(common.color, STDOUT_FILENO);
  io.color_err = wants_color(common.color, STDERR_FILENO);
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.call(io);
  }
  std::cout << root.help();
  return Exit::ok;
}

Exit run_main(int argc, char** argv, Io& io) {
  CLI::App root("tilevm: a virtual machine for GPU thread blocks", "tilevm");
  Common common;
  io.color_err = wants_color(common.color, STDERR_FILENO);
  Commands commands;
  root.formatter(std::make_shared<ExamplesFirst>());
  root.set_version_flag("--version", std::string("tilevm ") + TILEVM_VERSION);
  root.add_option("--color", common.color, "auto (default), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  root.require_subcommand(0, 1);
  root.fallthrough();
  add_running_commands(root, commands);
  add_record_command(root, commands);
  add_measuring_commands(root, commands);
  add_reading_commands(root, commands);
  add_other_commands(root, commands);
  try {
    root.parse(argc, argv);
    return dispatch(root, commands, common, io);
  } catch (const CLI::Success& asked) {
    root.exit(asked, std::cout, std::cerr);
    return Exit::ok;
  } catch (const CLI::ParseError& error) {
    return tilevm::vm::fail(io, {ErrorKind::usage, usage_message(error, root)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  Io io{std::cin, std::cout, std::cerr};
  Exit status = Exit::internal;
  try {
    status = run_main(argc, argv, io);
  } catch (const std::bad_alloc&) {
    status = tilevm::vm::fail(io, {ErrorKind::limit, "out of memory"});
  } catch (const std::exception& error) {
    std::cerr << "tilevm: internal error: " << error.what() << "; please report this\n";
  }
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "tilevm: error: cannot write to standard output\n";
    return static_cast<int>(Exit::usage);
  }
  return static_cast<int>(status);
}
