// Scalar parameters of a pipeline whose values follow from the shapes of its data: `n` of
// `x: f32[2 * n]` is half of the extent of the file that `--in x=x.npy` names.
#pragma once

#include <optional>
#include <vector>

#include "isa/base/result.h"
#include "isa/program/program.h"
#include "vm/run/entry_parts.h"

namespace tilevm::vm {

/// One value or none for each of Pipeline::scalars. Those with a text among the inputs have none:
/// the text holds. Shapes are those of files (.npy, .npz, .safetensors; not of standard input) and
/// those that the user writes, as in `x=f32[100]=rand`. An extent tells a scalar if it is the
/// scalar alone, or with constants added, subtracted or multiplied. Error (usage): two extents
/// tell two values; (program): a file cannot be read.
[[nodiscard]] Result<std::vector<std::optional<isa::Scalar>>> sizes_of_data(
    const isa::Pipeline& pipeline, const Texts& inputs, const Texts& outputs);

}  // namespace tilevm::vm
