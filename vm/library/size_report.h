// Sizes of a call that the shapes of its tensors tell, for callers that have tensors with shapes.
#pragma once

#include <string>
#include <vector>

#include "vm/library/library_report.h"

namespace tilevm::vm {

/// What `known` tells of a call: "n=100" of a scalar, "x=[200, 3]" of a tensor. An object with
/// `scalars` (name, type, can_be_told: by the shape of an input, value: what the shapes tell) and
/// `tensors` (name, shape: null if it depends on what is not known). Errors: usage (a name that the
/// entry does not have, a text that is not a value, two extents that tell two values, an extent
/// that cannot be).
[[nodiscard]] LibraryReport report_sizes(const isa::VerifiedProgram& program,
                                         const std::string& entry,
                                         const std::vector<std::string>& known);

}  // namespace tilevm::vm
