// What is emitted besides the program itself.
#pragma once

namespace tilevm::backend {

struct EmitOptions {
  bool probes = false;  ///< kernels sum up what each statement writes (isa/program/probe.h)
};

}  // namespace tilevm::backend
