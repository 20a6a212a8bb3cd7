// Assertions that fail: what every engine reports, and how a GPU tells which one it was.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "isa/base/diagnostic.h"
#include "isa/layout/shape.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Whether a kernel has an Assert.
[[nodiscard]] bool has_assertions(const Kernel& kernel);

/// "assertion failed: indices ascend".
[[nodiscard]] std::string assertion_text(const Assert& inst);
/// "element [3, 5] of `ok` is 0, and so are 2 more".
[[nodiscard]] std::string false_element_text(const Assert& inst, const Index& element,
                                             std::int64_t others, const Kernel& kernel);

/// What a GPU leaves of an assertion that failed there, in words that were all zero before
/// (backend/prelude/assert.cuh):
///
///   the statement's number plus 1
///   the place in the thread's share of the tile (16 bits), the kernel's number (16 bits)
///   the thread (10 bits) and the block's linear number (54 bits)
using AssertionRecord = std::array<std::uint32_t, 4>;

struct FailedAssertion {
  StmtId statement;
  int kernel = 0;
  std::int64_t place = 0, thread = 0;
  std::uint64_t block = 0;
  friend bool operator==(const FailedAssertion&, const FailedAssertion&) = default;
};
/// Nothing if none failed.
[[nodiscard]] std::optional<FailedAssertion> read_assertion(const AssertionRecord& record);

/// The report of an assertion that failed in a launch on this grid. Nothing if the record does not
/// fit the kernel: something else wrote to it.
[[nodiscard]] std::optional<Diagnostic> assertion_report(const FailedAssertion& failed,
                                                         const Kernel& kernel,
                                                         const std::array<unsigned, 3>& grid);

}  // namespace tilevm::isa
