// Where the records of a launch's probes go, and a block's part of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/program/probe.h"
#include "sim/state/state.h"

namespace tilevm::sim {

/// The log of a launch. Blocks write to parts of their own, so host threads need no lock.
class ProbeSink {
 public:
  /// `workspaces` come first in the launch's memory; in the records they come last.
  ProbeSink(isa::ProbeLog& log, const std::array<std::int64_t, 3>& grid, std::size_t buffers,
            std::size_t workspaces, std::int64_t threads);

  /// Whether a block's statements are recorded.
  [[nodiscard]] bool covers(const BlockState& state) const {
    return linear(state) - log_.window.first_block < log_.window.blocks;
  }
  /// Whether the record that a block is making is the target, of which all values are kept.
  [[nodiscard]] bool keeps(const BlockState& state) const {
    const auto& target = log_.window.target;
    return target && target->block == linear(state) && target->record == state.probe.next;
  }
  /// Where a byte of one of the launch's buffers lies.
  [[nodiscard]] std::uint64_t address(std::size_t buffer, std::uint64_t byte) const {
    const std::size_t number =
        buffer < workspaces_ ? buffer + buffers_ - workspaces_ : buffer - workspaces_;
    return isa::probe_address(number, byte);
  }

  [[nodiscard]] isa::ProbeDump& dump() const { return log_.dump; }
  /// Ends the record that a block is making.
  void record(BlockState& state, std::uint32_t statement) const;

 private:
  [[nodiscard]] std::uint64_t linear(const BlockState& state) const {
    const auto& [x, y, z] = state.block;
    return static_cast<std::uint64_t>(x + grid_[0] * (y + grid_[1] * z));
  }

  isa::ProbeLog& log_;
  std::array<std::int64_t, 3> grid_;
  std::size_t buffers_, workspaces_;
};

}  // namespace tilevm::sim
