#include "backend/host/dynamic_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>
#include <system_error>

namespace tilevm::backend {
namespace {

/// The file that a handle was opened from, with symbolic links resolved.
std::string file_of(void* handle, const std::string& fallback) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr ||
      map->l_name == nullptr) {
    return fallback;
  }
  const std::string name = map->l_name;
  if (name.empty()) return fallback;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(name, error);
  return error ? name : real.string();
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::open(const std::string& name) {
  // RTLD_LOCAL: what NVIDIA's libraries export must not answer for anyone else's symbols.
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot open `{}`: {}", name, why != nullptr ? why : "unknown cause")};
  }
  DynamicLibrary library;
  library.handle_ = handle;
  library.path_ = file_of(handle, name);
  return library;
}

void* DynamicLibrary::address(const char* symbol) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
}

}  // namespace tilevm::backend
