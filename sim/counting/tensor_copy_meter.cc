#include "sim/counting/tensor_copy_meter.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "isa/base/check.h"
#include "isa/program/tile_move.h"
#include "isa/rules/tensor_map.h"
#include "sim/access/access_addresses.h"
#include "sim/counting/warp_access.h"

namespace tilevm::sim {
namespace {

/// A range of a box along a dimension of the view, inside the view.
struct Inside {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return std::max<std::int64_t>(0, end - begin); }
};

/// A copy as its meter sees it.
struct MeteredBoxes {
  isa::TensorBoxes boxes;
  TilePosition position;
  std::size_t view = 0;    ///< slot
  std::int64_t bytes = 1;  ///< bytes of an element
  bool stores = false;
};

/// Sectors from byte `begin` of a view on, `bytes` long.
std::uint64_t sectors(std::int64_t begin, std::int64_t bytes) {
  const auto first = static_cast<std::uint64_t>(begin),
             last = static_cast<std::uint64_t>(begin + bytes - 1);
  return last / sector_bytes - first / sector_bytes + 1;
}

/// Counts a box row by row: along the view's dimension `contiguous` elements are side by side.
class BoxCount {
 public:
  BoxCount(const GlobalView& view, std::size_t contiguous, std::int64_t element_bytes,
           AccessCount& count)
      : view_(view), contiguous_(contiguous), bytes_(element_bytes), count_(count) {}

  void run(const std::vector<Inside>& inside) {
    inside_ = &inside;
    std::int64_t bytes = bytes_;
    for (const Inside& each : inside) bytes *= each.size();
    if (bytes == 0) return;
    ++count_.requests;
    count_.bytes += static_cast<std::uint64_t>(bytes);
    count_.ideal += sectors(0, bytes);
    add_rows(0, 0);
  }

 private:
  void add_rows(std::size_t dim, std::int64_t element) {
    if (dim == inside_->size()) {
      const Inside& row = (*inside_)[contiguous_];
      count_.transfers += sectors((element + row.begin) * bytes_, row.size() * bytes_);
      return;
    }
    if (dim == contiguous_) return add_rows(dim + 1, element);
    const Inside& range = (*inside_)[dim];
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      add_rows(dim + 1, element + i * view_.strides[dim]);
    }
  }

  const GlobalView& view_;
  std::size_t contiguous_;
  std::int64_t bytes_;
  AccessCount& count_;
  const std::vector<Inside>* inside_ = nullptr;
};

void count_boxes(const MeteredBoxes& copy, const BlockState& state, AccessCounts& counts) {
  Coordinates origin{};
  if (!copy.position.find_origin(state, origin)) return;
  const GlobalView& view = state.views[copy.view];
  AccessCount count;
  const isa::TensorMap& map = copy.boxes.map;
  BoxCount boxes(view, map.order.back(), copy.bytes, count);
  std::vector<Inside> inside(static_cast<std::size_t>(view.rank));
  for (const auto& box : copy.boxes.boxes) {
    for (std::size_t d = 0; d < inside.size(); ++d) {
      const std::size_t dim = map.order[d];
      const std::int64_t begin = origin[dim] + box.start[d];
      inside[dim] = {std::clamp<std::int64_t>(begin, 0, view.extents[dim]),
                     std::clamp<std::int64_t>(begin + map.box[d], 0, view.extents[dim])};
    }
    boxes.run(inside);
  }
  counts[static_cast<std::size_t>(copy.stores ? Traffic::global_store : Traffic::global_copy)] +=
      count;
}

}  // namespace

std::optional<Meter> make_tensor_copy_meter(const isa::VerifiedProgram& program, int kernel,
                                            const isa::InstStmt& stmt) {
  const auto copy = isa::tensor_copy(stmt.inst);
  if (!copy) return std::nullopt;
  const isa::Kernel& text = program.kernel(kernel);
  const auto& view = *std::get_if<isa::GlobalType>(&text.variable(copy->view).type);
  const auto& tensor = *std::get_if<isa::SharedType>(&text.variable(copy->tensor).type);
  isa::NoTensorMap why;
  auto boxes = isa::plan_boxes(*copy, view, tensor, why);
  TILEVM_CHECK(boxes.has_value(), "a copy by a tensor map that passed its type rule has boxes");
  const isa::Shape shape = isa::tile_shape(copy->offset, tensor);
  auto metered = std::make_shared<const MeteredBoxes>(MeteredBoxes{
      *std::move(boxes), TilePosition(copy->view_offset, view.rank(), shape),
      static_cast<std::size_t>(copy->view.index), tensor.dtype.bits / 8, copy->stores});
  return [metered](const BlockState& state, MeterCache&, AccessCounts& counts) {
    count_boxes(*metered, state, counts);
  };
}

}  // namespace tilevm::sim
