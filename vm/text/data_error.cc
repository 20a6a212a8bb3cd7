#include "vm/text/data_error.h"

#include <fmt/format.h>

#include <utility>

namespace tilevm::vm {

namespace {

Error coded(ErrorKind kind, Code code, const std::string& message, DataPlace place) {
  const std::string name = to_string(code);
  return {kind, fmt::format("{} [{}]", message, name), name, std::move(place)};
}

}  // namespace

Error data_error(Code code, const std::string& message, DataPlace place) {
  return coded(ErrorKind::program, code, message, std::move(place));
}

Error file_error(const std::string& file, std::string_view what) {
  return data_error(Code::bad_file, fmt::format("cannot read `{}`: {}", file, what),
                    {file, {}, {}});
}

Error usage_error(Code code, const std::string& message, DataPlace place) {
  return coded(ErrorKind::usage, code, message, std::move(place));
}

}  // namespace tilevm::vm
