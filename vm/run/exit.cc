#include "vm/run/exit.h"

namespace tilevm::vm {

Exit exit_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::program:
      return Exit::fault;
    case ErrorKind::usage:
      return Exit::usage;
    case ErrorKind::unavailable:
      return Exit::unavailable;
    case ErrorKind::limit:
      return Exit::limit;
  }
  return Exit::internal;
}

Exit exit_of(const Failure& failure) {
  if (const auto* error = std::get_if<Error>(&failure)) return exit_of(error->kind);
  return exit_of(std::get<Diagnostics>(failure));
}

Exit exit_of(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    if (diagnostic.code == Code::step_limit) return Exit::limit;
    // A wrong -D is a fault of the command line, not of the program.
    if (diagnostic.code == Code::bad_define || diagnostic.code == Code::unknown_define) {
      return Exit::usage;
    }
  }
  return Exit::fault;
}

}  // namespace tilevm::vm
