// Asynchronous copies: the tile in pieces of 16, 8 or 4 bytes where the plan has them, else element
// by element by ordinary moves, since the data may arrive early.
#include <algorithm>

#include <fmt/format.h>

#include "backend/emit_index.h"
#include "backend/emit_kernel.h"
#include "isa/access_plan.h"
#include "isa/inst/async_copy.h"
#include "isa/rules.h"

namespace tilevm::backend {
namespace {

/// A copy's tile and how its elements are reached on both sides.
class CopyEmission {
 public:
  CopyEmission(const isa::CopyAsync& inst, const isa::InstStmt& stmt, KernelEmission& kernel)
      : kernel_(kernel),
        shared_(kernel.type<isa::SharedType>(inst.dst.var)),
        global_(kernel.type<isa::GlobalType>(inst.src.var)),
        shared_name_(kernel.name(inst.dst.var)),
        view_(kernel.name(inst.src.var)),
        plan_(kernel.program().access_plan(stmt)),
        shared_place_(isa::place_tile(inst.shared_offset, shared_.layout.rank(), rank())),
        global_place_(isa::place_tile(inst.offset, global_.rank(), rank())) {}

  void run() {
    open_loop();
    write_indices();
    plan_.form == isa::AccessForm::copy ? move_piece() : move_element();
    kernel_.out.close();
  }

 private:
  [[nodiscard]] int rank() const { return static_cast<int>(plan_.pieces.size()); }
  [[nodiscard]] std::int64_t bits() const { return shared_.dtype.bits; }

  /// The tensor dimension along which the tile's last one runs, or -1.
  [[nodiscard]] int last_dimension(const isa::TilePlacement& place) const {
    for (std::size_t d = 0; d < place.dimensions.size(); ++d) {
      if (rank() > 0 && place.dimensions[d].tile_dim == rank() - 1) return static_cast<int>(d);
    }
    return -1;
  }

  /// x_ counts the pieces of this thread, neighbours in neighbouring threads.
  void open_loop() {
    constexpr std::int64_t most_unrolled = 16;
    kernel_.out.open_plain(fmt::format("{}for (tv::u32 x_ = tv::thread(); x_ < {}; x_ += {})",
                                       plan_.count <= most_unrolled ? "TV_UNROLL " : "",
                                       isa::element_count(plan_.pieces), kernel_.threads()));
  }

  /// The tile's own index along a dimension, from x_.
  [[nodiscard]] std::string tile_index(int tile_dim) const {
    if (tile_dim < 0) return "";
    std::int64_t divisor = 1;
    for (int d = rank() - 1; d > tile_dim; --d) divisor *= pieces(d);
    const std::int64_t extent = pieces(tile_dim);
    if (extent == 1) return "";
    std::string text = divisor == 1 ? "x_" : fmt::format("x_ / {}", divisor);
    if (tile_dim > 0) text += fmt::format(" % {}", extent);
    if (tile_dim == rank() - 1 && plan_.elements > 1) text += fmt::format(" * {}", plan_.elements);
    return text;
  }
  [[nodiscard]] std::int64_t pieces(int d) const {
    return plan_.pieces[static_cast<std::size_t>(d)];
  }

  /// Declares s0_, s1_, ... in the shared tensor and i0_, i1_, ... in the view.
  void write_indices() {
    std::string shared, global;
    for (std::size_t d = 0; d < shared_place_.dimensions.size(); ++d) {
      const auto& dimension = shared_place_.dimensions[d];
      shared +=
          fmt::format("{}s{}_ = {}", d > 0 ? ", " : "", d,
                      sum(kernel_.short_index(dimension.offset), tile_index(dimension.tile_dim)));
    }
    for (std::size_t d = 0; d < global_place_.dimensions.size(); ++d) {
      const auto& dimension = global_place_.dimensions[d];
      global += fmt::format("{}i{}_ = {}", d > 0 ? ", " : "", d,
                            sum(kernel_.index(dimension.offset), tile_index(dimension.tile_dim)));
    }
    if (!shared.empty()) kernel_.out.line(fmt::format("const tv::u32 {};", shared));
    if (!global.empty()) kernel_.out.line(fmt::format("const tv::u64 {};", global));
    kernel_.out.line(fmt::format("const bool inside_ = {};", inside()));
  }

  [[nodiscard]] std::string inside() const {
    std::string text;
    for (std::size_t d = 0; d < global_place_.dimensions.size(); ++d) {
      text += fmt::format("{}i{}_ < {}.extent[{}]", d > 0 ? " && " : "", d, view_, d);
    }
    return text.empty() ? "true" : text;
  }

  [[nodiscard]] std::string global_offset() const {
    if (const auto* layout = global_.layout.memory_layout()) return layout_offset(*layout);
    std::string text;
    for (std::size_t d = 0; d < global_place_.dimensions.size(); ++d) {
      text += fmt::format("{}i{}_ * {}.stride[{}]", d > 0 ? " + " : "", d, view_, d);
    }
    return text.empty() ? "0" : text;
  }

  [[nodiscard]] std::string bytes_of(const std::string& offset) const {
    if (bits() < 8) return fmt::format("({}) / {}", offset, 8 / bits());
    return bits() == 8 ? offset : fmt::format("({}) * {}", offset, bits() / 8);
  }

  void move_piece() {
    const std::int64_t bytes = plan_.elements * bits() / 8;
    const int dim = last_dimension(global_place_);
    kernel_.out.line(fmt::format(
        "const tv::u32 valid_ = inside_ ? tv::valid_bytes<{}, {}>({}.extent[{}] - i{}_) : 0;",
        plan_.elements, bits(), view_, dim, dim));
    kernel_.out.line(fmt::format(
        "tv::copy_async<{}>({} + {}, {}.data + (inside_ ? {} : 0), valid_);", bytes, shared_name_,
        bytes_of(layout_offset(shared_.layout, "s")), view_, bytes_of(global_offset())));
  }

  void move_element() {
    kernel_.out.line(fmt::format("tv::store<{}>({}, {}, inside_ ? tv::load<{}>({}.data, {}) : 0);",
                                 bits(), shared_name_, layout_offset(shared_.layout, "s"), bits(),
                                 view_, global_offset()));
  }

  KernelEmission& kernel_;
  const isa::SharedType& shared_;
  const isa::GlobalType& global_;
  const std::string &shared_name_, &view_;
  const isa::AccessPlan& plan_;
  isa::TilePlacement shared_place_, global_place_;
};

}  // namespace

void emit_instruction(const isa::CopyAsync& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  CopyEmission(inst, stmt, kernel).run();
}

void emit_instruction(const isa::CopyAsyncCommitGroup&, const isa::InstStmt&,
                      KernelEmission& kernel) {
  kernel.out.line("tv::copy_async_commit();");
}

/// To wait for more than is asked is always right, and the instruction's number is small.
void emit_instruction(const isa::CopyAsyncWaitGroup& inst, const isa::InstStmt&,
                      KernelEmission& kernel) {
  constexpr std::int64_t most = 15;
  kernel.out.line(fmt::format("tv::copy_async_wait<{}>();",
                              std::min(most, inst.pending.value.constant_int().value_or(0))));
}

}  // namespace tilevm::backend
