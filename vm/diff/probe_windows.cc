#include "vm/diff/probe_windows.h"

#include <algorithm>
#include <limits>

namespace tilevm::vm {

namespace {

constexpr std::uint64_t record_bytes = 16;
/// Fewer records of a block are not worth their memory: one sum says as much.
constexpr std::uint64_t least_records = 64;
constexpr std::uint64_t most_records = std::uint64_t{1} << 22;

/// The value of a scalar parameter of a launch.
isa::Scalar launch_scalar(const isa::Kernel& kernel, const isa::Launch& launch, isa::VarId var) {
  for (std::size_t i = 0; i < launch.arguments.size() && i < kernel.parameters.size(); ++i) {
    if (kernel.parameters[i] != var) continue;
    if (const auto* scalar = std::get_if<isa::Scalar>(&launch.arguments[i])) return *scalar;
  }
  return {};
}

/// The grid of a launch; extents that are out of range are 1, since no engine will run it.
std::array<std::int64_t, 3> grid_of_launch(const isa::Kernel& kernel, const isa::Launch& launch) {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  for (std::size_t d = 0; d < kernel.grid.size() && d < grid.size(); ++d) {
    const auto value = isa::evaluate(
        kernel.grid[d], [&](isa::VarId var) { return launch_scalar(kernel, launch, var); });
    if (!value || value->as_int() < 1) continue;
    grid[d] = std::min<std::int64_t>(value->as_int(), std::numeric_limits<std::int32_t>::max());
  }
  return grid;
}

/// Records and sums that fit so many bytes.
std::uint64_t room_in(std::uint64_t memory) {
  return std::max<std::uint64_t>(memory / record_bytes, 2);
}

}  // namespace

std::uint64_t blocks_of(const isa::ProbeLog& log) {
  // No engine runs as many as the bound.
  constexpr std::uint64_t bound = std::uint64_t{1} << 62;
  std::uint64_t blocks = 1;
  for (const std::int64_t extent : log.grid) {
    const auto times = static_cast<std::uint64_t>(extent);
    blocks = blocks > bound / times ? bound : blocks * times;
  }
  return blocks;
}

ProbeLogs make_logs(const DiffCase& what) {
  ProbeLogs logs;
  for (const isa::Launch& launch : what.entry.launches) {
    isa::ProbeLog log;
    log.kernel = launch.kernel;
    log.grid = grid_of_launch(what.program.kernel(launch.kernel), launch);
    logs.push_back(std::move(log));
  }
  return logs;
}

void cover_all_blocks(ProbeLogs& logs, std::uint64_t memory, std::uint64_t turn) {
  const std::uint64_t room = room_in(memory / std::max<std::size_t>(logs.size(), 1));
  for (isa::ProbeLog& log : logs) {
    const std::uint64_t all = blocks_of(log), fit = std::min(all, room);
    const std::uint64_t first = std::min(all, fit * turn);
    const std::uint64_t each = room / fit - 1;  // a block's sum takes the room of a record
    const std::uint64_t records = each < least_records ? 0 : std::min(each, most_records);
    log.window = {first, std::min(fit, all - first), static_cast<std::uint32_t>(records), {}};
  }
}

isa::ProbeWindow window_from(const isa::ProbeLog& log, std::uint64_t block, std::uint64_t records,
                             std::uint64_t memory) {
  const std::uint64_t room = room_in(memory);
  records = std::clamp<std::uint64_t>(records, 1, std::min(room - 1, most_records));
  const std::uint64_t blocks = std::min(room / (records + 1), blocks_of(log) - block);
  return {block, blocks, static_cast<std::uint32_t>(records), {}};
}

}  // namespace tilevm::vm
