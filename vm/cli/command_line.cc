// The options of every command, in the words of `--help`.
// More than 400 lines: CLI11 takes long to compile, so one source reads it, and an option is a line
// or three.
#include "vm/cli/command_line.h"

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "isa/base/codes.h"
#include "vm/cli/commands.h"
#include "vm/cli/help.h"
#include "vm/text/isa_reference.h"

namespace tilevm::vm {

namespace {

void add_list(CLI::App* app, const std::string& name, std::vector<std::string>& values,
              const std::string& description, const std::string& form) {
  app->add_option(name, values, description)->type_name(form)->allow_extra_args(false);
}

/// A program for the device's target.
void add_device_program(CLI::App* app, ProgramOptions& options) {
  app->add_option("file", options.file, "the program; - reads standard input")
      ->required()
      ->type_name("FILE");
  add_list(app, "-D,--define", options.defines, "overrides a constant", "NAME=VALUE");
  add_list(app, "-I,--include", options.folders,
           "a folder whose files may be included, beside the program's own", "DIR");
}

void add_program(CLI::App* app, ProgramOptions& options, const std::string& target) {
  add_device_program(app, options);
  app->add_option(
         "--target", options.target,
         "the architecture: sm_80 sm_89 sm_90a sm_100a sm_103a sm_110a sm_120a sm_100f ...; " +
             target)
      ->type_name("TARGET");
}

void add_no_assert(CLI::App* app, ProgramOptions& options) {
  app->add_flag("--no-assert", options.no_assert, "leave assertions out");
}

/// CLI11 would read "-1" as 2^64 - 1.
std::string is_seed(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end) return {};
  return "`" + text + "` is not a seed, an integer from 0 to 2^64 - 1";
}

void add_entry(CLI::App* app, std::string& entry, std::vector<std::string>& inputs, bool& exact,
               std::uint64_t& seed) {
  app->add_option("--entry", entry,
                  "the pipeline or kernel to run; the only pipeline, else main, else the only "
                  "kernel if left out")
      ->type_name("NAME");
  add_list(
      app, "--in", inputs,
      "what an input holds: FILE.npy, FILE.npz[:ARRAY], FILE.safetensors[:ARRAY], - for "
      "standard input, codes:FILE, packed:FILE, rand[:SEED], wild[:SEED], corner[:SEED], "
      "zeros, iota[:STEP], full:VALUE; or a scalar's value. For a kernel alone also with a type: "
      "'a=f16[64,64]=rand'",
      "NAME=SPEC");
  app->add_flag("--exact", exact,
                "refuse floats of files that an input's type does not hold, instead of rounding");
  app->add_option("--seed", seed, "of random inputs that name none; 0 if left out")
      ->check(is_seed, "");
}

void add_execution(CLI::App* app, ExecutionOptions& options) {
  add_entry(app, options.entry, options.data.inputs, options.exact, options.seed);
  add_list(
      app, "--out", options.data.outputs,
      "where an output goes: FILE.npy, FILE.npz[:ARRAY], FILE.safetensors[:ARRAY], codes:FILE, "
      "or -, npz:- or safetensors:- for standard output",
      "NAME=DEST");
  app->add_flag("--wild", options.wild,
                "inputs that are not given hold random bits of every exponent instead of [-1, 1)");
  app->add_option("--threads", options.threads, "host threads of the simulator; 0: all cores")
      ->check(CLI::Range(0, 4096));
}

/// Where commands are added.
struct CommandLine {
  CLI::App& root;
  Commands& commands;
  std::string_view only;  ///< the name of the only command that is added; empty: all are
};

/// A command and its options, to which the caller adds names; null for one that is not added.
template <class Options>
std::pair<CLI::App*, Options*> add_command(const CommandLine& to, const std::string& name,
                                           const std::string& summary,
                                           Exit (*function)(const Options&, Io&)) {
  if (!to.only.empty() && to.only != name) return {nullptr, nullptr};
  const auto options = std::make_shared<Options>();
  CLI::App* app = to.root.add_subcommand(name, summary);
  to.commands.push_back({app, [options, function](Io& io) { return function(*options, io); }});
  return {app, options.get()};
}

void add_reading_commands(const CommandLine& to) {
  if (auto [app, o] = add_command<CheckOptions>(
          to, "check", "Parses and verifies; shows every error of the file.", check);
      app != nullptr) {
    add_program(app, o->program, "sm_90 if left out");
    app->add_flag("--machine", o->machine,
                  "also run the program on the emulated GPU, and check that barriers, phases of "
                  "copies and fences order its accesses to shared memory");
    add_entry(app, o->entry, o->data.inputs, o->exact, o->seed);
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] =
          add_command<FormatOptions>(to, "fmt", "Writes a program in its canonical form.", format);
      app != nullptr) {
    app->add_option("files", o->files, "the programs; - reads standard input")
        ->required()
        ->type_name("FILE");
    app->add_flag("--check", o->check, "write nothing; exit 1 if a file would change");
    app->add_flag("-i,--in-place", o->in_place, "rewrite the files");
    app->add_flag("--json", o->json,
                  "one JSON object to standard output, with the text of each file");
  }
  if (auto [app, o] = add_command<LayoutOptions>(
          to, "layout", "Draws a layout: which thread holds which element.", layout);
      app != nullptr) {
    // Two options of one word each: CLI11 would take brackets around a layout for a list of words.
    const auto add = [options = o](const std::string& text) {
      options->expressions.push_back(text);
    };
    app->add_option_function<std::string>(
           "expression", add, "a layout, after the type of its elements to show bits or banks")
        ->required()
        ->type_name("[TYPE] LAYOUT");
    app->add_option_function<std::string>("view", add,
                                          "another one of the same bits: both show a View")
        ->type_name("[TYPE] LAYOUT");
    app->add_option("--access", o->access,
                    "the register layout of a tile that is loaded from the memory layout: its bank "
                    "conflicts")
        ->type_name("LAYOUT");
    app->add_flag("--store", o->stores, "the tile of --access is stored");
    app->add_option("-o,--output", o->output, "draw to FILE.svg or FILE.html; - for SVG to stdout")
        ->type_name("FILE");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] =
          add_command<IsaOptions>(to, "isa", "Explains the instructions.", isa_reference);
      app != nullptr) {
    app->add_option("mnemonic", o->mnemonic, "one instruction")->type_name("NAME");
    app->add_flag("--markdown", o->markdown, "the whole reference as Markdown");
    app->add_flag("--words", o->words,
                  "the words of the language by kind, as JSON, for editors and highlighters");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] =
          add_command<ExplainOptions>(to, "explain", "Explains the code of a message.", explain);
      app != nullptr) {
    app->add_option("code", o->code, "a code such as TV0104")->type_name("CODE");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
}

