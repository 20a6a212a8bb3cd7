// Errors in the data that a user gives: files, shapes and values.
#pragma once

#include <string>

#include "isa/base/codes.h"
#include "isa/base/result.h"

namespace tilevm::vm {

/// An Error of kind `program` whose message ends with the code, as "... [TV0503]".
[[nodiscard]] Error data_error(Code code, std::string message);

}  // namespace tilevm::vm
