// Transfers between global memory and registers, element by element.
//
// A tile's index along a tensor dimension is offset + thread part + local part. The first two are
// computed once; the last is a constant after unrolling. What one access moves is the plan's
// (isa/access_plan.h).
#include <fmt/format.h>

#include "backend/emit_index.h"
#include "backend/emit_kernel.h"
#include "isa/access_plan.h"
#include "isa/rules.h"

namespace tilevm::backend {
namespace {

using isa::RegisterLayout;

/// A tile in a tensor: how to reach its elements.
class TileAccess {
 public:
  TileAccess(const isa::RegisterType& tile, isa::VarId view,
             const std::optional<isa::OffsetList>& offset, KernelEmission& kernel)
      : tile_(tile.layout),
        plan_(isa::plan_access(tile)),
        type_(kernel.type<isa::GlobalType>(view)),
        view_(kernel.name(view)),
        placement_(isa::place_tile(offset, type_.rank(), tile_.rank())),
        kernel_(kernel) {}

  /// Opens the loop over a thread's elements; inside it, i0_, i1_, ... is the index.
  void open() {
    kernel_.out.open_plain();
    std::string bases, indices;
    for (std::size_t d = 0; d < placement_.dimensions.size(); ++d) {
      const auto& dimension = placement_.dimensions[d];
      const std::string thread =
          share("tv::thread()", tile_.num_threads(), tile_.thread_terms(), dimension.tile_dim);
      const std::string local =
          share("l_", tile_.num_locals(), tile_.local_terms(), dimension.tile_dim);
      bases += fmt::format("{}base{}_ = {}", d > 0 ? ", " : "", d,
                           sum(kernel_.index(dimension.offset), thread));
      indices +=
          fmt::format("{}i{}_ = {}", d > 0 ? ", " : "", d, sum(fmt::format("base{}_", d), local));
    }
    if (!bases.empty()) kernel_.out.line(fmt::format("const tv::u64 {};", bases));
    kernel_.out.open_plain(fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_)", plan_.count));
    if (!indices.empty()) kernel_.out.line(fmt::format("const tv::u64 {};", indices));
  }

  void close() {
    kernel_.out.close();
    kernel_.out.close();
  }

  /// Whether the element lies in the view.
  [[nodiscard]] std::string inside() const {
    std::string text;
    for (std::size_t d = 0; d < placement_.dimensions.size(); ++d) {
      text += fmt::format("{}i{}_ < {}.extent[{}]", d > 0 ? " && " : "", d, view_, d);
    }
    return text.empty() ? "true" : text;
  }

  /// The offset of the element in elements.
  [[nodiscard]] std::string offset() const {
    if (const auto* layout = type_.layout.memory_layout()) return layout_offset(*layout);
    std::string text;
    for (std::size_t d = 0; d < placement_.dimensions.size(); ++d) {
      text += fmt::format("{}i{}_ * {}.stride[{}]", d > 0 ? " + " : "", d, view_, d);
    }
    return text.empty() ? "0" : text;
  }

  [[nodiscard]] const std::string& view() const { return view_; }

 private:
  const RegisterLayout& tile_;
  isa::AccessPlan plan_;  ///< l_ counts its accesses
  const isa::GlobalType& type_;
  const std::string& view_;
  isa::TilePlacement placement_;
  KernelEmission& kernel_;
};

}  // namespace

void emit_instruction(const isa::LoadGlobal& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  const auto& type = kernel.type<isa::RegisterType>(result);
  const int bits = type.dtype.bits;
  kernel.declare_tile(stmt);
  TileAccess access(type, inst.src.var, inst.offset, kernel);
  access.open();
  kernel.out.line(fmt::format("const bool inside_ = {};", access.inside()));
  kernel.out.line(fmt::format("tv::put<{}>({}, l_, inside_ ? tv::load<{}>({}.data, {}) : 0);", bits,
                              kernel.name(result), bits, access.view(), access.offset()));
  access.close();
}

/// Every replica stores, so that each thread later sees its own elements.
void emit_instruction(const isa::StoreGlobal& inst, const isa::InstStmt&, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(inst.src.var);
  const int bits = type.dtype.bits;
  TileAccess access(type, inst.dst.var, inst.offset, kernel);
  access.open();
  kernel.out.line(fmt::format("const bool inside_ = {};", access.inside()));
  kernel.out.line(fmt::format("if (inside_) tv::store<{}>({}.data, {}, tv::get<{}>({}, l_));", bits,
                              access.view(), access.offset(), bits, kernel.name(inst.src.var)));
  access.close();
}

}  // namespace tilevm::backend
