#include "vm/text/json_line.h"

namespace tilevm::vm {

std::string reason_of(const std::exception& error) {
  const auto* coded = dynamic_cast<const boost::system::system_error*>(&error);
  std::string reason = coded != nullptr ? coded->code().message() : error.what();
  // " [boost.json:8 at /usr/include/..]" follows what is said.
  return reason.substr(0, reason.find(" ["));
}

}  // namespace tilevm::vm
