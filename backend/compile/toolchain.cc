#include "backend/compile/toolchain.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "backend/compile/compiler_messages.h"
#include "backend/compile/nvcc.h"
#include "backend/compile/nvrtc.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {
namespace {

/// The compilers of this machine that a choice allows.
struct Compilers {
  Result<Nvrtc> nvrtc = Error{};
  Result<Nvcc> nvcc = Error{};
};

Error neither(const Compilers& found) {
  return {ErrorKind::unavailable,
          fmt::format("no CUDA compiler: {}; and {}", found.nvrtc.error().message,
                      found.nvcc.error().message)};
}

/// The target in the form that the compiler is given.
Result<CudaTarget> target_of(const CompileRequest& request) {
  Result<CudaTarget> target = parse_cuda_target(request.target);
  if (!target) return target;
  if (request.artifact == Artifact::cubin && target->is_virtual) {
    return Error{ErrorKind::usage, fmt::format("`{}` is PTX, not machine code; a cubin needs `{}`",
                                               request.target, target->real_name())};
  }
  if (request.artifact == Artifact::ptx) target->is_virtual = true;
  return target;
}

Status check(const CompileRequest& request) {
  // Both compilers take the source as text that a null character ends.
  if (request.source.find('\0') != std::string::npos) {
    return Error{ErrorKind::usage, "the source contains a null character"};
  }
  if (request.timeout.count() <= 0) {
    return Error{ErrorKind::usage, "the timeout of a compilation must be positive"};
  }
  return Done{};
}

/// The compiler that takes a request.
using Compiler = std::variant<Nvrtc, Nvcc>;

Result<Compiler> choose(const CompileRequest& request, const CudaTarget& target) {
  Compilers found;
  if (request.compiler != CompilerChoice::nvcc) {
    found.nvrtc = Nvrtc::find();
    if (found.nvrtc && found.nvrtc->knows(target)) return Compiler(*found.nvrtc);
  }
  const auto unknown = [&] { return found.nvrtc->unknown_target(request.target); };
  if (request.compiler == CompilerChoice::nvrtc) {
    return found.nvrtc ? unknown() : found.nvrtc.error();
  }
  found.nvcc = Nvcc::find();
  if (found.nvcc) return Compiler(*found.nvcc);
  if (request.compiler == CompilerChoice::nvcc) return found.nvcc.error();
  return found.nvrtc ? unknown() : neither(found);
}

}  // namespace

Result<std::string> describe_compiler(CompilerChoice choice) {
  Compilers found;
  if (choice != CompilerChoice::nvcc) {
    found.nvrtc = Nvrtc::find();
    if (found.nvrtc) return found.nvrtc->describe();
    if (choice == CompilerChoice::nvrtc) return found.nvrtc.error();
  }
  found.nvcc = Nvcc::find();
  if (found.nvcc) return found.nvcc->describe();
  return choice == CompilerChoice::nvcc ? found.nvcc.error() : neither(found);
}

Result<std::string> identify_compiler(const CompileRequest& request) {
  const Result<CudaTarget> target = target_of(request);
  if (!target) return target.error();
  const Result<Compiler> compiler = choose(request, *target);
  if (!compiler) return compiler.error();
  const auto identify = [](const auto& chosen) {
    struct stat info{};
    if (stat(chosen.path().c_str(), &info) != 0) return chosen.describe();
    return fmt::format("{}, {} bytes of {}.{:09}", chosen.describe(), info.st_size,
                       info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  };
  return std::visit(identify, *compiler);
}

Result<Compiled> compile_cuda(const CompileRequest& request) {
  if (const Status fine = check(request); !fine) return fine.error();
  const Result<CudaTarget> target = target_of(request);
  if (!target) return target.error();
  const auto start = std::chrono::steady_clock::now();
  const Result<Compiler> compiler = choose(request, *target);
  if (!compiler) return compiler.error();
  const auto compile = [&](const auto& chosen) {
    return chosen.compile(request, *target, start + request.timeout);
  };
  Result<CompilerOutput> output = std::visit(compile, *compiler);
  if (!output) return output.error();
  Compiled compiled;
  compiled.image = std::move(output->image);
  compiled.log = std::move(output->log);
  compiled.compiler = std::visit([](const auto& chosen) { return chosen.describe(); }, *compiler);
  compiled.options = compile_options(request);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  compiled.milliseconds = spent.count();
  return compiled;
}

}  // namespace tilevm::backend
