// The C++ compiler of this machine, which makes a shared library of emitted code.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backend/compile/compile_request.h"
#include "isa/base/result.h"

namespace tilevm::backend {

class HostCompiler {
 public:
  /// $TILEVM_CXX, else $CXX, else c++, g++ or clang++ on PATH, which will optimise at this level,
  /// 0 to 3. Error (unavailable): there is none, and what to install.
  [[nodiscard]] static Result<HostCompiler> find(int optimisation);

  /// "g++ (Debian 12.2.0-14) 12.2.0 (/usr/bin/g++)".
  [[nodiscard]] const std::string& description() const { return description_; }

  /// The bytes of a shared library. `name` is what messages call the source. Compiled before, it
  /// comes from the kernel cache. Errors: unavailable (the compiler fails; its first words), limit
  /// (the time is over).
  [[nodiscard]] Result<std::string> compile(const std::string& source, const std::string& name,
                                            std::chrono::milliseconds timeout) const;

 private:
  /// Without the kernel cache.
  [[nodiscard]] Result<Compiled> compile_now(const std::string& source, const std::string& name,
                                             std::chrono::milliseconds timeout) const;

  std::string path_, description_;
  std::vector<std::string> options_;
};

}  // namespace tilevm::backend
