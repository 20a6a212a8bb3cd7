// The streams that commands read and write.
#pragma once

#include <iostream>

namespace tilevm::vm {

using InputStream = std::istream;
using OutputStream = std::ostream;

struct StandardStreams {
  InputStream& in;
  OutputStream &out, &err;
};
inline StandardStreams standard_streams() {
  std::ios::sync_with_stdio(false);
  return {std::cin, std::cout, std::cerr};
}

}  // namespace tilevm::vm
