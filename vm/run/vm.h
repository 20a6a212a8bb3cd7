// The facade: everything between a file's name and the tensors that its program computes.
//
//   read_source ─► load ─► resolve_entry ─► make_tensors ─► Engine::run ─► outputs
//
// Nothing here prints, exits or looks at the command line; commands.h does that on top of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/bind/frontend.h"
#include "isa/base/diagnostic.h"
#include "isa/base/result.h"
#include "isa/base/source.h"
#include "isa/numeric/target.h"
#include "isa/program/program.h"
#include "isa/verify/verify.h"
#include "sim/api/sim.h"
#include "vm/data/spec.h"
#include "vm/data/tensor.h"
#include "vm/run/prints.h"

namespace tilevm::vm {

/// What the process ends with.
enum class Exit : int {
  ok = 0,
  fault = 1,        ///< the program or its data is wrong, or results differ
  usage = 2,        ///< the command line is wrong, or an output cannot be written
  unavailable = 3,  ///< a backend is missing
  limit = 4,        ///< a limit or a timeout was reached
  internal = 70,    ///< our fault
  skipped = 77,
};
[[nodiscard]] Exit exit_of(ErrorKind kind);

/// Why something did not work: faults of the program with their locations, or an error of the
/// environment.
using Failure = std::variant<Diagnostics, Error>;
[[nodiscard]] Exit exit_of(const Failure& failure);
[[nodiscard]] Exit exit_of(const Diagnostics& diagnostics);

// ---------------------------------------------------------------------------------------------
// Text to program

/// The text of a file; `-` is `standard_input`. Error (usage): it cannot be read. At most one byte
/// more than the frontend's limit is read, so that the frontend can complain about the size.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> read_source(const std::string& path,
                                                                    std::istream& standard_input);

/// A program and what was said of it. `program` is empty if there was an error.
struct Loaded {
  std::shared_ptr<const SourceFile> source;
  Diagnostics diagnostics;
  std::optional<isa::VerifiedProgram> program;
};

/// parse, bind, verify.
[[nodiscard]] Loaded load(std::shared_ptr<const SourceFile> source,
                          const std::vector<frontend::Define>& defines, const isa::Target& target);

/// Splits "NAME=TEXT" at the first `=`. Error (usage): there is no name or no `=`; `option` is the
/// option's name for the message.
[[nodiscard]] Result<std::pair<std::string, std::string>> split_assignment(std::string_view text,
                                                                           std::string_view option);

/// `-D NAME=VALUE` options. Error (usage): malformed, or one name twice.
[[nodiscard]] Result<std::vector<frontend::Define>> parse_defines(
    const std::vector<std::string>& texts);

// ---------------------------------------------------------------------------------------------
// What is run, on which data

/// A pipeline, or a kernel alone: tensors, and launches that use them.
struct Entry {
  struct Tensor {
    std::string name;
    isa::DType dtype;
    isa::Shape shape;
    bool input = false;   ///< filled before the run
    bool output = false;  ///< shown or written after it
    Spec spec;            ///< inputs: what fills it (rand if the user did not say)
    std::optional<Dest> dest;
  };
  std::string name;
  bool is_pipeline = false;
  std::vector<Tensor> tensors;
  std::vector<isa::Launch> launches;  ///< integer arguments are indices into `tensors`
};

/// The user's choice of data, as written: "NAME=SPEC" and "NAME=DEST".
struct DataOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// The index of an entry in a program's list of pipelines or of kernels.
struct EntryIndex {
  bool is_pipeline = false;
  int index = 0;
  friend bool operator==(const EntryIndex&, const EntryIndex&) = default;
};

/// The entry that a name means, an empty one as in resolve_entry.
[[nodiscard]] Result<EntryIndex> find_entry(const isa::Program& program, const std::string& name);

/// The entry called `name`; an empty name takes the only pipeline, else the one called `main`, else
/// the only kernel. The tensors of a kernel's pointers follow from its constant views; `data`
/// may give or override their type and shape, and gives scalar parameters their values. Errors
/// (usage) list what there is; (program) when the data does not fit.
[[nodiscard]] Result<Entry> resolve_entry(const isa::VerifiedProgram& program,
                                          const std::string& name, const DataOptions& data);

