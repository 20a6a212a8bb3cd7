#include "isa/program/program.h"

namespace tilevm::isa {

std::optional<Shape> PipelineTensor::static_shape() const {
  Shape shape;
  for (const Expr& extent : extents) {
    const std::optional<std::int64_t> value = extent.constant_int();
    if (!value) return std::nullopt;
    shape.push_back(*value);
  }
  return shape;
}

std::int64_t Kernel::cluster_blocks() const {
  std::int64_t blocks = 1;
  for (const std::int64_t extent : cluster) blocks *= extent;
  return blocks;
}

std::vector<Expr> constant_extents(const Shape& shape) {
  std::vector<Expr> extents;
  for (const std::int64_t extent : shape) extents.push_back(Expr::constant(extent));
  return extents;
}

}  // namespace tilevm::isa
