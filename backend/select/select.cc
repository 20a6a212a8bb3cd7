#include "backend/select/select.h"

#include <utility>

#include "backend/select/names.h"
#include "backend/select/passes.h"

namespace tilevm::backend {
namespace {

/// THE order of decisions. Each pass may rely on the forms that those before it chose.
constexpr void (*passes[])(Selection&) = {
    name_variables,
    fuse_casts,            // with the arithmetic after them
    select_default_forms,  // what every other statement becomes by itself
    defer_sums,            // of products that a loop adds up
    select_bulk_copies,    // instead of copies in pieces
    split_barriers,        // where nothing happens but bulk copies and reads of what they copied
    hoist_addresses,       // of the accesses to shared memory that are left
    join_offsets,          // of accesses whose addresses are not hoisted
    place_probes,          // on the forms that are left, if they are asked for
};

}  // namespace

void name_variables(Selection& selection) {
  NameTable names;
  for (const isa::Variable& variable : selection.kernel.variables) {
    selection.result.names.push_back(names.unique(variable.name));
  }
  for (const auto& workspace : selection.info.workspaces) {
    selection.result.workspaces.push_back(
        names.unique(selection.kernel.variable(workspace.var).name + "_memory"));
  }
}

Selection::Selection(const isa::VerifiedProgram& verified, int index, const SelectOptions& selects)
    : program(verified),
      kernel(verified.kernel(index)),
      info(verified.info(index)),
      options(selects),
      statements(kernel),
      definitions(kernel, statements),
      chains(verified, index, statements, definitions),
      known(kernel, statements) {
  result.kernel = index;
  result.forms = isa::StmtMap<Form>(statements.size());
}

SelectedProgram select(const isa::VerifiedProgram& program, const SelectOptions& options) {
  SelectedProgram selected{program, options, {}};
  for (int i = 0; i < static_cast<int>(program.program().kernels.size()); ++i) {
    Selection selection(selected.program, i, selected.options);
    for (const auto pass : passes) pass(selection);
    selected.kernels.push_back(std::move(selection.result));
  }
  return selected;
}

}  // namespace tilevm::backend