/// Where random inputs begin that name no seed of their own.
struct Seeding {
  std::uint64_t seed = 0;
  bool wild = false;  ///< inputs that the user did not give are `wild` instead of `rand`
};

/// One tensor per Entry::tensors: inputs filled, all others zero.
[[nodiscard]] Result<std::vector<HostTensor>> make_tensors(const Entry& entry,
                                                           const Seeding& seeding);

// ---------------------------------------------------------------------------------------------
// Running

/// What the launches of a kernel counted.
struct KernelStats {
  int kernel = 0;
  std::uint64_t launches = 0;
  sim::Counters counters;
};

/// The errors of a kernel's results over all of its launches (EngineOptions::keep_shadow).
struct KernelErrors {
  int kernel = 0;
  std::vector<sim::StatementErrors> statements;
};

/// The errors of an output, against its shadow values.
struct OutputErrors {
  std::string name;
  isa::DType dtype;
  isa::Shape shape;
  sim::ErrorStats errors;              ///< of the elements that have shadow values
  double worst = 0, worst_shadow = 0;  ///< the element that is most ulps away
};

/// What a run took and counted.
struct RunReport {
  double milliseconds = 0;          ///< the launches alone, without compiling and copying
  double prepare_milliseconds = 0;  ///< compiling and loading
  std::uint64_t blocks = 0;         ///< simulator: thread blocks run
  std::uint64_t steps = 0;          ///< simulator: instructions executed by blocks
  Prints prints;                    ///< of the launches that printed, also of a failed run
  Diagnostics notes;                ///< simulator: barriers and waits that the run does not need
  /// Simulator: in the order of their first launch; empty unless EngineOptions::count_accesses.
  std::vector<KernelStats> kernels;
  /// Simulator, if EngineOptions::keep_shadow: likewise; and of each output that kernels write.
  std::vector<KernelErrors> kernel_errors;
  std::vector<OutputErrors> output_errors;
};

/// Something that runs a program's launches on host tensors.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// "sim" or "cuda".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The device in words: "simulator of sm_90", "NVIDIA H200, sm_90, ..., driver ...".
  [[nodiscard]] virtual std::string device() const = 0;
  /// Driver and compiler in words, empty without one.
  [[nodiscard]] virtual std::string driver() const { return {}; }
  [[nodiscard]] virtual std::string compiler() const { return {}; }
  /// The only target whose programs it runs; nothing if it runs those of any.
  [[nodiscard]] virtual std::optional<isa::Target> target() const { return std::nullopt; }

  /// Runs all launches in order; tensors are updated in place. After a failure their contents are
  /// unspecified.
  [[nodiscard]] virtual std::optional<Failure> run(const isa::VerifiedProgram& program,
                                                   const Entry& entry,
                                                   std::vector<HostTensor>& tensors,
                                                   RunReport& report) = 0;
};

struct EngineOptions {
  int threads = 0;  ///< host threads of the simulator; 0: all cores
  /// Statements that one block may execute in the simulator; empty: its default.
  std::optional<std::uint64_t> max_steps = {};
  sim::Checks checks{};  ///< what it looks for
  sim::Completion completion{};
  sim::BlockOrder block_order{};
  /// Blocks that may run at once if they wait for one another; empty: the simulator's default.
  std::optional<std::uint64_t> resident_blocks = {};
  bool count_accesses = false;  ///< whether it fills RunReport::kernels
  bool keep_shadow = false;     ///< whether it fills RunReport::kernel_errors and output_errors
  /// Told what the statements of one block of every launch gave, with the kernel's index.
  std::function<bool(int kernel, const sim::TraceEvent&)> trace = {};
  std::array<std::int64_t, 3> traced_block{};
};

/// Names of the engines there are.
[[nodiscard]] const std::vector<std::string>& engine_names();

/// Error: usage (unknown name), unavailable (no device, no driver, no compiler).
[[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(const std::string& name,
                                                          const EngineOptions& options);

}  // namespace tilevm::vm
