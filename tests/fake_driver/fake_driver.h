// Tests against the stand-in for NVIDIA's driver (fake_driver.c): what it is asked to do and what
// it saw.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "backend/host/subprocess.h"
#include "tests/unit/backend/toolchain_support.h"

namespace tilevm::backend {

/// Whether the driver is on this machine; else a visible skip.
inline bool has_fake_driver() {
  if (std::filesystem::exists(TILEVM_FAKE_DRIVER)) return true;
  skip("the stand-in for the driver", "it was not built here");
  return false;
}

/// The stand-in and a script as compiler, for as long as the object lives.
class FakeGpu {
 public:
  FakeGpu()
      : nvcc_("TILEVM_NVCC", write_script(folder_, "nvcc",
                                          "[ \"$1\" = --version ] && echo ', V13.0' && exit 0\n"
                                          "printf '.version 9.0\\n.target sm_90\\n' > output\n")),
        log_("FAKE_CUDA_LOG", folder_.path() + "/log") {}

  /// A line for each call since the last question.
  [[nodiscard]] std::string take_log() const {
    const std::string path = folder_.path() + "/log";
    std::ifstream file(path);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(path);
    return text;
  }

 private:
  TemporaryFolder folder_ = *TemporaryFolder::make();
  ScopedVariable driver_{"TILEVM_LIBCUDA", TILEVM_FAKE_DRIVER};
  ScopedVariable nvrtc_{"TILEVM_NVRTC", "/nowhere/libnvrtc.so"};
  ScopedVariable nvcc_, log_;
};

}  // namespace tilevm::backend