std::string check_help() {
  std::string names, others;
  for (const sim::NamedCheck& check : sim::named_checks) {
    names += (names.empty() ? "" : ", ") + std::string(check.name);
    if (!check.is_default()) others += (others.empty() ? "" : ", ") + std::string(check.name);
  }
  others = "; `all` is without: " + others;
  return "checks of the simulator: all (default), none, or a list of: " + names + others;
}

/// An option N that is at least `least` and at most 2^bits.
template <class Number>
void add_number(CLI::App& app, const std::string& name, Number& number, std::uint64_t least,
                unsigned bits, const std::string& text) {
  app.add_option(name, number, text)
      ->check(CLI::Range(least, std::uint64_t{1} << bits))
      ->type_name("N");
}

void add_max_steps(CLI::App& app, std::optional<std::uint64_t>& steps, const std::string& usual) {
  add_number(app, "--max-steps", steps, 1, 62,
             "statements that a block may execute in the simulator; " + usual + " if left out");
}

void add_running_commands(const CommandLine& to) {
  if (auto [app, o] = add_command<RunOptions>(
          to, "run", "Runs a program and shows or writes its outputs.", run);
      app != nullptr) {
    add_program(app, o->program, "the device's, or sm_90, if left out");
    add_no_assert(app, o->program);
    add_execution(app, o->execution);
    app->add_option("--engine,--backend", o->backend, "sim (default), emu or cuda")
        ->type_name("NAME");
    app->add_option("--check", o->checks, check_help())->type_name("LIST");
    add_number(*app, "--max-steps", o->max_steps, 1, 62,
               "statements that a block may execute in the simulator, iterations of loops that a "
               "thread may make in emu; 268435456 if left out");
    app->add_option("--async", o->completion,
                    "when sim and emu let asynchronous copies arrive: latest (default), "
                    "earliest, random[:SEED]")
        ->type_name("TIME");
    app->add_option("--block-order", o->block_order,
                    "the order in which sim and emu begin blocks: ascending (default), "
                    "descending, random[:SEED]")
        ->type_name("ORDER");
    app->add_option("--thread-order", o->thread_order,
                    "the order in which emu runs the threads of a block: ascending (default), "
                    "descending, random[:SEED]")
        ->type_name("ORDER");
    add_number(*app, "--resident", o->resident_blocks, 1, 20,
               "blocks that sim and emu let run at once if they wait for one another; 132 if left "
               "out");
    add_number(*app, "--orders", o->explored_orders, 0, 20,
               "other orders of blocks in which sim runs a small launch again if its blocks wait "
               "for one another, to find what may go wrong in them; 24 if left out");
    app->add_flag("--stats", o->stats, "times and counters to standard error");
    app->add_option("--report", o->page,
                    "write a page about the run: faults and cost by line, outputs, bank conflicts, "
                    "timeline; simulator only")
        ->type_name("FILE.html");
    app->add_flag("--shadow", o->shadow,
                  "compute every value also without rounding, and show the errors of outputs and "
                  "statements; simulator only");
    app->add_option("--ring", o->ring,
                    "compute every value also modulo a prime, where nothing is rounded, and show "
                    "each output's formula as a hash: a prime below 2^32, or default; simulator "
                    "only")
        ->type_name("P");
    app->add_flag("--require-written", o->require_written,
                  "elements of outputs that nothing stores are an error; simulator only");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] = add_command<TraceOptions>(
          to, "trace", "Shows what every statement of one block gives.", trace);
      app != nullptr) {
    add_program(app, o->program, "sm_90 if left out");
    add_execution(app, o->execution);
    app->add_option("--block", o->block, "the block, in every launch; 0 if left out")
        ->type_name("X[,Y[,Z]]");
    add_number(*app, "--limit", o->limit, 1, 40, "statements that are shown; 1000 if left out");
    add_max_steps(*app, o->max_steps, "16777216");
    app->add_option("-o,--output", o->output,
                    "write a timeline of blocks for chrome://tracing or Perfetto, and show a chart "
                    "of it")
        ->type_name("FILE");
    app->add_flag("--chart", o->chart, "show the timeline as a chart, write nothing");
    add_number(*app, "--blocks", o->blocks, 1, 12,
               "blocks of each launch on the timeline, from the first; 1 if left out");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] = add_command<DebugCommandOptions>(
          to, "debug",
          "Steps through a program, forwards and backwards; `help` there lists the words.", debug);
      app != nullptr) {
    add_program(app, o->program, "sm_90 if left out");
    add_execution(app, o->execution);
    app->add_option("-x,--command", o->script, "do the commands of a file first")
        ->type_name("SCRIPT");
    app->add_flag("--batch", o->batch, "end after the script, or after standard input");
    app->add_option("--check", o->checks, check_help())->type_name("LIST");
    app->add_option("--memory", o->memory,
                    "MiB that snapshots of the past may take; 512 if left out")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20))
        ->type_name("N");
    app->add_option("--max-steps", o->max_steps,
                    "statements that a block may execute; 268435456 if left out")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62))
        ->type_name("N");
    app->add_flag("--json", o->json, "one JSON object for each answer");
  }
  if (auto [app, o] = add_command<DapOptions>(
          to, "dap", "The debugger for editors: the Debug Adapter Protocol on standard streams.",
          serve_dap);
      app != nullptr) {
    app->add_option("--port", o->port,
                    "serve one client of this port of 127.0.0.1 instead; 0: any that is free")
        ->check(CLI::Range(0, 65535))
        ->type_name("N");
  }
  if (auto [app, o] = add_command<DiffOptions>(
          to, "diff", "Runs a program on several engines and compares every bit.", diff);
      app != nullptr) {
    add_program(app, o->program, "the device's, or sm_90, if left out");
    add_no_assert(app, o->program);
    add_execution(app, o->execution);
    app->add_option("--engines,--backends", o->backends,
                    "two or more to compare, with the first; cuda:O0 to cuda:O3 are levels of "
                    "optimisation; sim,cuda if left out")
        ->type_name("A,B");
    app->add_option("--seeds", o->seeds, "several seeds in one go, both ends included")
        ->type_name("A..B");
    add_max_steps(*app, o->max_steps, "268435456");
    app->add_option("--timeout", o->timeout,
                    "how long a run on a GPU may take, 0 for ever; 600 if left out")
        ->check(CLI::NonNegativeNumber)
        ->type_name("SECONDS");
    app->add_option("--record", o->record, "append what the last engine gave, one line a seed")
        ->type_name("FILE");
    app->add_option("--bundle", o->bundle,
                    "write the first seed that differs, else the first, to a folder from which "
                    "`tilevm diff DIR` repeats it")
        ->type_name("DIR");
    o->version = TILEVM_VERSION;
    app->add_flag("--bisect", o->bisect,
                  "find the first statement that differs, of the first seed that does");
    app->add_flag("--unordered-sums", o->unordered_sums,
                  "compare although a kernel adds floats to memory, in an order that nothing "
                  "defines");
    app->add_option("--ring", o->ring,
                    "compare the formulas of two programs modulo a prime instead of the bits of "
                    "engines: a prime below 2^32, or default; with --against")
        ->type_name("P");
    app->add_option("--against", o->against,
                    "the program that --ring compares with: a file, FILE:ENTRY, or another entry "
                    "of the file, such as reference")
        ->type_name("PROGRAM");
    add_list(app, "--against-define", o->against_defines,
             "constants of that other program; another entry of the file has --define's, too",
             "NAME=VALUE");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] = add_command<ProveOptions>(
          to, "prove", "Shows that a program gives the same bits for every size of its batch.",
          prove);
      app != nullptr) {
    add_program(app, o->program, "sm_90 if left out");
    add_entry(app, o->execution.entry, o->execution.data.inputs, o->execution.exact,
              o->execution.seed);
    app->add_option("--batch-invariant", o->batch,
                    "each row of the outputs is computed by the same roundings of the same numbers "
                    "whatever the constant is, and wherever the row is; else the statement that "
                    "breaks it is named")
        ->type_name("NAME=FIRST..LAST");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
}

