#include "backend/compile/nvrtc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "backend/compile/compiler_messages.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {
namespace {

// 11.2 is the name of every CUDA 11 from 11.2 on.
constexpr const char* sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};

/// A program of NVRTC's, destroyed with the object.
class ProgramGuard {
 public:
  ProgramGuard(const nvrtc::Api& api, nvrtc::Program program) : api_(api), program_(program) {}
  ProgramGuard(const ProgramGuard&) = delete;
  ProgramGuard& operator=(const ProgramGuard&) = delete;
  ~ProgramGuard() { api_.destroy_program(&program_); }

 private:
  const nvrtc::Api& api_;
  nvrtc::Program program_;
};

using SizeFunction = nvrtc::Code (*)(nvrtc::Program, std::size_t*);
using TextFunction = nvrtc::Code (*)(nvrtc::Program, char*);

/// Fetches one of NVRTC's outputs; empty if it has none.
std::string fetch(nvrtc::Program program, SizeFunction size_of, TextFunction get) {
  std::size_t size = 0;
  if (size_of(program, &size) != nvrtc::success || size == 0) return {};
  std::string bytes(size, '\0');
  if (get(program, bytes.data()) != nvrtc::success) return {};
  return bytes;
}

/// Text ends with a null character that is not part of it.
std::string fetch_text(nvrtc::Program program, SizeFunction size_of, TextFunction get) {
  std::string text = fetch(program, size_of, get);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

/// NVRTC asks this now and then whether to stop: 1 is yes.
int past_deadline(void* deadline, void* /*reserved*/) {
  return std::chrono::steady_clock::now() < *static_cast<Deadline*>(deadline) ? 0 : 1;
}

std::vector<std::string> arguments_for(const CompileRequest& request, const CudaTarget& target) {
  std::vector<std::string> arguments = compile_options(request);
  arguments.push_back("--gpu-architecture=" + target.name());
  return arguments;
}

}  // namespace

Result<Nvrtc> Nvrtc::find() {
  if (const auto named = environment("TILEVM_NVRTC")) {
    Result<Nvrtc> opened = open(*named);
    if (opened) return opened;
    return Error{ErrorKind::unavailable,
                 fmt::format("$TILEVM_NVRTC does not name a usable NVRTC: {}; correct the variable "
                             "or unset it",
                             opened.error().message)};
  }
  for (const char* soname : sonames) {
    if (Result<Nvrtc> opened = open(soname)) return opened;
  }
  const std::vector<std::string> folders = cuda_library_folders();
  for (const std::string& folder : folders) {
    for (const char* soname : sonames) {
      if (Result<Nvrtc> opened = open(folder + "/" + soname)) return opened;
    }
  }
  return Error{ErrorKind::unavailable,
               fmt::format("NVRTC was not found: looked for {} on the loader's path{}; install "
                           "the CUDA toolkit, or set TILEVM_NVRTC to the library's path",
                           fmt::join(sonames, ", "),
                           folders.empty() ? std::string()
                                           : fmt::format(" and in {}", fmt::join(folders, ", ")))};
}

Result<Nvrtc> Nvrtc::open(const std::string& name) {
  Result<DynamicLibrary> library = DynamicLibrary::open(name);
  if (!library) return library.error();
  Nvrtc nvrtc;
  nvrtc.library_ = *std::move(library);
  if (const Status loaded = nvrtc.load_functions(); !loaded) return loaded.error();
  nvrtc.api_.version(&nvrtc.major_, &nvrtc.minor_);
  int count = 0;
  if (nvrtc.api_.get_num_supported_archs(&count) == nvrtc::success && count > 0 && count < 1000) {
    nvrtc.architectures_.resize(static_cast<std::size_t>(count));
    nvrtc.api_.get_supported_archs(nvrtc.architectures_.data());
  }
  nvrtc.open_builtins();
  return nvrtc;
}

