#include "vm/naive/naive_engine.h"

#include <algorithm>
#include <utility>

#include "vm/naive/naive_block.h"

namespace tilevm::vm::naive {
namespace {

/// The value of an extent of the grid, which is made of scalar parameters.
std::int64_t grid_extent(const isa::Expr& expr, const NaiveLaunch& launch) {
  const auto value =
      isa::evaluate(expr, [&](isa::VarId var) { return launch.scalars.at(var.index); });
  return value ? isa::convert(*value, isa::ScalarKind::i64).as_int() : 0;
}

/// Buffers are numbered for probes: the tensors of the run, then the workspaces.
NaiveLaunch begin(const isa::VerifiedProgram& program, const isa::Launch& launch,
                  std::vector<HostTensor>& tensors) {
  NaiveLaunch result{program, launch.kernel};
  const isa::Kernel& kernel = program.kernel(launch.kernel);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const std::int32_t var = kernel.parameters[i].index;
    if (const auto* tensor = std::get_if<int>(&launch.arguments[i])) {
      const auto number = static_cast<std::size_t>(*tensor);
      result.pointers[var] = {&tensors[number].data, number};
    } else {
      result.scalars[var] = std::get<isa::Scalar>(launch.arguments[i]);
    }
  }
  const auto& workspaces = program.info(launch.kernel).workspaces;
  for (const isa::KernelInfo::Workspace& workspace : workspaces) {
    result.workspace_bytes.emplace_back(static_cast<std::size_t>(workspace.bytes), 0);
  }
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    result.workspaces[workspaces[i].var.index] = {&result.workspace_bytes[i], tensors.size() + i};
  }
  for (std::size_t d = 0; d < kernel.grid.size(); ++d) {
    result.grid[d] = grid_extent(kernel.grid[d], result);
  }
  return result;
}

class NaiveEngine final : public Engine {
 public:
  [[nodiscard]] std::string_view name() const override { return "naive"; }
  [[nodiscard]] std::string device() const override { return "naive interpreter"; }

  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram& program, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    return run_all(program, entry, tensors, report, nullptr);
  }
  [[nodiscard]] std::optional<Failure> run_probed(const isa::VerifiedProgram& program,
                                                  const Entry& entry,
                                                  std::vector<HostTensor>& tensors,
                                                  ProbeRun& probes) override {
    RunReport report;
    return run_all(program, entry, tensors, report, &probes);
  }
  [[nodiscard]] bool repeats_itself() const override { return true; }

 private:
  static std::optional<Failure> run_all(const isa::VerifiedProgram& program, const Entry& entry,
                                        std::vector<HostTensor>& tensors, RunReport& report,
                                        ProbeRun* probes) {
    for (std::size_t i = 0; i < entry.launches.size(); ++i) {
      NaiveLaunch launch = begin(program, entry.launches[i], tensors);
      if (probes != nullptr) {
        launch.plan = &probes->plans[static_cast<std::size_t>(launch.kernel)];
        launch.log = &probes->launches[i];
        make_room(*launch.log, launch);
      }
      if (auto failure = run_blocks(launch, report)) return failure;
    }
    return std::nullopt;
  }

  /// Room for the records of the blocks in the window.
  static void make_room(isa::ProbeLog& log, const NaiveLaunch& launch) {
    log.grid = launch.grid;
    const auto all = static_cast<std::uint64_t>(log.grid[0] * log.grid[1] * log.grid[2]);
    const std::uint64_t first = std::min(log.window.first_block, all);
    log.window.blocks = std::min(log.window.blocks, all - first);
    log.blocks.assign(log.window.blocks, {});
    log.dump = {};
    const auto threads = static_cast<std::size_t>(launch.program.info(launch.kernel).num_threads);
    log.dump.words.resize(threads);
    log.dump.writes.resize(threads);
  }

  static std::optional<Failure> run_blocks(NaiveLaunch& launch, RunReport& report) {
    const auto& sites = launch.program.info(launch.kernel).prints;
    isa::PrintLog log(launch.kernel, launch.grid, sites);
    std::uint64_t number = 0;
    for (std::int64_t z = 0; z < launch.grid[2]; ++z) {
      for (std::int64_t y = 0; y < launch.grid[1]; ++y) {
        for (std::int64_t x = 0; x < launch.grid[0]; ++x) {
          isa::PrintRecords prints;
          if (const auto trouble = run_block(launch, {x, y, z}, prints)) {
            return Error{ErrorKind::program, *trouble};
          }
          log.add(number++, std::move(prints));
        }
      }
    }
    report.blocks += number;
    isa::LaunchPrints prints = log.take(std::nullopt);
    if (!prints.empty()) report.prints.push_back(std::move(prints));
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<Engine> make_naive_engine() { return std::make_unique<NaiveEngine>(); }

}  // namespace tilevm::vm::naive
