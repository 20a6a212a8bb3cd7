// Asynchronous copies: the tile in chunks of 16, 8 or 4 bytes where layouts and offsets keep these
// together and aligned on both sides, else element by element by ordinary moves, since the data may
// arrive early.
#include <algorithm>

#include <fmt/format.h>

#include "backend/alignment.h"
#include "backend/emit_index.h"
#include "backend/emit_kernel.h"
#include "isa/inst/async_copy.h"
#include "isa/rules.h"

namespace tilevm::backend {
namespace {

/// A copy's tile and how its elements are reached on both sides.
class CopyEmission {
 public:
  CopyEmission(const isa::CopyAsync& inst, KernelEmission& kernel)
      : kernel_(kernel),
        shared_(kernel.type<isa::SharedType>(inst.dst.var)),
        global_(kernel.type<isa::GlobalType>(inst.src.var)),
        shared_name_(kernel.name(inst.dst.var)),
        view_(kernel.name(inst.src.var)),
        shape_(isa::tile_shape(inst, shared_)),
        shared_place_(isa::place_tile(inst.shared_offset, shared_.layout.rank(), rank())),
        global_place_(isa::place_tile(inst.offset, global_.rank(), rank())) {}

  void run() {
    const std::int64_t chunk = find_chunk();
    chunk_ = std::max<std::int64_t>(chunk, 1);
    open_loop();
    write_indices();
    chunk > 0 ? move_chunk() : move_element();
    kernel_.out.close();
  }

 private:
  [[nodiscard]] int rank() const { return static_cast<int>(shape_.size()); }
  [[nodiscard]] std::int64_t bits() const { return shared_.dtype.bits; }

  /// The tensor dimension along which the tile's last one runs, or -1.
  [[nodiscard]] int last_dimension(const isa::TilePlacement& place) const {
    for (std::size_t d = 0; d < place.dimensions.size(); ++d) {
      if (rank() > 0 && place.dimensions[d].tile_dim == rank() - 1) return static_cast<int>(d);
    }
    return -1;
  }

  /// Elements that one asynchronous copy moves; 0 if ordinary moves must do.
  [[nodiscard]] std::int64_t find_chunk() const {
    const Multiples multiples(kernel_.definition(), kernel_.info());
    for (const std::int64_t bytes : {16, 8, 4}) {
      const std::int64_t count = bytes * 8 / bits();
      if (count * bits() != bytes * 8) continue;
      if (shared_fits(count) && global_fits(count, multiples)) return count;
    }
    return 0;
  }

  [[nodiscard]] bool shared_fits(std::int64_t count) const {
    const int dim = last_dimension(shared_place_);
    return dim >= 0 && keeps_together(shared_.layout, dim, count);
  }

  [[nodiscard]] bool global_fits(std::int64_t count, const Multiples& multiples) const {
    const int dim = last_dimension(global_place_);
    if (dim < 0) return false;
    const auto at = static_cast<std::size_t>(dim);
    if (multiples.of(global_place_.dimensions[at].offset) % count != 0) return false;
    // What is left of the last chunk must be whole bytes.
    if (bits() < 8 && multiples.of(global_.extents[at]) * bits() % 8 != 0) return false;
    if (const auto* layout = global_.layout.memory_layout()) {
      return keeps_together(*layout, dim, count);
    }
    const auto& strides = *global_.layout.strides();
    if (count > 1 && strides[at].constant_int() != std::int64_t{1}) return false;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      if (d != at && multiples.of(strides[d]) % count != 0) return false;
    }
    return true;
  }

  /// x_ counts the chunks of this thread, neighbours in neighbouring threads.
  void open_loop() {
    constexpr std::int64_t most_unrolled = 16;
    std::int64_t chunks = 1;
    for (const std::int64_t extent : shape_) chunks *= extent;
    chunks /= chunk_;
    const std::int64_t rounds = (chunks + kernel_.threads() - 1) / kernel_.threads();
    kernel_.out.open_plain(fmt::format("{}for (tv::u32 x_ = tv::thread(); x_ < {}; x_ += {})",
                                       rounds <= most_unrolled ? "TV_UNROLL " : "", chunks,
                                       kernel_.threads()));
  }

  /// The tile's own index along a dimension, from x_.
  [[nodiscard]] std::string tile_index(int tile_dim) const {
    if (tile_dim < 0) return "";
    std::int64_t divisor = 1;
    for (int d = rank() - 1; d > tile_dim; --d) divisor *= extent_in_chunks(d);
    const std::int64_t extent = extent_in_chunks(tile_dim);
    if (extent == 1) return "";
    std::string text = divisor == 1 ? "x_" : fmt::format("x_ / {}", divisor);
    if (tile_dim > 0) text += fmt::format(" % {}", extent);
    if (tile_dim == rank() - 1 && chunk_ > 1) text += fmt::format(" * {}", chunk_);
    return text;
  }
  [[nodiscard]] std::int64_t extent_in_chunks(int d) const {
    const std::int64_t extent = shape_[static_cast<std::size_t>(d)];
    return d == rank() - 1 ? extent / chunk_ : extent;
  }

  /// Declares s0_, s1_, ... in the shared tensor and i0_, i1_, ... in the view.
  void write_indices() {
    std::string shared, global;
    for (std::size_t d = 0; d < shared_place_.dimensions.size(); ++d) {
      const auto& dimension = shared_place_.dimensions[d];
      shared +=
          fmt::format("{}s{}_ = {}", d > 0 ? ", " : "", d,
                      sum(kernel_.shared_index(dimension.offset), tile_index(dimension.tile_dim)));
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

  void move_chunk() {
    const std::int64_t bytes = chunk_ * bits() / 8;
    const int dim = last_dimension(global_place_);
    kernel_.out.line(fmt::format(
        "const tv::u32 valid_ = inside_ ? tv::valid_bytes<{}, {}>({}.extent[{}] - i{}_) : 0;",
        chunk_, bits(), view_, dim, dim));
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
  isa::Shape shape_;
  isa::TilePlacement shared_place_, global_place_;
  std::int64_t chunk_ = 1;  ///< elements of one move
};

}  // namespace

void emit_instruction(const isa::CopyAsync& inst, const isa::InstStmt&, KernelEmission& kernel) {
  CopyEmission(inst, kernel).run();
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