Status Nvrtc::load_functions() {
  std::string missing;
#define TILEVM_LOAD(name, nvidia, parameters)                  \
  api_.name = library_.function<decltype(api_.name)>(#nvidia); \
  if (api_.name == nullptr && missing.empty()) missing = #nvidia;
  TILEVM_NVRTC_FUNCTIONS(TILEVM_LOAD)
#undef TILEVM_LOAD
#define TILEVM_LOAD(name, nvidia, parameters) \
  api_.name = library_.function<decltype(api_.name)>(#nvidia);
  TILEVM_NVRTC_OPTIONAL_FUNCTIONS(TILEVM_LOAD)
#undef TILEVM_LOAD
  api_.get_error_string = library_.function<const char* (*)(nvrtc::Code)>("nvrtcGetErrorString");
  if (api_.get_error_string == nullptr && missing.empty()) missing = "nvrtcGetErrorString";
  if (missing.empty()) return Done{};
  return Error{ErrorKind::unavailable,
               fmt::format("`{}` has no function `{}`: it is not NVRTC, or one older than 11.2",
                           library_.path(), missing)};
}

/// NVRTC opens this library by its bare name when it compiles, and has no path of its own to look
/// in; once it is loaded by its full path, the bare name leads to it.
void Nvrtc::open_builtins() {
  const std::string name = fmt::format("libnvrtc-builtins.so.{}.{}", major_, minor_);
  const std::filesystem::path beside = std::filesystem::path(path()).parent_path() / name;
  has_builtins_ = DynamicLibrary::open(beside.string()).ok() || DynamicLibrary::open(name).ok();
}

std::string Nvrtc::describe() const {
  return fmt::format("NVRTC {}.{} ({})", major_, minor_, path());
}

bool Nvrtc::knows(const CudaTarget& target) const {
  return std::find(architectures_.begin(), architectures_.end(), target.number) !=
         architectures_.end();
}

Error Nvrtc::unknown_target(const std::string& target) const {
  return backend::unknown_target(describe(), target, architectures_);
}

Error Nvrtc::compile_error(nvrtc::Code code, const std::string& log, const CompileRequest& request,
                           const CudaTarget& target) const {
  const std::string name = target.name();
  if (code == nvrtc::cancelled) return compile_timeout(describe(), request);
  // NVRTC knows the number, so the suffix is wrong: there is an sm_90a, but no sm_80a. NVRTC's log
  // then has the name of an option, its own or its front end's.
  const bool bad_target = log.find("gpu-architecture") != std::string::npos ||
                          log.find("--nv_arch") != std::string::npos;
  if (bad_target) return unknown_target(name);
  if (code == nvrtc::compilation_failed) return refused_source(describe(), request, name, log);
  if (code == nvrtc::invalid_option) {
    return {ErrorKind::usage,
            fmt::format("{} refuses an option: {}", describe(), shorten_log(log))};
  }
  const char* builtins = has_builtins_ ? "" : "; libnvrtc-builtins is missing beside it";
  return {ErrorKind::unavailable,
          fmt::format("{} failed for `{}`: {}{}\n{}", describe(), name, api_.get_error_string(code),
                      builtins, shorten_log(log))};
}

Result<CompilerOutput> Nvrtc::compile(const CompileRequest& request, const CudaTarget& target,
                                      Deadline deadline) const {
  nvrtc::Program program = nullptr;
  nvrtc::Code code = api_.create_program(&program, request.source.c_str(), request.name.c_str(), 0,
                                         nullptr, nullptr);
  if (code != nvrtc::success) return compile_error(code, "", request, target);
  const ProgramGuard guard(api_, program);
  if (api_.set_flow_callback != nullptr) {
    api_.set_flow_callback(program, past_deadline, &deadline);
  }
  const std::vector<std::string> arguments = arguments_for(request, target);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  code = api_.compile_program(program, static_cast<int>(pointers.size()), pointers.data());
  CompilerOutput output;
  output.log = shorten_log(fetch_text(program, api_.get_log_size, api_.get_log));
  if (code != nvrtc::success) return compile_error(code, output.log, request, target);
  output.image = target.is_virtual ? fetch_text(program, api_.get_ptx_size, api_.get_ptx)
                                   : fetch(program, api_.get_cubin_size, api_.get_cubin);
  if (output.image.empty()) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} gave no output for `{}`", describe(), target.digits())};
  }
  return output;
}

}  // namespace tilevm::backend
