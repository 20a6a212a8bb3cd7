#include "isa/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tilevm {

void check_failed(const char* condition, const char* message, const char* file, int line) {
  std::fprintf(stderr,
               "tilevm: internal error: %s (%s) at %s:%d\n"
               "This is a fault of tilevm, not of your program. Please report it with the command "
               "line and the program.\n",
               message, condition, file, line);
  std::fflush(nullptr);
  std::_Exit(70);
}

}  // namespace tilevm
