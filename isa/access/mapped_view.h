// Views of which a launch can make tensor maps.
#pragma once

#include "isa/analysis/definitions.h"
#include "isa/program/program.h"
#include "isa/rules/tensor_map.h"

namespace tilevm::isa {

/// The statement that makes a view, if a launch can make a map of it: a `ViewGlobal` that alone
/// defines the variable, with extents and strides of constants and of scalar parameters that
/// nothing assigns. Else the reason.
[[nodiscard]] const ViewGlobal* mapped_view(const Kernel& kernel, const Statements& statements,
                                            const Definitions& definitions, VarId view,
                                            NoTensorMap& why);

}  // namespace tilevm::isa
