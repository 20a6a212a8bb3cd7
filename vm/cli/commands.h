// The commands of `tilevm`, each a function of plain options and streams, so that tests call them
// as the command line does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vm/cli/io.h"
#include "vm/manual/command_table.h"
#include "vm/run/vm.h"

namespace tilevm::vm {

/// What every command that loads a program takes.
struct ProgramOptions {
  std::string file;                       ///< "-" is standard input
  std::vector<std::string> defines;       ///< "NAME=VALUE"
  std::string target;                     ///< empty: the command's default
  bool no_assert = false;                 ///< assertions are left out
  std::vector<std::string> folders = {};  ///< further folders from which files are included
};

struct CheckOptions {
  ProgramOptions program;
  bool machine = false;    ///< also run the entry, and check the order of its machine program
  std::string entry{};     ///< entry of `machine`; empty: as in resolve_entry
  DataOptions data{};      ///< data of `machine`
  bool exact = false;      ///< whether rounding is refused, for `machine`
  std::uint64_t seed = 0;  ///< seed of random data, for `machine`
  bool json = false;
};
Exit check(const CheckOptions& options, Io& io);

struct FormatOptions {
  std::vector<std::string> files;
  bool check = false;     ///< only say which files are not in canonical form
  bool in_place = false;  ///< rewrite the files
  bool json = false;
};
Exit format(const FormatOptions& options, Io& io);

struct LayoutOptions {
  std::vector<std::string> expressions;  ///< "[TYPE] LAYOUT"; two for a View of the same bits
  std::string output;                    ///< FILE.svg, FILE.html, or "-"
  std::string access;   ///< a register layout whose tile is moved to or from shared memory
  bool stores = false;  ///< whether it is stored, not loaded
  bool json = false;
};
Exit layout(const LayoutOptions& options, Io& io);

struct LspOptions {
  std::string version;
};
Exit lsp(const LspOptions& options, Io& io);

struct IsaOptions {
  std::string mnemonic;  ///< empty: the table of all
  bool markdown = false;
  bool words = false;  ///< the words of the language as JSON
  bool json = false;
};
Exit isa_reference(const IsaOptions& options, Io& io);

struct ExplainOptions {
  std::string code;  ///< empty: the list of all
  bool json = false;
};
Exit explain(const ExplainOptions& options, Io& io);

struct FidelityOptions {
  std::vector<std::string> words;  ///< what the rows have, all of them
  std::string architecture;        ///< empty: all
  bool json = false;
};
Exit fidelity_tables(const FidelityOptions& options, Io& io);

struct DoctorOptions {
  std::string version;
  bool json = false;
};
Exit doctor(const DoctorOptions& options, Io& io);

struct CacheOptions {
  std::string action = "list";  ///< list, path, clear
  bool json = false;
};
Exit cache(const CacheOptions& options, Io& io);

struct CompileOptions {
  ProgramOptions program;  ///< the target may be several, with commas, for a fatbin or a report
  std::string emit;        ///< cuda, ptx, cubin, fatbin; empty: a report alone, else cuda
  std::string output;      ///< empty: standard output for text
  std::string header;      ///< a C header to write beside it; empty: none
  bool explain = false;    ///< a report, to standard error where the code goes to standard output
  bool json = false;       ///< whether the report is JSON
  bool prelude = true;     ///< CUDA C++ has the device prelude before the kernels
  bool lines = true;       ///< CUDA C++ has #line directives
};
Exit compile(const CompileOptions& options, Io& io);

/// What every command that runs a program takes besides.
struct ExecutionOptions {
  std::string entry;
  DataOptions data;
  std::uint64_t seed = 0;
  bool wild = false;
  bool exact = false;  ///< numbers of files are not rounded
  int threads = 0;
};

struct RunOptions {
  ProgramOptions program;
  ExecutionOptions execution;
  std::string backend = "sim";
  std::string checks = "all";             ///< all, none, or a list
  std::string completion = "latest";      ///< completion of copies: latest, earliest, random[:SEED]
  std::string block_order = "ascending";  ///< ascending, descending, random[:SEED]
  std::string thread_order = "ascending";  ///< order of the threads of an emulated block:
                                           ///< ascending, descending, random[:SEED]
  std::optional<std::uint64_t> max_steps, resident_blocks, explored_orders;
  bool stats = false;
  bool shadow = false;  ///< whether shadow values are kept; with the simulator only
  /// Whether unwritten elements are an error; with the simulator only.
  bool require_written = false;
  std::string ring;  ///< a prime: formulas modulo it, too; empty: none; with the simulator only
  std::string page;  ///< a page of HTML to write about the run; empty: none; likewise
  bool json = false;
};
Exit run(const RunOptions& options, Io& io);

struct TraceOptions {
  ProgramOptions program;
  ExecutionOptions execution;
  std::string block = "0";     ///< X, X,Y or X,Y,Z
  std::uint64_t limit = 1000;  ///< statements that are shown
  std::string output;          ///< a Chrome trace to write; empty: none
  std::uint64_t blocks = 1;    ///< number of blocks of each launch on the timeline
  bool chart = false;          ///< the timeline as text instead of values
  std::optional<std::uint64_t> max_steps;
  bool json = false;
};
Exit trace(const TraceOptions& options, Io& io);

struct DebugCommandOptions {
  ProgramOptions program;  ///< the file may be the folder of a bundle
  ExecutionOptions execution;
  std::string script;          ///< a file of commands that are done first
  std::string checks = "all";  ///< all, none, or a list
  std::uint64_t memory = 512;  ///< MiB that snapshots may take
  std::optional<std::uint64_t> max_steps;
  bool batch = false;  ///< end after the script
  bool json = false;   ///< one object for each answer
};
Exit debug(const DebugCommandOptions& options, Io& io);

struct DapOptions {
  std::optional<int> port;  ///< port of 127.0.0.1, 0: any that is free; nothing: standard streams
};
Exit serve_dap(const DapOptions& options, Io& io);

struct DiffOptions {
  ProgramOptions program;
  ExecutionOptions execution;
  std::string backends;  ///< two or more; empty: sim,cuda, or a bundle's
  std::string seeds;     ///< "A..B", both included; empty: the one seed
  double timeout = 600;  ///< seconds that a run on a GPU may take; 0: for ever
  std::optional<std::uint64_t> max_steps;
  std::string record;  ///< a file that one line per seed is appended to
  std::string bundle;  ///< a folder for the first seed that differs, else the first
  std::string version;
  bool bisect = false;
  bool unordered_sums = false;  ///< floats that are added to memory in any order are not error
  std::string ring;     ///< a prime: formulas of two programs are compared, not bits of engines
  std::string against;  ///< the other program: FILE, FILE:ENTRY, or another ENTRY of the file
  std::vector<std::string> against_defines;  ///< "NAME=VALUE" of the other file
  bool json = false;
};
Exit diff(const DiffOptions& options, Io& io);
/// `diff` with `ring`.
Exit diff_formulas(const DiffOptions& options, Io& io);

struct ProveOptions {
  ProgramOptions program;
  ExecutionOptions execution;
  std::string batch;  ///< "M=1..64": rows do not depend on the batch
  bool json = false;
};
Exit prove(const ProveOptions& options, Io& io);

struct RecordOptions {
  std::string size = "quick";  ///< quick, full, exhaustive
  std::string only;            ///< a part of a case's name, or a result's name; empty: all cases
  std::string target;          ///< empty: the device's
  std::string backend = "cuda";
  std::string output;  ///< a file that one line a case is appended to; empty: standard output
  std::uint64_t seed = 0;
  int threads = 0;
  std::optional<double> time_limit;  ///< seconds after which no case begins
  bool force = false;                ///< also cases that `output` has
  std::vector<std::string>
      report;  ///< files of records: only write docs/results/fidelity.md from them
};
Exit record(const RecordOptions& options, Io& io);

struct BenchOptions {
  ProgramOptions program;  ///< the target is the device's
  std::string entry;
  std::vector<std::string> inputs;  ///< "NAME=SPEC"
  bool exact = false;               ///< numbers of files are not rounded
  std::uint64_t seed = 0;
  std::string kernel;          ///< empty: all that the entry launches
  int rounds = 30;             ///< timed launches of each kernel
  bool warm = false;           ///< L2 keeps what the last launch left
  std::string baseline;        ///< "cublas" or empty
  std::string reference;       ///< an entry that computes the same; empty: none
  bool check = true;           ///< a second run must give the same bits
  bool peak = true;            ///< measure the device's full reading rate
  bool refuse_spills = false;  ///< stop before the GPU is used where registers are spilled
  std::string lock;            ///< a file that is locked while the GPU is used; empty: none
  std::string output;          ///< a file that one line of JSON is appended to
  bool json = false;
};
Exit bench(const BenchOptions& options, Io& io);

struct TuneOptions {
  ProgramOptions program;  ///< the target is the device's; defines fix what they name
  std::string entry, kernel;
  std::vector<std::string> inputs;   ///< "NAME=SPEC": of the problem that is timed
  std::vector<std::string> reduced;  ///< "NAME=VALUE": of the problem that the simulator checks
  std::string output = "tune.jsonl";
  std::string start;      ///< a table whose points are timed first; empty: none
  double time_limit = 0;  ///< seconds; 0: none
  int jobs = 0;           ///< processes that compile at a time; 0: as many as cores, up to 8
  int rounds = 30;
  std::uint64_t most = 512;  ///< points that are timed
  std::uint64_t seed = 0;
  std::string worker;  ///< the program that is started for each point: this one
  bool json = false;
};
Exit tune(const TuneOptions& options, Io& io);

struct FuzzOptions {
  std::vector<std::string> words;  ///< "merge" and the folders; else none
  std::string seeds = "0..99";     ///< "A..B", both included
  std::string shard = "0/1";       ///< "i/n": the seeds whose remainder by n is i
  /// Names of engines, with commas. Empty: all that run on a CPU and are there.
  std::string backends;
  std::string target;                ///< empty: the engines', or the default
  std::optional<double> time_limit;  ///< seconds after which no batch begins
  std::string corpus;                ///< a folder; empty: nothing is kept
  bool resume = false;
  bool plant = false;
  bool shrink = true;
  bool show = false;               ///< only print the programs
  std::vector<std::string> avoid;  ///< signatures
  std::string judge;               ///< a kept case to judge again
  std::string version;             ///< version of this program, for bundles
  bool json = false;
};
Exit fuzz_programs(const FuzzOptions& options, Io& io);

struct CompletionOptions {
  std::string shell;
  std::function<CommandTable()> table;
};
Exit complete(const CompletionOptions& options, Io& io);

struct ManualOptions {
  std::string command;  ///< empty: of all
  std::string folder;   ///< folder to write every page to; empty: one page to standard output
  std::function<CommandTable()> table;
};
Exit manual(const ManualOptions& options, Io& io);

struct ExamplesOptions {
  std::string name;  ///< name of a program whose text is wanted; empty: the list of all
  bool json = false;
};
Exit examples(const ExamplesOptions& options, Io& io);

struct NewOptions {
  std::string file;
  std::string from;  ///< a program to begin with; empty: a kernel that scales a vector
};
Exit new_program(const NewOptions& options, Io& io);

struct DemoOptions {
  std::string program_folder;  ///< where the shipped programs are; empty: looked for
  std::string source_folder;   ///< source folder of the build, tried last
  int threads = 0;
  std::int64_t size = 1024;  ///< M, N and K
};
Exit demo(const DemoOptions& options, Io& io);

struct TritonOptions {
  std::string file;  ///< FILE.ttgir, FILE.py:KERNEL, or a module's own text
  std::vector<std::string> signature, constants, settings;
  std::string target, compiled_by, module, output;
};
Exit triton(const TritonOptions& options, Io& io);

struct PackOptions {
  std::string source, destination;  ///< no destination: what is in the source is listed
  bool quiet = false;
};
Exit pack(const PackOptions& options, Io& io);

}  // namespace tilevm::vm
