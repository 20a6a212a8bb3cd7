// What Print statements recorded, as text and as JSON. Both engines record bits
// (isa/program/print.h); all text is made here.
//
//   line 12, matmul block [0, 1]: bk: i32 = 3
//   line 15, matmul block [0, 1], "after the loop": acc: f32[2, 4]
//     0.5  -1    0  2
//       1   3  0.1  4
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "isa/program/print.h"
#include "isa/verify/verify.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// The launches of a run, in order.
using Prints = std::vector<isa::LaunchPrints>;

/// Records of all launches.
[[nodiscard]] std::size_t count_prints(const isa::VerifiedProgram& program, const Prints& prints);

/// Every print, and a line for what was dropped; empty if nothing was printed.
[[nodiscard]] std::string format_prints(const isa::VerifiedProgram& program, const Prints& prints);

/// An array with an object for each print: kernel, line, block, name, label, dtype, and either
/// value, or shape, shown (extents of the part that is shown) and values (of that part, row-major).
[[nodiscard]] Json prints_json(const isa::VerifiedProgram& program, const Prints& prints);

/// How many prints were dropped; null if there were some, but their number is not known.
[[nodiscard]] Json dropped_json(const Prints& prints);

/// The first print that differs between two runs, as the text of both; nothing if all are equal.
struct PrintDifference {
  std::string a, b;  ///< "nothing" where one run has no such print
};
[[nodiscard]] std::optional<PrintDifference> compare_prints(const isa::VerifiedProgram& program,
                                                            const Prints& a, const Prints& b);

}  // namespace tilevm::vm
