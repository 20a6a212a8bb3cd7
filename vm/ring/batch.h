// `tilevm prove --batch-invariant M=1..64`: every row of the outputs is computed by the same
// roundings of the same numbers whatever M is, wherever the row is, and whatever the others hold.
//
// The entry runs in the free algebra (vm/naive/ring.h), where every number of an input is a symbol
// and an element is the expression that computes it. Each row runs in a smallest batch first, at
// another place. In every larger batch each row's expressions must be those again: so they name no
// number of another row, and the bits are equal for all data. Where data decide what runs, the
// numbers that ran do; such statements are named.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isa/base/result.h"
#include "isa/verify/verify.h"
#include "vm/data/tensor.h"
#include "vm/ring/decisions.h"
#include "vm/run/engine.h"
#include "vm/run/entry.h"

namespace tilevm::vm {

/// "M=1..64".
struct BatchRange {
  std::string name;
  std::int64_t first = 1, last = 1;
};
/// Error (usage): no name, no range, or one of a single size or of more than 4096.
[[nodiscard]] Result<BatchRange> parse_batch(const std::string& text);

/// The program and its entry for one size.
struct BatchCase {
  isa::VerifiedProgram program;
  Entry entry;
  std::int64_t size = 0;
};
/// Loads the program for a size. Nothing after an error that has been shown.
using LoadBatch = std::function<std::optional<BatchCase>(std::int64_t size)>;
/// Fills the tensors of the largest batch.
using FillBatch = std::function<Result<std::vector<HostTensor>>(const Entry& entry)>;

/// A row that is computed otherwise in a larger batch.
struct BatchDifference {
  std::int64_t size = 0, row = 0;
  std::string output;
  std::size_t element = 0;  ///< the element of the output in the batch
  std::string was, is;      ///< the values
  /// The first statement that gives what the smallest batch never gave, if there is one.
  std::optional<std::string> statement, location;
};

struct BatchProof {
  std::int64_t sizes = 0;
  std::uint64_t elements = 0;             ///< elements of outputs that were compared
  std::vector<std::string> by_row;        ///< inputs that have a row for each of the batch
  std::vector<std::string> shared;        ///< inputs that all rows share
  std::vector<std::string> without_rows;  ///< outputs that are not compared
  std::vector<Decision> decisions;        ///< statements where data decide
  std::optional<Decision> unordered;      ///< floats are combined in an order that nothing defines
  std::optional<BatchDifference> difference;

  [[nodiscard]] bool holds() const { return !difference && !unordered; }
};

/// Why there can be no proof, and the program that failed. Without a failure, loading has failed.
struct BatchFailure {
  std::optional<Failure> failure = {};
  std::optional<isa::VerifiedProgram> program = {};
  std::int64_t size = 0;
};

/// The proof or the counterexample. Failures: usage (no tensor has a row for each), those of a run,
/// and those of `load` and `fill`.
[[nodiscard]] std::variant<BatchProof, BatchFailure> prove_batch(const BatchRange& range,
                                                                 const LoadBatch& load,
                                                                 const FillBatch& fill);

[[nodiscard]] std::string batch_text(const BatchRange& range, const BatchProof& proof);
[[nodiscard]] Json batch_json(const BatchRange& range, const BatchProof& proof);

}  // namespace tilevm::vm
