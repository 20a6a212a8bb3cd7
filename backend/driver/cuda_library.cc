#include "backend/driver/cuda_library.h"

#include <fmt/format.h>

#include "backend/host/tool_search.h"

namespace tilevm::backend {
namespace {

constexpr const char* soname = "libcuda.so.1";

/// Finds each function in the version we were written for: through the driver's own look-up from
/// CUDA 12 on, else by its exported name.
class FunctionLoader {
 public:
  explicit FunctionLoader(const DynamicLibrary& library)
      : library_(library),
        look_up_(library.function<cuda::GetProcAddress>("cuGetProcAddress_v2")) {}

  template <class Function>
  void load(Function& function, const char* name, const char* symbol, int version, bool needed) {
    void* address = nullptr;
    int found = 0;
    const bool asked =
        look_up_ != nullptr && look_up_(name, &address, version, 0, &found) == cuda::success;
    if (!asked || address == nullptr) address = library_.address(symbol);
    if (address == nullptr && needed && missing_.empty()) missing_ = symbol;
    function = reinterpret_cast<Function>(address);
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  const DynamicLibrary& library_;
  cuda::GetProcAddress look_up_;
  std::string missing_;
};

// The name without a version: what cuGetProcAddress takes.
#define TILEVM_LOAD_NEEDED(name, nvidia, symbol, version, parameters) \
  loader.load(api.name, #nvidia, symbol, version, true);
#define TILEVM_LOAD_OPTIONAL(name, nvidia, symbol, version, parameters) \
  loader.load(api.name, #nvidia, symbol, version, false);

/// The first needed function that is missing in the library, or "".
std::string load_functions(const DynamicLibrary& library, cuda::Api& api) {
  FunctionLoader loader(library);
  TILEVM_DRIVER_FUNCTIONS(TILEVM_LOAD_NEEDED)
  TILEVM_DRIVER_OPTIONAL_FUNCTIONS(TILEVM_LOAD_OPTIONAL)
  return loader.missing();
}

#undef TILEVM_LOAD_NEEDED
#undef TILEVM_LOAD_OPTIONAL

/// What to do about a code, or "".
const char* advice(cuda::Code code) {
  switch (code) {
    case cuda::out_of_memory:
      return "make the tensors smaller or free the device's memory (see `nvidia-smi`)";
    case cuda::stub_library:
      return "this is the toolkit's stub, not a driver: install NVIDIA's driver, and take the "
             "`stubs` folder out of LD_LIBRARY_PATH";
    case cuda::no_device:
      return "check `nvidia-smi` and CUDA_VISIBLE_DEVICES (in a container, start it with its GPUs)";
    case cuda::invalid_device:
      return "see `tilevm doctor` for the devices there are";
    case cuda::driver_mismatch:
    case cuda::compat_not_supported_on_device:
      return "the driver's library and its kernel module do not fit: restart the machine, or take "
             "CUDA's `compat` folder out of LD_LIBRARY_PATH";
    case cuda::invalid_image:
      return "the compiler is newer than the driver: update the driver (580 or newer for CUDA 13), "
             "or set TILEVM_NVRTC to an NVRTC of the driver's version";
    case cuda::no_binary_for_gpu:
      return "the code was compiled for another GPU: compile it for this one";
    case cuda::invalid_ptx:
    case cuda::unsupported_ptx_version:
      return "the PTX is newer than the driver: update the driver, or compile to machine code "
             "(cubin)";
    case cuda::illegal_address:
    case cuda::invalid_address_space:
      return "the kernel accessed memory outside its buffers; the simulator (`--engine sim`) "
             "shows where";
    case cuda::misaligned_address:
      return "the kernel accessed an address that is not a multiple of the access's size; buffers "
             "must start at multiples of 256 bytes";
    case cuda::launch_out_of_resources:
      return "the block needs more registers or shared memory than a multiprocessor has: use "
             "fewer threads or smaller tiles";
    case cuda::launch_timeout:
      return "the system stops kernels that run long on a GPU with a display";
    case cuda::assert_failed:
      return "an assertion of the kernel failed; its message is above";
    default:
      return "";
  }
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const std::string& library) {
  const auto named = environment("TILEVM_LIBCUDA");
  const std::string name = !library.empty() ? library : named.value_or(soname);
  Result<DynamicLibrary> opened = DynamicLibrary::open(name);
  if (!opened) {
    const char* source = library.empty() && named ? " (from $TILEVM_LIBCUDA)" : "";
    return Error{ErrorKind::unavailable,
                 fmt::format("NVIDIA's driver was not found{}: {}; install the driver (580 or "
                             "newer for CUDA 13)",
                             source, opened.error().message)};
  }
  auto driver = std::make_shared<Driver>();
  driver->library_ = *std::move(opened);
  const std::string missing = load_functions(driver->library_, driver->api_);
  if (!missing.empty()) {
    return Error{
        ErrorKind::unavailable,
        fmt::format("`{}` has no function `{}`: it is not a CUDA driver, or one older than "
                    "CUDA 11.4; install a newer driver (580 for CUDA 13)",
                    driver->path(), missing)};
  }
  if (const cuda::Code code = driver->api_.init(0); code != cuda::success) {
    return driver->error(code, fmt::format("starting the driver `{}`", driver->path()));
  }
  driver->api_.driver_get_version(&driver->version_);
  return std::shared_ptr<const Driver>(std::move(driver));
}

std::string Driver::release() const {
  // The file is called libcuda.so.580.159.04; libcuda.so.1 is a link to it.
  const std::string mark = "libcuda.so.";
  const std::size_t at = path().rfind(mark);
  if (at == std::string::npos) return {};
  std::string text = path().substr(at + mark.size());
  const bool is_version = text.find('.') != std::string::npos &&
                          text.find_first_not_of("0123456789.") == std::string::npos;
  return is_version ? text : std::string();
}

std::string Driver::describe() const {
  const std::string text = release();
  return fmt::format("driver{}{}, CUDA {} ({})", text.empty() ? "" : " ", text,
                     cuda_version_text(version_), path());
}

Error Driver::error(cuda::Code code, const std::string& doing) const {
  const char* name = nullptr;
  const char* words = nullptr;
  api_.get_error_name(code, &name);
  api_.get_error_string(code, &words);
  const std::string what = advice(code);
  const std::string text = fmt::format("{} ({})", words != nullptr ? words : "unknown error",
                                       name != nullptr ? name : fmt::format("code {}", code));
  const std::string end = what.empty() ? std::string() : "; " + what;
  // Launches are asynchronous, so the call that reports a fault is never the cause.
  if (costs_the_context(code)) {
    return {ErrorKind::program,
            fmt::format("a kernel faulted: {}, noticed while {}{}", text, doing, end)};
  }
  return {ErrorKind::unavailable, fmt::format("{}: {}{}", doing, text, end)};
}

bool costs_the_context(cuda::Code code) {
  switch (code) {
    case cuda::illegal_address:
    case cuda::launch_timeout:
    case cuda::assert_failed:
    case cuda::hardware_stack_error:
    case cuda::illegal_instruction:
    case cuda::misaligned_address:
    case cuda::invalid_address_space:
    case cuda::invalid_pc:
    case cuda::launch_failed:
      return true;
    default:
      return false;
  }
}

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace tilevm::backend
