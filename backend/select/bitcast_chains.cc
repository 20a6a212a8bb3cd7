#include "backend/select/bitcast_chains.h"

#include <numeric>
#include <ranges>
#include <variant>

#include "backend/select/cast_recipe.h"
#include "isa/analysis/operands.h"
#include "isa/layout/broadcast.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::backend {
namespace {

using isa::VarId;

const isa::RegisterType& tile_type(const isa::Kernel& kernel, VarId tile) {
  return *std::get_if<isa::RegisterType>(&kernel.variable(tile).type);
}

/// The operand of an instruction that moves bits inside threads; none of any other.
VarId moved_tile(const isa::Kernel& kernel, const isa::Instruction& inst) {
  if (const auto* view = std::get_if<isa::View>(&inst)) return view->src.var;
  const auto* convert = std::get_if<isa::ConvertLayout>(&inst);
  if (convert == nullptr) return {};
  const isa::RegisterLayout& from = tile_type(kernel, convert->src.var).layout;
  return isa::thread_local_equivalent(from, convert->layout) ? convert->src.var : VarId{};
}

}  // namespace

BitcastChains::BitcastChains(const isa::VerifiedProgram& program, int kernel,
                             const isa::Statements& statements, const isa::Definitions& definitions)
    : kernel_(program.kernel(kernel)),
      links_(kernel_.variables.size()),
      reads_(kernel_.variables.size(), 0),
      exact_(kernel_.variables.size(), false) {
  std::vector<const isa::InstStmt*> instructions;
  statements.for_each_instruction([&](isa::StmtId, const isa::InstStmt& stmt) {
    find_link(stmt, definitions);
    instructions.push_back(&stmt);
  });
  // A link comes before the instructions that read it.
  for (const isa::InstStmt* stmt : std::views::reverse(instructions)) {
    count_reads(*stmt, program.target());
    mark_exact(*stmt, definitions);
  }
}

void BitcastChains::find_link(const isa::InstStmt& stmt, const isa::Definitions& definitions) {
  const VarId source = moved_tile(kernel_, stmt.inst);
  if (!source.valid() || !stmt.declares) return;
  if (!definitions.written_once(stmt.results[0]) || !definitions.written_once(source)) return;
  links_[static_cast<std::size_t>(stmt.results[0].index)] = {
      source, std::holds_alternative<isa::ConvertLayout>(stmt.inst)};
}

void BitcastChains::count_reads(const isa::InstStmt& stmt, const isa::Target& target) {
  const auto read = [&](VarId tile) { ++reads_[static_cast<std::size_t>(tile.index)]; };
  if (const VarId source = moved_tile(kernel_, stmt.inst); source.valid()) {
    if (!is_elided(stmt.results[0])) read(base_of(source));
    return;
  }
  const auto* cast = std::get_if<isa::Cast>(&stmt.inst);
  if (cast != nullptr && casts_bits(tile_type(kernel_, cast->src.var).dtype, cast->dtype, target)) {
    return read(base_of(cast->src.var));
  }
  isa::for_each_register_operand(stmt.inst, read);
}

/// A View of the same type is read as its source is.
void BitcastChains::mark_exact(const isa::InstStmt& stmt, const isa::Definitions& definitions) {
  if (isa::description(stmt.inst).canonical_nan) return;
  const VarId source = moved_tile(kernel_, stmt.inst);
  const bool is_same =
      source.valid() && definitions.written_once(stmt.results[0]) &&
      tile_type(kernel_, source).dtype == tile_type(kernel_, stmt.results[0]).dtype;
  if (is_same && is_for_arithmetic(stmt.results[0])) return;
  isa::for_each_register_operand(
      stmt.inst, [&](VarId tile) { exact_[static_cast<std::size_t>(tile.index)] = true; });
}

VarId BitcastChains::base_of(VarId tile) const {
  while (link(tile).source.valid()) tile = link(tile).source;
  return tile;
}

BitOrigin BitcastChains::origin(VarId tile) const {
  BitOrigin origin{tile, {}};
  origin.source_bits.resize(static_cast<std::size_t>(tile_type(kernel_, tile).bits_per_thread()));
  std::iota(origin.source_bits.begin(), origin.source_bits.end(), 0);
  while (link(origin.base).source.valid()) {
    const auto [source, converts] = link(origin.base);
    if (converts) {
      const auto source_bits =
          converted_bits(tile_type(kernel_, source), tile_type(kernel_, origin.base).layout);
      for (SourceBit& source_bit : origin.source_bits)
        source_bit = source_bits[static_cast<std::size_t>(source_bit)];
    }
    origin.base = source;
  }
  return origin;
}

std::vector<SourceBit> converted_bits(const isa::RegisterType& from,
                                      const isa::RegisterLayout& to) {
  const int bits = from.dtype.bits;
  const isa::PlaceMap elements = *isa::broadcast_places(to, from.layout);
  std::vector<SourceBit> source_bits;
  for (const std::int32_t element : elements) {
    for (int b = 0; b < bits; ++b) source_bits.push_back(element * bits + b);
  }
  return source_bits;
}

bool casts_bits(const isa::DType& from, const isa::DType& to, const isa::Target& target) {
  return from != to && cast_form(from, to, target).has_value();
}

}  // namespace tilevm::backend
