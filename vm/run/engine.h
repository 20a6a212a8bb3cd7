// Running: an engine takes an entry and its tensors, and reports what the run took and counted.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "isa/numeric/target.h"
#include "isa/program/probe.h"
#include "isa/verify/verify.h"
#include "sim/api/sim.h"
#include "vm/data/tensor.h"
#include "vm/run/entry.h"
#include "vm/run/exit.h"
#include "vm/run/prints.h"

namespace tilevm::vm {

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
  sim::ErrorStats errors;              ///< errors of the elements that have shadow values
  double worst = 0, worst_shadow = 0;  ///< the element that is most ulps away
};

/// What a run took and counted.
struct RunReport {
  double milliseconds = 0;          ///< the launches alone, without compiling and copying
  double prepare_milliseconds = 0;  ///< compiling and loading
  std::uint64_t blocks = 0;         ///< simulator: thread blocks run
  std::uint64_t steps = 0;          ///< simulator: instructions executed by blocks
  Prints prints;                    ///< prints of the launches that printed, also of a failed run
  /// Simulator: barriers and waits that the run does not need, elements of outputs that it left.
  Diagnostics notes;
  std::vector<std::array<std::int64_t, 3>> grids;  ///< simulator: of each launch that ended well
  /// Simulator: of the launch whose orders say least.
  sim::OrdersRun orders = sim::OrdersRun::alike;
  /// Simulator: by tensor, of outputs that are not inputs, how many elements nothing stored;
  /// nothing where that was not followed.
  std::vector<std::optional<std::size_t>> unwritten;
  /// Simulator: in the order of their first launch; empty unless EngineOptions::count_accesses.
  std::vector<KernelStats> kernels;
  /// Simulator, if EngineOptions::keep_shadow: likewise; and of each output that kernels write.
  std::vector<KernelErrors> kernel_errors;
  std::vector<OutputErrors> output_errors;
};

/// Sums over what each statement writes (isa/program/probe.h), for one run.
struct ProbeRun {
  std::vector<isa::ProbePlan> plans;    ///< plans by kernel
  std::vector<isa::ProbeLog> launches;  ///< logs by launch; their windows are set before the run
};

/// Something that runs a program's launches on host tensors.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// The backend's name (make_engine.h): "sim", "emu", "cuda", "cuda:O0".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The device in words: "simulator of sm_90", "NVIDIA H200, sm_90, ..., driver ...".
  [[nodiscard]] virtual std::string device() const = 0;
  /// Driver and compiler in words, empty without one.
  [[nodiscard]] virtual std::string driver() const { return {}; }
  [[nodiscard]] virtual std::string compiler() const { return {}; }
  /// The only target whose programs it runs; nothing if it runs those of any.
  [[nodiscard]] virtual std::optional<isa::Target> target() const { return std::nullopt; }

  /// Compiles these ahead, together where that is cheaper; what is prepared runs without compiling.
  [[nodiscard]] virtual Status prepare(std::span<const isa::VerifiedProgram* const> /*programs*/) {
    return Done{};
  }

  /// Whether a second run on the same inputs gives the same results, even if blocks race.
  [[nodiscard]] virtual bool repeats_itself() const { return false; }

  /// Runs all launches in order; tensors are updated in place. After a failure their contents are
  /// unspecified.
  [[nodiscard]] virtual std::optional<Failure> run(const isa::VerifiedProgram& program,
                                                   const Entry& entry,
                                                   std::vector<HostTensor>& tensors,
                                                   RunReport& report) = 0;

  /// Runs with probes. Error (usage): this engine has none.
  [[nodiscard]] virtual std::optional<Failure> run_probed(const isa::VerifiedProgram& program,
                                                          const Entry& entry,
                                                          std::vector<HostTensor>& tensors,
                                                          ProbeRun& probes);
};

struct EngineOptions {
  int threads = 0;  ///< host threads of the simulator; 0: all cores
  /// Statements that one block may execute in the simulator; empty: its default.
  std::optional<std::uint64_t> max_steps = {};
  sim::Checks checks{};  ///< what it looks for
  sim::Completion completion{};
  sim::BlockOrder block_order{};
  /// The order in which the emulated GPU runs the threads of a block.
  sim::BlockOrder thread_order{};
  /// Blocks that may run at once if they wait for one another; empty: the simulator's default.
  std::optional<std::uint64_t> resident_blocks = {};
  /// Other orders in which a small launch runs again in the simulator if its blocks order
  /// themselves; empty: its default.
  std::optional<std::uint64_t> explored_orders = {};
  bool count_accesses = false;   ///< whether it fills RunReport::kernels
  bool require_written = false;  ///< whether elements of outputs that nothing stores are a fault
  bool keep_shadow = false;      ///< whether it fills RunReport::kernel_errors and output_errors
  /// Told by the simulator how far a run is; its `stop` ends runs of the simulator and of emu.
  sim::Progress* progress = nullptr;
  /// Told what the statements of one block of every launch gave, with the kernel's index.
  std::function<bool(int kernel, const sim::TraceEvent&)> trace = {};
  std::array<std::int64_t, 3> traced_block{};
  std::uint64_t traced_blocks = 0;  ///< if not 0: so many blocks of each launch (sim::Trace)
  bool trace_values = true;
  /// Level of optimisation of an engine's compiler; empty: its default.
  std::optional<int> level = {};
  /// How long the launches of a run may take where no limit of steps ends them; 0: for ever.
  std::chrono::milliseconds timeout{0};
  /// For tests: changes the emitted text before it is compiled.
  std::function<std::string(std::string)> edit_text = {};
  /// Where the simulator keeps prepared kernels from run to run, if there is a place.
  std::shared_ptr<sim::KeptPlans> plans = nullptr;
};

}  // namespace tilevm::vm
