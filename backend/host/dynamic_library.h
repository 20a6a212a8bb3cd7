// A shared library opened at run time, so that nothing of ours is linked against CUDA.
#pragma once

#include <string>

#include "isa/base/result.h"

namespace tilevm::backend {

/// A library opened with dlopen. It stays loaded until the process ends: NVIDIA's libraries keep
/// threads and exit handlers of their own, and unloading them is not safe.
class DynamicLibrary {
 public:
  DynamicLibrary() = default;

  /// Opens `name`, a path or a SONAME. Error (unavailable): the loader's own words.
  [[nodiscard]] static Result<DynamicLibrary> open(const std::string& name);

  /// The address of a function, or null. `Function` is a pointer to function type.
  template <class Function>
  [[nodiscard]] Function function(const char* symbol) const {
    return reinterpret_cast<Function>(address(symbol));
  }

  /// The address of a symbol, or null.
  [[nodiscard]] void* address(const char* symbol) const;

  /// The file that the loader chose, symbolic links resolved; the name asked for if it is unknown.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace tilevm::backend
