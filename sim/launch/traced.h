// The variables of a record that a trace shows.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "isa/program/program.h"
#include "sim/api/trace.h"
#include "sim/state/state.h"
#include "sim/tiles/register_file.h"

namespace tilevm::sim {

/// A variable that a record writes: a register tile, or a scalar.
struct TracedVariable {
  std::string_view name;
  const isa::RegisterType* type = nullptr;  ///< null for a scalar
  Tile tile;
  isa::ScalarKind kind = isa::ScalarKind::i32;
  std::size_t slot = 0;
};

/// Adds the variable, unless it is a view, a shared tensor or a workspace: a trace omits those.
void add_traced(const isa::Kernel& kernel, const RegisterFile& registers, isa::VarId var,
                std::vector<TracedVariable>& variables);

/// The values of the variables now.
void show_values(const std::vector<TracedVariable>& variables, const BlockState& state,
                 TraceEvent& event);

}  // namespace tilevm::sim
