#include "vm/text/data_error.h"

#include <fmt/format.h>

namespace tilevm::vm {

Error data_error(Code code, std::string message) {
  return {ErrorKind::program, fmt::format("{} [{}]", message, to_string(code))};
}

}  // namespace tilevm::vm
