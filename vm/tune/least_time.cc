#include "vm/tune/least_time.h"

#include <algorithm>
#include <set>
#include <vector>

#include "backend/export/compile_report.h"
#include "isa/analysis/definitions.h"
#include "isa/analysis/statements.h"
#include "vm/bench/bench.h"

namespace tilevm::vm::tuning {

namespace {

/// What the asynchronous copies of a kernel read and fill.
struct Copies {
  /// Whether each parameter of the kernel is a tensor that is only copied.
  std::vector<bool> parameters;
  std::int64_t bytes_of_block = 0;  ///< bytes of the shared tensors that copies of a block fill
};

bool is_only_copied(isa::VarId pointer, const isa::Statements& statements, const isa::Uses& uses) {
  bool any = false;
  for (const isa::StmtId made : uses.of(pointer)) {
    const isa::InstStmt* view = statements.instruction(made);
    if (view == nullptr || view->results.size() != 1) return false;
    for (const isa::StmtId use : uses.of(view->results[0])) {
      const isa::InstStmt* stmt = statements.instruction(use);
      const auto* copy = stmt == nullptr ? nullptr : std::get_if<isa::CopyAsync>(&stmt->inst);
      if (copy == nullptr || copy->src.var != view->results[0]) return false;
      any = true;
    }
  }
  return any;
}

Copies copies_of(const isa::Kernel& kernel, const isa::KernelInfo& info) {
  const isa::Statements statements(kernel);
  const isa::Uses uses(kernel, statements);
  Copies copies;
  for (const isa::VarId parameter : kernel.parameters) {
    copies.parameters.push_back(is_only_copied(parameter, statements, uses));
  }
  std::set<std::int32_t> filled;
  statements.for_each_instruction([&](isa::StmtId, const isa::InstStmt& stmt) {
    if (const auto* copy = std::get_if<isa::CopyAsync>(&stmt.inst)) {
      filled.insert(copy->dst.var.index);
    }
  });
  for (const isa::KernelInfo::SharedTile& tile : info.shared) {
    if (filled.count(tile.var.index) > 0) copies.bytes_of_block += tile.bytes;
  }
  return copies;
}

}  // namespace

double least_time(const isa::VerifiedProgram& program, const backend::CudaSource& source,
                  const Entry& entry, const std::string& kernel, int multiprocessors) {
  double us = 0;
  for (const isa::Launch& launch : entry.launches) {
    const isa::Kernel& launched = program.kernel(launch.kernel);
    if (!kernel.empty() && launched.name != kernel) continue;
    const Copies copies = copies_of(launched, program.info(launch.kernel));
    isa::Launch copied;
    copied.kernel = launch.kernel;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      if (copies.parameters[i]) copied.arguments.push_back(launch.arguments[i]);
    }
    // As many blocks as there is room for, however many registers they will have
    const auto& emitted = source.kernels[static_cast<std::size_t>(launch.kernel)];
    const std::int64_t blocks = backend::find_residency(emitted, 1, program.target()).blocks;
    const auto in_flight = static_cast<double>(copies.bytes_of_block *
                                               std::max<std::int64_t>(blocks, 1) * multiprocessors);
    if (in_flight <= 0) continue;
    us += static_cast<double>(launch_bytes(entry, copied)) / in_flight * memory_latency_ns / 1e3;
  }
  return us;
}

}  // namespace tilevm::vm::tuning