void add_record_command(const CommandLine& to) {
  auto [app, o] = add_command<RecordOptions>(
      to, "record",
      "Compares every instruction on every type with a GPU, bit for bit, and records the outcome.",
      record);
  if (app == nullptr) return;
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
  app->add_option(
         "--report", o->report,
         "run nothing; write docs/results/fidelity.md from files of records to standard output")
      ->type_name("FILE");
  app->add_option("--time-limit", o->time_limit, "begin no case after so many seconds; exit 4")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  app->add_option("--engine,--backend", o->backend,
                  "cuda (default), or emu: the emulated GPU; sim compares the simulator with "
                  "itself, to try cases out")
      ->type_name("NAME");
  app->add_option("--target", o->target, "of the simulator; the device's if left out")
      ->type_name("TARGET");
  app->add_option("--seed", o->seed, "of the operands beyond the kept ones; 0 if left out")
      ->check(is_seed, "");
  app->add_option("--threads", o->threads, "host threads of the simulator; 0: all cores")
      ->check(CLI::Range(0, 4096));
}

void add_measuring_commands(const CommandLine& to) {
  if (auto [app, o] = add_command<BenchOptions>(
          to, "bench", "Times the kernels of a program on the GPU.", bench);
      app != nullptr) {
    add_device_program(app, o->program);
    add_no_assert(app, o->program);
    add_entry(app, o->entry, o->inputs, o->exact, o->seed);
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
    app->add_flag("--refuse-spills", o->refuse_spills,
                  "stop before the GPU is used if a kernel that is timed spills registers");
    app->add_option("--lock", o->lock, "lock this file while the GPU is used, to share the GPU")
        ->type_name("FILE");
    app->add_option("-o,--output", o->output, "append the result as one line of JSON")
        ->type_name("FILE");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] = add_command<TuneOptions>(
          to, "tune", "Finds the fastest values of a program's tunables on the GPU.", tune);
      app != nullptr) {
    add_device_program(app, o->program);
    app->add_option("--entry", o->entry, "the pipeline or kernel to tune")->type_name("NAME");
    app->add_option("--kernel", o->kernel, "only this kernel's time counts; else the sum of all")
        ->type_name("NAME");
    add_list(app, "--in", o->inputs,
             "what an input holds while points are timed, as of `tilevm run`; random if left out. "
             "The smaller problem of --reduce takes all but files",
             "NAME=SPEC");
    add_list(app, "--reduce", o->reduced,
             "a constant of the smaller problem on which a winner must give the simulator's bits; "
             "the file's line `# reduce: NAME=VALUE ..` if left out",
             "NAME=VALUE");
    app->add_option("-o,--output", o->output,
                    "a line for each point; points that it has are not timed again; tune.jsonl if "
                    "left out")
        ->type_name("FILE");
    app->add_option("--start", o->start,
                    "a table of such lines, of any GPU, whose fastest points are timed first")
        ->type_name("FILE");
    app->add_option(
           "--time-limit", o->time_limit,
           "seconds from the start of the command to its end, with the proof of the winner")
        ->check(CLI::PositiveNumber)
        ->type_name("SECONDS");
    app->add_option("--jobs", o->jobs, "processes at a time; 0: one for each core, up to 8")
        ->check(CLI::Range(0, 256));
    app->add_option("--repeat", o->rounds, "timed launches of each point; 30 if left out")
        ->check(CLI::Range(1, 100000))
        ->type_name("N");
    add_number(
        *app, "--points", o->most, 1, 20,
        "the most points that are timed: of more, random ones and neighbours of the fastest; "
        "512 if left out");
    app->add_option("--seed", o->seed, "of the random points; 0 if left out")->check(is_seed, "");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
}

