// Scalar parameters of a pipeline whose values follow from the shapes of its data: `n` of
// `x: f32[2 * n]` is half of the extent of the file that `--in x=x.npy` names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "isa/base/result.h"
#include "isa/inst/expr.h"
#include "isa/program/program.h"
#include "vm/run/entry_parts.h"

namespace tilevm::vm {

/// A variable of an expression and the value that gives the expression its value.
struct ExtentSolution {
  isa::VarId var;
  std::int64_t value = 0;
};

/// Solves an expression that is one variable, alone or with constants added, subtracted or
/// multiplied; nothing if no integer gives the value.
[[nodiscard]] std::optional<ExtentSolution> solve_extent(const isa::Expr& extent,
                                                         std::int64_t value);

/// One value or none for each of Pipeline::scalars.
using ToldSizes = std::vector<std::optional<isa::Scalar>>;

/// What shapes tell, one or none for each of Pipeline::tensors; scalars with `is_given` keep their
/// value. Error (usage): two extents tell two values.
[[nodiscard]] Result<ToldSizes> sizes_of_shapes(
    const isa::Pipeline& pipeline, const std::vector<std::optional<isa::Shape>>& shapes,
    const std::function<bool(std::size_t)>& is_given);

/// The first input whose shape can tell a scalar, by its index; or NULL.
[[nodiscard]] const isa::PipelineTensor* tensor_that_tells(const isa::Pipeline& pipeline,
                                                           std::size_t scalar);

/// The sizes that a user states. Tensors with a text among the inputs have none: the text holds.
/// Shapes are those of files (.npy, .npz, .safetensors; not of standard input) and those that the
/// user writes, as in `x=f32[100]=rand`. Error (usage): two extents tell two values; (program): a
/// file cannot be read.
[[nodiscard]] Result<ToldSizes> sizes_of_data(const isa::Pipeline& pipeline, const Texts& inputs,
                                              const Texts& outputs);

}  // namespace tilevm::vm
