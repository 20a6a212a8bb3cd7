#include "vm/naive/naive_engine.h"

#include <algorithm>
#include <utility>

#include "vm/naive/naive_block.h"
#include "vm/naive/read_element.h"

namespace tilevm::vm::naive {
namespace {

/// What a run with residues keeps from launch to launch.
struct RingState {
  const Ring& ring;
  std::vector<ResidueMemory> memories;  ///< the residues of each tensor
  ResidueObserver* observer;
};

/// The value of an extent of the grid, which is made of scalar parameters.
std::int64_t grid_extent(const isa::Expr& expr, const NaiveLaunch& launch) {
  const auto value =
      isa::evaluate(expr, [&](isa::VarId var) { return launch.scalars.at(var.index); });
  return value ? isa::convert(*value, isa::ScalarKind::i64).as_int() : 0;
}

/// Buffers are numbered for probes: the tensors of the run, then the workspaces.
NaiveLaunch begin(const isa::VerifiedProgram& program, const isa::Launch& launch,
                  std::vector<HostTensor>& tensors, RingState* ring) {
  NaiveLaunch result{program, launch.kernel};
  if (ring != nullptr) {
    result.ring = &ring->ring;
    result.observer = ring->observer;
  }
  const isa::Kernel& kernel = program.kernel(launch.kernel);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const std::int32_t var = kernel.parameters[i].index;
    if (const auto* tensor = std::get_if<int>(&launch.arguments[i])) {
      const auto number = static_cast<std::size_t>(*tensor);
      result.pointers[var] = {&tensors[number].data, number,
                              ring == nullptr ? nullptr : &ring->memories[number]};
    } else {
      result.scalars[var] = std::get<isa::Scalar>(launch.arguments[i]);
    }
  }
  const auto& workspaces = program.info(launch.kernel).workspaces;
  for (const isa::KernelInfo::Workspace& workspace : workspaces) {
    result.workspace_bytes.emplace_back(static_cast<std::size_t>(workspace.bytes), 0);
    result.workspace_residues.emplace_back(static_cast<std::size_t>(workspace.bytes));
  }
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    result.workspaces[workspaces[i].var.index] = {
        &result.workspace_bytes[i], tensors.size() + i,
        ring == nullptr ? nullptr : &result.workspace_residues[i]};
  }
  for (std::size_t d = 0; d < kernel.grid.size(); ++d) {
    result.grid[d] = grid_extent(kernel.grid[d], result);
  }
  return result;
}

/// Room for the records of the blocks in the window.
void make_room(isa::ProbeLog& log, const NaiveLaunch& launch) {
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

std::optional<Failure> run_blocks(NaiveLaunch& launch, RunReport& report) {
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

std::optional<Failure> run_all(const isa::VerifiedProgram& program, const Entry& entry,
                               std::vector<HostTensor>& tensors, RunReport& report,
                               ProbeRun* probes, RingState* ring) {
  for (std::size_t i = 0; i < entry.launches.size(); ++i) {
    NaiveLaunch launch = begin(program, entry.launches[i], tensors, ring);
    if (probes != nullptr) {
      launch.plan = &probes->plans[static_cast<std::size_t>(launch.kernel)];
      launch.log = &probes->launches[i];
      make_room(*launch.log, launch);
    }
    if (auto failure = run_blocks(launch, report)) return failure;
  }
  return std::nullopt;
}

class NaiveEngine final : public Engine {
 public:
  [[nodiscard]] std::string_view name() const override { return "naive"; }
  [[nodiscard]] std::string device() const override { return "naive interpreter"; }

  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram& program, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    return run_all(program, entry, tensors, report, nullptr, nullptr);
  }
  [[nodiscard]] std::optional<Failure> run_probed(const isa::VerifiedProgram& program,
                                                  const Entry& entry,
                                                  std::vector<HostTensor>& tensors,
                                                  ProbeRun& probes) override {
    RunReport report;
    return run_all(program, entry, tensors, report, &probes, nullptr);
  }
  [[nodiscard]] bool repeats_itself() const override { return true; }
};

}  // namespace

std::unique_ptr<Engine> make_naive_engine() { return std::make_unique<NaiveEngine>(); }

std::optional<Failure> run_in_ring(const isa::VerifiedProgram& program, const Entry& entry,
                                   const Ring& ring, std::vector<HostTensor>& tensors,
                                   TensorResidues& residues, ResidueObserver* observer) {
  RingState state{ring, {}, observer};
  for (const HostTensor& tensor : tensors) state.memories.emplace_back(tensor.data.size());
  for (std::size_t i = 0; i < residues.size(); ++i) {
    const isa::DType& type = tensors[i].dtype;
    for (std::size_t k = 0; k < residues[i].size(); ++k) {
      state.memories[i].store(type, std::uint64_t{k} * type.bits, residues[i][k]);
    }
  }
  RunReport report;
  if (auto failure = run_all(program, entry, tensors, report, nullptr, &state)) return failure;
  const ElementArithmetic arithmetic(&ring);
  residues.clear();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const HostTensor& tensor = tensors[i];
    std::vector<Residue>& all = residues.emplace_back();
    const auto count = static_cast<std::size_t>(isa::element_count(tensor.shape));
    for (std::size_t k = 0; k < count; ++k) {
      const Element element = read_element(arithmetic, tensor.data.data(), &state.memories[i],
                                           tensor.dtype, std::uint64_t{k} * tensor.dtype.bits);
      all.push_back(arithmetic.residue(tensor.dtype, element));
    }
  }
  return std::nullopt;
}

}  // namespace tilevm::vm::naive
