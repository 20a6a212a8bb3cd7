// A scalar parameter whose value is in a file: the one number of an array.
#pragma once

#include <string>

#include "isa/base/result.h"
#include "isa/inst/scalar.h"
#include "vm/data/spec.h"

namespace tilevm::vm {

/// The value of the scalar `name`: that of an array of no dimensions, or of one element. A number
/// is rounded to f32; to another kind it must be exact. Errors (program): another shape, or no such
/// value.
[[nodiscard]] Result<isa::Scalar> read_scalar_file(const Spec& spec, const std::string& name,
                                                   isa::ScalarKind kind);

}  // namespace tilevm::vm
