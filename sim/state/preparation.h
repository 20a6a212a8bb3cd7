// What an instruction's preparation may use. Preparation runs once for all executions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/program/program.h"
#include "isa/verify/verify.h"
#include "sim/state/context.h"
#include "sim/tiles/layout_parts.h"
#include "sim/tiles/register_file.h"
#include "sim/tiles/shared_tables.h"

namespace tilevm::sim {

/// The tables that each host thread will keep (Scratch::tables).
struct TableCount {
  std::size_t tables = 0;
  std::size_t shared_tables = 0;   ///< Scratch::shared_tables
  std::size_t indexed_tables = 0;  ///< Scratch::indexed_tables
  std::size_t bytes = 0;           ///< most bytes of all tables
};

/// What the preparation of an instruction may use.
struct Preparation {
  const isa::VerifiedProgram& program;
  const isa::Kernel& kernel;
  const isa::KernelInfo& info;
  const RegisterFile& registers;
  const isa::InstStmt& stmt;
  Span span;
  SharedTables& tables;
  TableCount& table_count;
  std::vector<MemoryStatement>& memory_statements;
  std::vector<Barrier>& barriers;
  Wrapping wrapping = Wrapping::allowed;  ///< wrapping of addresses
  bool follows_padding = false;           ///< Checks::padding

  [[nodiscard]] const isa::Variable& variable(isa::VarId var) const { return kernel.variable(var); }
  /// The name of a variable in messages: its own, or "Cast(..)" for the result of a nested call,
  /// which the frontend names "(Cast 3)".
  [[nodiscard]] std::string name(isa::VarId var) const {
    const std::string& given = variable(var).name;
    if (!given.starts_with('(')) return given;
    return given.substr(1, given.find(' ') - 1) + "(..)";
  }
  [[nodiscard]] const isa::RegisterType& register_type(isa::VarId var) const {
    return *std::get_if<isa::RegisterType>(&variable(var).type);
  }
  [[nodiscard]] const isa::GlobalType& global_type(isa::VarId var) const {
    return *std::get_if<isa::GlobalType>(&variable(var).type);
  }
  [[nodiscard]] const isa::SharedType& shared_type(isa::VarId var) const {
    return *std::get_if<isa::SharedType>(&variable(var).type);
  }
  [[nodiscard]] Tile tile(isa::VarId var) const {
    Tile tile = make_tile(register_type(var), registers.offset(var));
    tile.shadow = registers.shadow(var);
    return tile;
  }
  /// The name of the statement's instruction.
  [[nodiscard]] std::string_view mnemonic() const { return isa::mnemonic(stmt.inst); }
  [[nodiscard]] isa::VarId result() const { return stmt.results[0]; }
  [[nodiscard]] Tile result_tile() const { return tile(result()); }
  [[nodiscard]] std::shared_ptr<const LayoutParts> parts(isa::VarId var) const {
    return tables.parts(register_type(var).layout);
  }
  /// The source span of an operand by its position in the schema, or of the whole statement.
  [[nodiscard]] Span slot_span(std::size_t slot) const {
    const bool known = slot < stmt.slot_spans.size() && stmt.slot_spans[slot] != Span{};
    return known ? stmt.slot_spans[slot] : span;
  }
  /// A new index in Scratch::tables, for a tile's accesses.
  [[nodiscard]] std::size_t new_table(const Tile& for_tile) const {
    table_count.bytes += (for_tile.threads + for_tile.locals) * sizeof(std::uint64_t);
    return table_count.tables++;
  }
  /// A new index in Scratch::shared_tables.
  [[nodiscard]] std::size_t new_shared_table(const Tile& for_tile) const {
    const std::size_t elements = for_tile.threads * for_tile.locals;
    table_count.bytes += elements * kept_tables(elements) * sizeof(std::uint32_t);
    return table_count.shared_tables++;
  }
  /// A new index in Scratch::indexed_tables.
  [[nodiscard]] std::size_t new_indexed_table(const Tile& for_tile) const {
    const std::size_t elements = for_tile.threads * for_tile.locals;
    table_count.bytes += elements * (IndexedTables::most_tables + 2) * sizeof(std::uint64_t);
    return table_count.indexed_tables++;
  }
  /// The number of this statement among those that touch memory.
  [[nodiscard]] std::uint32_t new_memory_statement(std::string tensor) const {
    memory_statements.push_back({mnemonic(), span, std::move(tensor)});
    return static_cast<std::uint32_t>(memory_statements.size() - 1);
  }
  /// The number of this statement among barriers and waits.
  [[nodiscard]] std::uint32_t new_barrier() const {
    barriers.push_back({mnemonic(), span, info.reuse_barriers.contains(stmt.id)});
    return static_cast<std::uint32_t>(barriers.size() - 1);
  }
};

}  // namespace tilevm::sim
