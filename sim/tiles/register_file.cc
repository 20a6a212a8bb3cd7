#include "sim/tiles/register_file.h"

#include "isa/analysis/definitions.h"
#include "sim/tiles/layout_parts.h"
#include "sim/tiles/register_slab.h"

namespace tilevm::sim {
namespace {

/// The variable whose bytes a View's result shares: its source, if each of the two is written by
/// one statement only. The result's scope then ends before that statement writes the source again.
std::vector<int> find_aliases(const isa::Kernel& kernel) {
  std::vector<int> source_of(kernel.variables.size(), -1);
  const isa::Statements statements(kernel);
  const isa::Definitions definitions(kernel, statements);
  statements.for_each_instruction([&](isa::StmtId, const isa::InstStmt& stmt) {
    const auto* view = std::get_if<isa::View>(&stmt.inst);
    if (view == nullptr || !stmt.declares) return;
    if (definitions.written_once(view->src.var) && definitions.written_once(stmt.results[0])) {
      source_of[static_cast<std::size_t>(stmt.results[0].index)] = view->src.var.index;
    }
  });
  return source_of;
}

}  // namespace

RegisterFile::RegisterFile(const isa::Kernel& kernel)
    : offsets_(kernel.variables.size(), 0), shadows_(kernel.variables.size(), 0) {
  const std::vector<int> source_of = find_aliases(kernel);
  for (std::size_t v = 0; v < offsets_.size(); ++v) {
    const auto* type = std::get_if<isa::RegisterType>(&kernel.variables[v].type);
    if (type == nullptr) continue;
    const Tile tile = make_tile(*type, 0);
    shadows_[v] = shadow_count_;
    shadow_count_ += tile.threads * tile.locals;
    if (source_of[v] >= 0) continue;
    offsets_[v] = bytes_;
    const std::size_t bytes = tile.bytes();
    bytes_ +=
        (bytes + RegisterSlab::alignment - 1) / RegisterSlab::alignment * RegisterSlab::alignment;
  }
  for (std::size_t v = 0; v < offsets_.size(); ++v) {
    int root = static_cast<int>(v);  // views of views; chains end because each has its own source
    while (source_of[static_cast<std::size_t>(root)] >= 0) {
      root = source_of[static_cast<std::size_t>(root)];
    }
    offsets_[v] = offsets_[static_cast<std::size_t>(root)];
  }
}

}  // namespace tilevm::sim
