#include "sim/probe/probe_sink.h"

#include <algorithm>

namespace tilevm::sim {

ProbeSink::ProbeSink(isa::ProbeLog& log, const std::array<std::int64_t, 3>& grid,
                     std::size_t buffers, std::size_t workspaces, std::int64_t threads)
    : log_(log), grid_(grid), buffers_(buffers), workspaces_(workspaces) {
  log_.grid = grid;
  const auto all = static_cast<std::uint64_t>(grid[0] * grid[1] * grid[2]);
  const std::uint64_t first = std::min(log_.window.first_block, all);
  log_.window.blocks = std::min(log_.window.blocks, all - first);
  log_.blocks.assign(log_.window.blocks, {});
  log_.dump = {};
  log_.dump.words.resize(static_cast<std::size_t>(threads));
  log_.dump.writes.resize(static_cast<std::size_t>(threads));
}

void ProbeSink::record(BlockState& state, std::uint32_t statement) const {
  RecordInProgress& probe = state.probe;
  isa::BlockProbes& block = log_.blocks[linear(state) - log_.window.first_block];
  if (probe.next < log_.window.records) {
    block.records.push_back({probe.sum, statement, probe.undefined});
  } else {
    block.rest += probe.sum;
    block.rest_undefined = block.rest_undefined || probe.undefined;
  }
  block.count = ++probe.next;
  probe.sum = 0;
  probe.undefined = false;
}

}  // namespace tilevm::sim
