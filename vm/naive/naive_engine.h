// A second simulator, written to be obviously right: one element at a time, blocks one after the
// other, copies at once.
//
// It shares only `isa` with the simulator: types, the arithmetic of one element, layouts, and which
// instructions a Dot becomes. It finds no faults: what it is given must run without one. Blocks run
// to their end in ascending order, so a block may wait for earlier blocks only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "vm/naive/naive_block.h"
#include "vm/naive/ring.h"
#include "vm/run/engine.h"

namespace tilevm::vm::naive {

[[nodiscard]] std::unique_ptr<Engine> make_naive_engine();

/// The residues of the elements of tensors, by the entry's tensors. Inputs may have none.
using TensorResidues = std::vector<std::vector<Residue>>;

/// Runs an entry on tensors that are updated in place, and computes its formulas in a ring.
/// `residues` are those that elements have at first, or are empty: elements have those of their
/// codes. Afterwards they are those of the results. Failures as of Engine::run.
[[nodiscard]] std::optional<Failure> run_in_ring(const isa::VerifiedProgram& program,
                                                 const Entry& entry, const Ring& ring,
                                                 std::vector<HostTensor>& tensors,
                                                 TensorResidues& residues,
                                                 ResidueObserver* observer = nullptr);

}  // namespace tilevm::vm::naive