void add_fuzz_command(const CommandLine& to) {
  auto [app, o] = add_command<FuzzOptions>(
      to, "fuzz", "Generates random valid programs and looks for a difference between engines.",
      fuzz_programs);
  if (app == nullptr) return;
  app->add_option("words", o->words, "`merge DIR..` puts corpora together in --corpus")
      ->type_name("WORD");
  app->add_option("--seeds", o->seeds, "a program each, both ends included; 0..99 if left out")
      ->type_name("A..B");
  app->add_option("--shard", o->shard, "only the seeds whose remainder by N is I")
      ->type_name("I/N");
  app->add_option("--engines,--backends", o->backends,
                  "engines that must agree with the simulator, which always runs; "
                  "sim,naive,emu:O0 if left out, and without a C++ compiler sim,naive")
      ->type_name("LIST");
  app->add_option("--target", o->target, "the device's, or sm_90, if left out")
      ->type_name("TARGET");
  app->add_option("--time", o->time_limit, "begin no batch after so many seconds")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  app->add_option("--corpus", o->corpus, "a folder for progress, coverage and failing cases")
      ->type_name("DIR");
  app->add_flag("--resume", o->resume,
                "leave out the seeds that the corpus has of these engines and this target");
  app->add_flag("--plant", o->plant,
                "plant one fault in each program and expect its report from the simulator");
  app->add_flag("!--no-shrink", o->shrink, "keep failing programs as they are");
  app->add_flag("--show", o->show, "print the programs, run nothing");
  add_list(app, "--avoid", o->avoid,
           "a known signature or its first words: its programs are only counted", "SIGNATURE");
  app->add_option("--judge", o->judge, "a case that a campaign kept: judge it again")
      ->type_name("FILE");
  app->add_flag("--json", o->json, "one JSON object to standard output");
  o->version = TILEVM_VERSION;
}

