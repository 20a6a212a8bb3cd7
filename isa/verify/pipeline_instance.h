// A pipeline with values of its scalar parameters: shapes and launches as engines take them.
#pragma once

#include <span>
#include <vector>

#include "isa/base/result.h"
#include "isa/verify/verify.h"

namespace tilevm::isa {

/// The largest extent of a tensor of a pipeline.
inline constexpr std::int64_t max_pipeline_extent = std::int64_t{1} << 40;

struct PipelineInstance {
  std::vector<Shape> shapes;  ///< shapes of Pipeline::tensors
  std::vector<Launch> launches;
};

/// `values` has one scalar of the right kind for each of Pipeline::scalars. Errors (usage): an
/// extent is not from 1 to max_pipeline_extent, a division by zero, a view that does not fit.
[[nodiscard]] Result<PipelineInstance> instantiate(const VerifiedProgram& program, int pipeline,
                                                   std::span<const Scalar> values);

}  // namespace tilevm::isa
