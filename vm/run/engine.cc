#include "vm/run/engine.h"

#include <fmt/format.h>

namespace tilevm::vm {

std::optional<Failure> Engine::run_probed(const isa::VerifiedProgram&, const Entry&,
                                          std::vector<HostTensor>&, ProbeRun&) {
  return Error{ErrorKind::usage,
               fmt::format("engine `{}` cannot tell what each statement wrote", name())};
}

}  // namespace tilevm::vm