void add_beginning_commands(const CommandLine& to) {
  if (auto [app, o] = add_command<ExamplesOptions>(
          to, "examples", "Lists the programs that come with tilevm, or shows one.", examples);
      app != nullptr) {
    app->add_option("name", o->name, "a program, as the list names it")->type_name("PROGRAM");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  auto [app, o] = add_command<NewOptions>(
      to, "new", "Writes a program to begin with, which runs as it is.", new_program);
  if (app == nullptr) return;
  app->add_option("file", o->file, "the file to write, which must not exist")
      ->required()
      ->type_name("FILE.tile");
  app->add_option("--from", o->from, "begin with a copy of this program")->type_name("PROGRAM");
}

void add_other_commands(const CommandLine& to) {
  if (auto [app, o] = add_command<CompileOptions>(
          to, "compile", "Turns a program into CUDA C++, PTX or machine code.", compile);
      app != nullptr) {
    add_program(app, o->program, "sm_90a if left out; a fatbin takes several, as sm_80,sm_90a");
    add_no_assert(app, o->program);
    app->add_option("--emit", o->emit,
                    "cuda (default), ptx, cubin or fatbin; with --explain and no -o, nothing")
        ->type_name("KIND");
    app->add_option("-o,--output", o->output, "the file to write; - for standard output")
        ->type_name("FILE");
    app->add_flag("!--no-prelude", o->prelude,
                  "with --emit cuda, the kernels alone, to be read: without the device prelude "
                  "that they are compiled with");
    app->add_flag("!--no-lines", o->lines,
                  "with --emit cuda, leave out #line directives, so that the compiler's messages "
                  "and tools name lines of the CUDA C++");
    app->add_option("--header", o->header,
                    "for a cubin or fatbin, also a C header that launches the kernels; without -o "
                    "it contains the code")
        ->type_name("FILE");
    app->add_flag("--explain", o->explain,
                  "what became of each instruction and each kernel: choices and why none is wider, "
                  "registers, spills, shared memory");
    app->add_flag("--json", o->json, "the report as one JSON object to standard output");
  }
  if (auto [app, o] = add_command<FidelityOptions>(
          to, "fidelity",
          "Says which results equal which GPU's, bit for bit, and how that is known.",
          fidelity_tables);
      app != nullptr) {
    app->add_option("words", o->words,
                    "what the rows have, such as `Dot f16`; all rows if left out")
        ->type_name("WORD");
    app->add_option("--arch", o->architecture, "one architecture; all if left out")
        ->type_name("sm_NN");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] = add_command<DoctorOptions>(
          to, "doctor", "Says what this machine offers and what is missing.", doctor);
      app != nullptr) {
    o->version = TILEVM_VERSION;
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] = add_command<CacheOptions>(to, "cache",
                                                "Shows the compiled kernels that are kept.", cache);
      app != nullptr) {
    app->add_option("action", o->action, "list (default), path, or clear to remove them all")
        ->type_name("ACTION");
    app->add_flag("--json", o->json, "one JSON object to standard output");
  }
  if (auto [app, o] = add_command<LspOptions>(
          to, "lsp", "Serves an editor: the Language Server Protocol on stdio.", lsp);
      app != nullptr) {
    o->version = TILEVM_VERSION;
    app->add_flag("--stdio")->description("what it does anyway; some editors say it");
  }
  if (auto [app, o] = add_command<TritonOptions>(
          to, "triton", "Writes the program of a Triton or Gluon kernel.", triton);
      app != nullptr) {
    app->add_option("file", o->file, "FILE.ttgir, FILE.py:KERNEL, or what --module wrote")
        ->required()
        ->type_name("FILE");
    add_list(app, "-s,--signature", o->signature,
             "a parameter's type: x=*fp32, n=i32, or n=i32:16 for multiples of 16", "NAME=TYPE");
    add_list(app, "-c,--constant", o->constants, "the value of a tl.constexpr", "NAME=VALUE");
    add_list(app, "-O,--option", o->settings, "an option of a launch, such as num_warps=8",
             "NAME=VALUE");
    app->add_option("--target", o->target, "sm_80 (default), sm_86, sm_89 or sm_90")
        ->type_name("TARGET");
    app->add_option("--compiled-by", o->compiled_by,
                    "the version of Triton that made a .ttgir, if another one")
        ->type_name("VERSION");
    app->add_option("--module", o->module,
                    "also writes the module's own text, which needs no Triton any more")
        ->type_name("FILE");
    app->add_option("-o,--output", o->output, "the file to write; standard output if left out")
        ->type_name("FILE");
  }
  if (auto [app, o] = add_command<PackOptions>(
          to, "pack", "Packs the weights of a checkpoint that others quantised.", pack);
      app != nullptr) {
    app->add_option("source", o->source,
                    "a folder of .safetensors files, one such file, or a .gguf file")
        ->required()
        ->type_name("SOURCE");
    app->add_option("destination", o->destination,
                    "the folder that is written, in which an interrupted run goes on; left out: "
                    "what is in the source is listed")
        ->type_name("FOLDER");
    app->add_flag("--quiet", o->quiet, "show no progress");
  }
  if (auto [app, o] = add_command<DemoOptions>(
          to, "demo", "Multiplies f16 by 6-bit integers, and checks every step.", demo);
      app != nullptr) {
    o->source_folder = TILEVM_SOURCE_DIR;
    app->add_option("--threads", o->threads, "host threads of the simulator; 0: all cores")
        ->check(CLI::Range(0, 4096));
  }
}

