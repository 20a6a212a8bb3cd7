// Shared memory, element by element, and what orders the threads of a block.
//
// Indices are 32 bits wide. A program that reaches outside of a tensor has a fault, so nothing is
// tested here.
#include <fmt/format.h>

#include "backend/emit_index.h"
#include "backend/emit_kernel.h"
#include "isa/access_plan.h"
#include "isa/rules.h"

namespace tilevm::backend {
namespace {

/// Opens the loop over a thread's elements of a tile; inside it, i0_, i1_, ... is the index.
void open_loop(const isa::RegisterType& type, int rank,
               const std::optional<isa::OffsetList>& offset, KernelEmission& kernel) {
  const isa::RegisterLayout& tile = type.layout;
  const isa::TilePlacement placement = isa::place_tile(offset, rank, tile.rank());
  kernel.out.open_plain();
  std::string bases, indices;
  for (std::size_t d = 0; d < placement.dimensions.size(); ++d) {
    const auto& dimension = placement.dimensions[d];
    const std::string thread =
        share("tv::thread()", tile.num_threads(), tile.thread_terms(), dimension.tile_dim);
    const std::string local =
        share("l_", tile.num_locals(), tile.local_terms(), dimension.tile_dim);
    bases += fmt::format("{}base{}_ = {}", d > 0 ? ", " : "", d,
                         sum(kernel.shared_index(dimension.offset), thread));
    indices +=
        fmt::format("{}i{}_ = {}", d > 0 ? ", " : "", d, sum(fmt::format("base{}_", d), local));
  }
  if (!bases.empty()) kernel.out.line(fmt::format("const tv::u32 {};", bases));
  kernel.out.open_plain(
      fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_)", isa::plan_access(type).count));
  if (!indices.empty()) kernel.out.line(fmt::format("const tv::u32 {};", indices));
}

void close_loop(KernelEmission& kernel) {
  kernel.out.close();
  kernel.out.close();
}

}  // namespace

void emit_instruction(const isa::AllocateShared&, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  if (!stmt.declares) return;
  const isa::VarId var = stmt.results[0];
  kernel.out.plain(fmt::format("tv::u8* const {} = shared_ + {};", kernel.name(var),
                               kernel.info().shared_tile(var).offset));
}

void emit_instruction(const isa::LoadShared& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  const auto& type = kernel.type<isa::RegisterType>(result);
  const auto& source = kernel.type<isa::SharedType>(inst.src.var);
  const int bits = type.dtype.bits;
  kernel.declare_tile(stmt);
  open_loop(type, source.layout.rank(), inst.offset, kernel);
  kernel.out.line(fmt::format("tv::put<{}>({}, l_, tv::load<{}>({}, {}));", bits,
                              kernel.name(result), bits, kernel.name(inst.src.var),
                              layout_offset(source.layout)));
  close_loop(kernel);
}

/// Every replica stores, as in global memory.
void emit_instruction(const isa::StoreShared& inst, const isa::InstStmt&, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(inst.src.var);
  const auto& target = kernel.type<isa::SharedType>(inst.dst.var);
  const int bits = type.dtype.bits;
  open_loop(type, target.layout.rank(), inst.offset, kernel);
  kernel.out.line(fmt::format("tv::store<{}>({}, {}, tv::get<{}>({}, l_));", bits,
                              kernel.name(inst.dst.var), layout_offset(target.layout), bits,
                              kernel.name(inst.src.var)));
  close_loop(kernel);
}

void emit_instruction(const isa::Synchronize&, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line("tv::synchronize();");
}

void emit_instruction(const isa::Exit&, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line("return;");
}

}  // namespace tilevm::backend
