// What `tilevm run --ring` and `tilevm diff --ring` say: the formulas of outputs as hashes, where
// two programs compute another formula, and which statements let rounding decide
// (docs/guides/formulas.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "isa/verify/verify.h"
#include "vm/data/tensor.h"
#include "vm/naive/ring.h"
#include "vm/ring/decisions.h"
#include "vm/run/engine.h"
#include "vm/run/entry.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// The modulus as a user writes it: a number, or `default`. Error (usage).
[[nodiscard]] Result<naive::Ring> parse_ring(const std::string& text);

/// An output and the residues of its elements, in row-major order.
struct OutputFormula {
  std::string name;
  HostTensor tensor;
  std::vector<naive::Residue> residues;

  /// XXH64 of the shape and the residues modulo p. The element type has no part in it: a result in
  /// f16 and one in f32 are one formula.
  [[nodiscard]] std::uint64_t hash() const;
};

struct FormulaRun {
  std::string entry;
  std::vector<OutputFormula> outputs;
  std::vector<Decision> decisions;  ///< statements where rounding decides
  std::vector<Decision> casts;      ///< casts that may round
};

/// What a run gave; a failure as of Engine::run.
struct FormulaResult {
  std::optional<Failure> failure;
  FormulaRun run;
};
/// Runs the entry in the ring, on copies of the tensors.
[[nodiscard]] FormulaResult run_formulas(const isa::VerifiedProgram& program, const Entry& entry,
                                         const naive::Ring& ring, std::vector<HostTensor> tensors);

/// Where two outputs have another formula.
struct FormulaDifference {
  std::string name, other_name;
  std::size_t elements = 0, different = 0;
  std::size_t first = 0;  ///< the first element that differs, if one does
};

/// The outputs of two runs by their names; of two runs with one output each, these. Error (usage):
/// an output has no partner, or another shape.
[[nodiscard]] Result<std::vector<FormulaDifference>> compare_formulas(const FormulaRun& a,
                                                                      const FormulaRun& b);

/// An entry, and how messages name it: "gelu.tile:main".
struct NamedEntry {
  const Entry& entry;
  std::string name;
};
/// The tensors for another entry: inputs are those of the same name. Error (usage): one is missing,
/// or has another type or shape.
[[nodiscard]] Result<std::vector<HostTensor>> inputs_from(const NamedEntry& from,
                                                          const std::vector<HostTensor>& tensors,
                                                          const NamedEntry& to);

/// Lines for people, each with its line break.
[[nodiscard]] std::string formulas_text(const FormulaRun& run, const naive::Ring& ring);
[[nodiscard]] std::string decisions_text(const FormulaRun& run);
[[nodiscard]] std::string difference_text(const FormulaDifference& difference, const FormulaRun& a,
                                          const FormulaRun& b, const naive::Ring& ring);
[[nodiscard]] Json decisions_json(const std::vector<Decision>& decisions);
[[nodiscard]] Json formulas_json(const FormulaRun& run, const naive::Ring& ring);
[[nodiscard]] Json difference_json(const FormulaDifference& difference, const FormulaRun& a,
                                   const FormulaRun& b);

}  // namespace tilevm::vm