/// What an option or an operand may be, where that is a short list or one of the language.
std::vector<std::string> words_of(const std::string& command, const std::string& name,
                                  const std::string& form) {
  std::vector<std::string> words;
  if (form == "TARGET") {
    for (const isa::Target& target : isa::known_targets()) words.push_back(to_string(target));
  } else if (name == "--engine" || name == "--backend") {
    words = engine_names();
  } else if (command == "isa" && name == "mnemonic") {
    for (const InstructionInfo& each : all_instructions()) {
      words.emplace_back(each.description.mnemonic);
    }
  } else if (command == "explain" && name == "code") {
    for (const Code code : all_codes()) words.push_back(to_string(code));
  } else if (name == "--check" && form == "LIST") {
    words = {"all", "none"};
    for (const sim::NamedCheck& check : sim::named_checks) words.emplace_back(check.name);
  } else if (name == "--color") {
    words = {"auto", "always", "never"};
  } else if (name == "--emit") {
    words = {"cuda", "ptx", "cubin", "fatbin"};
  } else if (name == "--async") {
    words = {"latest", "earliest", "random"};
  } else if (name == "--block-order" || name == "--thread-order") {
    words = {"ascending", "descending", "random"};
  } else if (name == "--size") {
    words = {"quick", "full", "exhaustive"};
  } else if (command == "cache" && name == "action") {
    words = {"list", "path", "clear"};
  } else if (name == "shell") {
    words = {"bash", "zsh", "fish"};
  }
  return words;
}

