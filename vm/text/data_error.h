// Errors in the data that a user gives: files, shapes and values.
#pragma once

#include <string>
#include <string_view>

#include "isa/base/codes.h"
#include "isa/base/result.h"

namespace tilevm::vm {

/// An Error of kind `program` whose message ends with the code, as "... [TV0503]". The message
/// names the place as well.
[[nodiscard]] Error data_error(Code code, const std::string& message, DataPlace place = {});

/// An error of kind `usage`.
[[nodiscard]] Error usage_error(Code code, const std::string& message, DataPlace place = {});

/// A file that cannot be read: "cannot read `FILE`: WHAT [TV0502]".
[[nodiscard]] Error file_error(const std::string& file, std::string_view what);

}  // namespace tilevm::vm
