#include "sim/launch/traced.h"

#include "isa/type/bits.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {
namespace {

TracedTile show_tile(const TracedVariable& variable, const BlockState& state) {
  const Tile& tile = variable.tile;
  const LayoutParts parts(variable.type->layout);
  TracedTile shown{variable.name, variable.type->dtype, variable.type->shape(), {}, 0};
  const auto count = static_cast<std::size_t>(isa::element_count(shown.shape));
  shown.data.resize(isa::bytes_for_bits(count * tile.bits));
  const std::uint8_t* registers = state.registers.at(tile.offset);
  const bool marked = state.undefined.marked(tile);
  for (const std::int32_t holder : parts.first_threads) {
    const auto t = static_cast<std::size_t>(holder);
    for (std::size_t i = 0; i < tile.locals; ++i) {
      const auto k = static_cast<std::size_t>(isa::ravel(parts.index(t, i), shown.shape));
      isa::put_bits(shown.data.data(), k * tile.bits, tile.bits,
                    isa::get_bits(registers + t * tile.thread_bytes, i * tile.bits, tile.bits));
      if (marked && state.undefined.element(tile, t, i)) ++shown.undefined;
    }
  }
  return shown;
}

}  // namespace

void add_traced(const isa::Kernel& kernel, const RegisterFile& registers, isa::VarId var,
                std::vector<TracedVariable>& variables) {
  const isa::Variable& variable = kernel.variable(var);
  TracedVariable traced;
  traced.name = variable.name;
  traced.slot = static_cast<std::size_t>(var.index);
  if (const auto* type = std::get_if<isa::RegisterType>(&variable.type)) {
    traced.type = type;
    traced.tile = make_tile(*type, registers.offset(var));
  } else if (const auto* scalar = std::get_if<isa::ScalarType>(&variable.type)) {
    traced.kind = scalar->kind;
  } else {
    return;
  }
  variables.push_back(traced);
}

void show_values(const std::vector<TracedVariable>& variables, const BlockState& state,
                 TraceEvent& event) {
  for (const TracedVariable& variable : variables) {
    if (variable.type != nullptr) {
      event.tiles.push_back(show_tile(variable, state));
    } else {
      event.scalars.push_back({variable.name, {variable.kind, state.scalars[variable.slot]}});
    }
  }
}

}  // namespace tilevm::sim
