// Helpers of the toolchain's tests: the environment changed for a scope, scripts that stand in for
// a compiler, and skips that can be seen.
#pragma once

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "backend/compile/toolchain.h"
#include "backend/driver/device.h"
#include "backend/host/subprocess.h"
#include "tests/unit/contains.h"
#include "tests/unit/sanitizers.h"

namespace tilevm::backend {

/// It is the CUDA compiler that takes long, and sanitizers see nothing of it: with them, the first
/// case of several is enough.
inline bool compiles_first_only() { return tests::under_sanitizers(); }

/// Sets an environment variable (or unsets it, without a value) until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, std::optional<std::string> value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { set(old_); }

 private:
  void set(const std::optional<std::string>& value) {
    if (value) {
      setenv(name_, value->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> old_;
};

/// Writes an executable shell script and gives its path.
inline std::string write_script(const TemporaryFolder& folder, const std::string& name,
                                const std::string& body) {
  const std::string path = folder.path() + "/" + name;
  REQUIRE(write_whole_file(path, "#!/bin/sh\n" + body));
  REQUIRE(chmod(path.c_str(), 0700) == 0);
  return path;
}

/// Prints why a test checks nothing here; always true.
inline bool skip(const std::string& what, const std::string& why) {
  std::printf("SKIP: %s: %s\n", what.c_str(), why.c_str());
  std::fflush(stdout);
  return true;
}

/// True, and a visible skip, if the compiler is not on this machine.
inline bool lacks(CompilerChoice choice, const std::string& what) {
  const Result<std::string> compiler = describe_compiler(choice);
  return !compiler && skip(what, compiler.error().message);
}

/// The device, or nothing and a visible skip.
inline std::optional<Device> device_or_skip(const std::string& what) {
  Result<Device> device = Device::open();
  if (device) return *device;
  skip(what, device.error().message);
  return std::nullopt;
}

/// A kernel as the backend emits them: no headers, inline PTX, plain types.
inline const std::string sample_kernel = R"(
extern "C" __global__ void affine(const float* a, float* b, int n, float scale) {
  unsigned i;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(i) : "r"(blockIdx.x), "r"(blockDim.x), "r"(threadIdx.x));
  if (i < static_cast<unsigned>(n)) b[i] = a[i] * scale + 1.0f;
}
)";

}  // namespace tilevm::backend
