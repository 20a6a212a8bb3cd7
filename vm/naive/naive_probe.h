// What the statements of a block write, as sums (isa/program/probe.h), so that `bisect` finds the
// first statement that another engine executes differently.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/inst/scalar.h"
#include "isa/program/probe.h"
#include "vm/naive/naive_tile.h"

namespace tilevm::vm::naive {

class NaiveProbe {
 public:
  /// `block` is linear, x fastest; the log is that of the launch, with its window set.
  NaiveProbe(const isa::ProbePlan& plan, isa::ProbeLog& log, std::uint64_t block,
             std::int64_t threads);

  /// The statement that runs from here on.
  void begin(isa::StmtId statement);
  /// A loop ends, and a statement of it makes its record (isa::AfterLoop).
  void begin_after_loop(isa::StmtId statement);
  void tile(const NaiveTile& tile);
  void scalar(const isa::Scalar& scalar);
  /// An element that is written to memory whose first byte has the address `base`, by so many
  /// threads.
  void write(std::uint64_t base, std::size_t bit, int bits, std::uint64_t code,
             std::uint64_t threads);
  /// The statement has run.
  void end();

 private:
  void begin(isa::StmtId statement, isa::ProbeMode mode);
  void word(std::uint64_t address, std::uint32_t mask, std::uint32_t value, std::uint64_t threads);
  [[nodiscard]] bool keeps() const;

  const isa::ProbePlan& plan_;
  isa::ProbeLog& log_;
  std::uint64_t block_;
  std::size_t threads_;
  isa::StmtId statement_;
  isa::ProbeMode mode_ = isa::ProbeMode::none;
  std::uint64_t sum_ = 0;
};

}  // namespace tilevm::vm::naive
