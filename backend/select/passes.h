// The passes of instruction selection (select.cc has their order), and what they share.
//
// A pass reads the program, the analyses and the forms that earlier passes chose, and changes
// forms.
#pragma once

#include <variant>

#include "backend/select/bitcast_chains.h"
#include "backend/select/known_values.h"
#include "backend/select/selected_program.h"
#include "isa/analysis/definitions.h"
#include "isa/analysis/statements.h"

namespace tilevm::backend {

/// A kernel whose forms are being selected.
struct Selection {
  Selection(const isa::VerifiedProgram& verified, int index, const SelectOptions& selects);

  const isa::VerifiedProgram& program;
  const isa::Kernel& kernel;
  const isa::KernelInfo& info;
  const SelectOptions& options;
  isa::Statements statements;
  isa::Definitions definitions;
  BitcastChains chains;
  KnownValues known;
  SelectedKernel result;

  [[nodiscard]] const isa::RegisterType& tile(isa::VarId var) const {
    return *std::get_if<isa::RegisterType>(&kernel.variable(var).type);
  }
  [[nodiscard]] std::int64_t warps() const { return info.num_threads / 32; }
  /// The form of a statement, if it is of this kind.
  template <class Kind>
  [[nodiscard]] Kind* form(isa::StmtId id) {
    return std::get_if<Kind>(&result.forms[id]);
  }
};

/// Unique names of C++ for variables (select.cc).
void name_variables(Selection& selection);
/// A Mul, Add or Sub of a constant after a cast becomes a part of its recipe (fused_casts.cc).
void fuse_casts(Selection& selection);
/// What every statement that has no form yet becomes by itself (default_forms.cc).
void select_default_forms(Selection& selection);
/// Counts of bipolar products are put together after the loops that they run in
/// (deferred_sums.cc).
void defer_sums(Selection& selection);
/// Copies of whole rows are made in bulk, by warps chosen for them (bulk_copies.cc).
void select_bulk_copies(Selection& selection);
/// Splits barriers at which only producer warps need to wait (split_barriers.cc).
void split_barriers(Selection& selection);
/// Hoists addresses that loops would compute in every iteration (hoisted_addresses.cc).
void hoist_addresses(Selection& selection);
/// Offsets whose parts share no bit are joined by OR instead of a sum (joined_offsets.cc).
void join_offsets(Selection& selection);
/// Gives probes to the statements that leave a result, if kernels are to have probes
/// (probes.cc).
void place_probes(Selection& selection);

}  // namespace tilevm::backend