OptionEntry describe(const std::string& command, const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (option.get_positional()) entry.operand = option.get_name(true);
  entry.text = option.get_description();
  entry.required = option.get_required();
  entry.several = option.get_items_expected_max() > 1;
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();  // and what is checked, after a colon
    entry.form = type.substr(0, type.find(':'));
  }
  entry.words =
      words_of(command, entry.names.empty() ? entry.operand : entry.names.back(), entry.form);
  return entry;
}

CommandEntry describe(const CLI::App& app) {
  const std::string name = app.get_name();
  CommandEntry entry{name, app.get_description(), help_examples(name), help_statuses(name), {}};
  const bool is_root = app.get_parent() == nullptr;
  for (const CLI::Option* option : app.get_options()) {
    if (!is_root && option == app.get_help_ptr()) continue;  // one of all commands
    entry.options.push_back(describe(name, *option));
  }
  return entry;
}

/// The commands that describe the command line themselves.
void add_manual_commands(const CommandLine& to) {
  auto [completion, c] = add_command<CompletionOptions>(
      to, "completion", "Prints a script that completes commands in a shell.", complete);
  completion->add_option("shell", c->shell, "bash, zsh or fish")->required()->type_name("SHELL");
  auto [pages, m] = add_command<ManualOptions>(to, "man", "Prints man pages.", manual);
  pages->add_option("command", m->command, "the command; all in one page if left out")
      ->type_name("COMMAND");
  pages->add_option("-o,--output", m->folder, "write every page to a folder")->type_name("DIR");
  c->table = m->table = [&root = to.root] {
    CommandTable table{TILEVM_VERSION, describe(root), {}};
    for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
      table.commands.push_back(describe(*app));
    }
    return table;
  };
}

/// Adds commands. The command line is described by commands that need all of them.
void add_commands(const CommandLine& to) {
  add_beginning_commands(to);
  add_running_commands(to);
  add_record_command(to);
  add_fuzz_command(to);
  add_measuring_commands(to);
  add_reading_commands(to);
  add_other_commands(to);
  if (to.only.empty()) add_manual_commands(to);
}

}  // namespace

Commands add_commands(CLI::App& root, std::string_view named) {
  Commands commands;
  if (!named.empty()) add_commands({root, commands, named});
  if (commands.empty()) add_commands({root, commands, {}});
  return commands;
}

}  // namespace tilevm::vm
