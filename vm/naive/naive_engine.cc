#include "vm/naive/naive_engine.h"

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

NaiveLaunch begin(const isa::VerifiedProgram& program, const isa::Launch& launch,
                  std::vector<HostTensor>& tensors) {
  NaiveLaunch result{program, launch.kernel, {1, 1, 1}, {}, {}, {}};
  const isa::Kernel& kernel = program.kernel(launch.kernel);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const std::int32_t var = kernel.parameters[i].index;
    if (const auto* tensor = std::get_if<int>(&launch.arguments[i])) {
      result.pointers[var] = &tensors[static_cast<std::size_t>(*tensor)].data;
    } else {
      result.scalars[var] = std::get<isa::Scalar>(launch.arguments[i]);
    }
  }
  for (const isa::KernelInfo::Workspace& workspace : program.info(launch.kernel).workspaces) {
    result.workspaces[workspace.var.index].assign(static_cast<std::size_t>(workspace.bytes), 0);
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
    for (const isa::Launch& each : entry.launches) {
      NaiveLaunch launch = begin(program, each, tensors);
      if (auto failure = run_blocks(launch, report)) return failure;
    }
    return std::nullopt;
  }

 private:
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
