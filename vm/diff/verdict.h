// What a comparison of engines found, as values. verdict_render.h makes text and JSON of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "vm/data/compare.h"
#include "vm/run/engine.h"
#include "vm/run/exit.h"
#include "vm/run/prints.h"

namespace tilevm::vm {

// How two results of one tensor relate.
struct Exact {};
struct Different {};
/// Equal elements, at other places.
struct Permuted {
  /// Rule for the indices that differ, in words; empty if no simple rule says it.
  std::string rule;
};
using Relation = std::variant<Exact, Different, Permuted>;

/// An output tensor as two engines computed it.
struct TensorVerdict {
  std::size_t tensor = 0;    ///< index in Entry::tensors
  std::size_t a = 0, b = 0;  ///< the engines, by position
  std::uint64_t hash_a = 0, hash_b = 0;
  Comparison comparison;
  Relation relation;
};

/// The prints of two engines.
struct PrintVerdict {
  std::size_t a = 0, b = 0;
  std::size_t count = 0;  ///< number of elements of engine a
  std::optional<PrintDifference> difference;
};

// What became of the run of one engine.
struct Finished {};
/// It ended with an error of the program.
struct Faulted {
  Failure failure;
};
/// It did not end within a limit of time, of steps or of memory.
struct Stopped {
  Failure failure;
};
/// Two runs on the same inputs gave different results.
struct Unstable {
  std::size_t tensor = 0;  ///< the first that differs, index in Entry::tensors
  Comparison comparison;   ///< comparison of the first run with the second
};
using Outcome = std::variant<Finished, Faulted, Stopped, Unstable>;

/// Who agrees with whom.
struct Agreement {
  /// Engines that gave the same bits, by position; those without a result are in no group.
  std::vector<std::vector<std::size_t>> groups;
  std::string suspect;  ///< culprit that this makes likely, in words; empty if it says nothing
};

/// The verdict on one seed.
struct SeedVerdict {
  /// The later, the graver.
  enum class Kind : std::uint8_t { exact, permuted, different, unstable, fault, stopped };

  std::uint64_t seed = 0;
  std::vector<std::string> engines;  ///< names of the engines
  std::vector<Outcome> outcomes;     ///< outcomes by engine
  std::vector<TensorVerdict> tensors;
  std::vector<PrintVerdict> prints;  ///< empty if the program prints nothing
  Agreement agreement;

  /// The gravest of what was found.
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool exact() const { return kind() == Kind::exact; }
  [[nodiscard]] Exit status() const;
};
[[nodiscard]] std::string_view to_string(SeedVerdict::Kind kind);

/// Compares two results of a tensor.
[[nodiscard]] TensorVerdict judge_tensor(std::size_t tensor, std::size_t engine_a,
                                         const HostTensor& a, std::size_t engine_b,
                                         const HostTensor& b);

/// Whose fault the groups make likely. The levels of an engine tell its compiler's optimiser from
/// all else: if `cuda:O0` agrees with the others and `cuda` does not, the optimiser is suspected.
[[nodiscard]] std::string find_suspect(const std::vector<std::string>& engines,
                                       const std::vector<std::vector<std::size_t>>& groups);

}  // namespace tilevm::vm
