#include "backend/engine/cublas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "backend/compile/nvrtc.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {
namespace {

namespace fs = std::filesystem;

constexpr const char* sonames[] = {"libcublas.so.13", "libcublas.so.12"};

/// cuBLAS needs its second library; once that is loaded by its full path, its bare name leads to
/// it.
Result<DynamicLibrary> open_library(const fs::path& path) {
  std::string companion = path.filename().string();
  if (companion.starts_with("libcublas.") && path.has_parent_path()) {
    companion.replace(0, 10, "libcublasLt.");
    [[maybe_unused]] const auto opened =
        DynamicLibrary::open((path.parent_path() / companion).string());
  }
  return DynamicLibrary::open(path.string());
}

/// The folders of the toolkit, that of NVRTC, and where wheels have cuBLAS beside NVRTC.
std::vector<std::string> library_folders() {
  std::vector<std::string> folders = cuda_library_folders();
  if (const Result<Nvrtc> nvrtc = Nvrtc::find()) {
    const fs::path beside = fs::path(nvrtc->path()).parent_path();
    folders.push_back(beside.string());
    folders.push_back((beside.parent_path().parent_path() / "cublas" / "lib").string());
  }
  return folders;
}

Result<DynamicLibrary> find_library() {
  if (const auto named = environment("TILEVM_LIBCUBLAS")) {
    Result<DynamicLibrary> opened = open_library(*named);
    if (opened) return opened;
    return Error{ErrorKind::unavailable,
                 fmt::format("$TILEVM_LIBCUBLAS does not name a usable cuBLAS: {}; correct the "
                             "variable or unset it",
                             opened.error().message)};
  }
  for (const char* soname : sonames) {
    if (Result<DynamicLibrary> opened = DynamicLibrary::open(soname)) return opened;
  }
  const std::vector<std::string> folders = library_folders();
  for (const std::string& folder : folders) {
    for (const char* soname : sonames) {
      if (Result<DynamicLibrary> opened = open_library(fs::path(folder) / soname)) return opened;
    }
  }
  return Error{
      ErrorKind::unavailable,
      fmt::format(
          "cuBLAS was not found: looked for {} on the loader's path{}; install the "
          "CUDA toolkit, or set TILEVM_LIBCUBLAS to the library's path",
          fmt::join(sonames, ", "),
          folders.empty() ? std::string() : fmt::format(" and in {}", fmt::join(folders, ", ")))};
}

Status check(cublas::Code code, const char* doing) {
  if (code == cublas::success) return Done{};
  return Error{ErrorKind::unavailable, fmt::format("cuBLAS failed {} (status {})", doing, code)};
}

}  // namespace

Status Cublas::load(DynamicLibrary library) {
  library_ = std::move(library);
  std::string missing;
#define TILEVM_LOAD(name, nvidia, parameters)                  \
  api_.name = library_.function<decltype(api_.name)>(#nvidia); \
  if (api_.name == nullptr && missing.empty()) missing = #nvidia;
  TILEVM_CUBLAS_FUNCTIONS(TILEVM_LOAD, TILEVM_LOAD)
#undef TILEVM_LOAD
  if (!missing.empty()) {
    return Error{ErrorKind::unavailable, fmt::format("`{}` has no function `{}`: it is not cuBLAS",
                                                     library_.path(), missing)};
  }
  return device_.with_current([this] {
    cublas::Handle handle = nullptr;
    if (Status made = check(api_.create(&handle), "to start"); !made) return made;
    handle_ = {handle, [device = device_, destroy = api_.destroy](cublas::Handle used) {
                 // After a fault this does nothing: the context is lost, and the handle with it.
                 (void)device.with_current([&] { return check(destroy(used), "to end"); });
               }};
    return check(api_.get_version(handle, &version_), "to tell its version");
  });
}

Result<Cublas> Cublas::open(const Device& device) {
  Result<DynamicLibrary> library = find_library();
  if (!library) return library.error();
  Cublas result(device);
  if (Status loaded = result.load(*std::move(library)); !loaded) return loaded.error();
  return result;
}

std::string Cublas::describe() const {
  // 130002 is 13.0.2; 12 and earlier count in the same way.
  return fmt::format("cuBLAS {}.{}.{} ({})", version_ / 10000, version_ / 100 % 100, version_ % 100,
                     library_.path());
}

Status Cublas::multiply(const MatmulProblem& problem, const DeviceBuffer& a, const DeviceBuffer& b,
                        DeviceBuffer& c) const {
  const cublas::DataType type = problem.bf16 ? cublas::real_16bf : cublas::real_16f;
  const float one = 1, zero = 0;
  const auto pointer = [](const DeviceBuffer& buffer) {
    // A device address is an integer to the driver. NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void*>(buffer.address());
  };
  // cuBLAS is column-major: it computes the transposed product, whose left factor is b.
  return device_.with_current([&] {
    const cublas::Code code =
        api_.gemm(handle_.get(), problem.transposed ? cublas::op_t : cublas::op_n, cublas::op_n,
                  problem.n, problem.m, problem.k, &one, pointer(b), type,
                  problem.transposed ? problem.k : problem.n, pointer(a), type, problem.k, &zero,
                  pointer(c), type, problem.n, cublas::compute_32f, cublas::algorithm_default);
    return check(code, "to multiply");
  });
}

}  // namespace tilevm::backend
