#include "backend/toolchain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "backend/compiler_messages.h"
#include "backend/nvcc.h"
#include "backend/nvrtc.h"
#include "backend/tool_search.h"

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

Result<std::vector<CudaTarget>> parse_targets(const CompileRequest& request) {
  const std::size_t most = request.artifact == Artifact::fatbin ? max_targets : 1;
  if (request.targets.empty() || request.targets.size() > most) {
    return Error{
        ErrorKind::usage,
        fmt::format("{} targets were given; this kind of output takes {}", request.targets.size(),
                    most == 1 ? "exactly one" : fmt::format("1 to {}", most))};
  }
  std::vector<CudaTarget> targets;
  for (const std::string& text : request.targets) {
    Result<CudaTarget> target = parse_cuda_target(text);
    if (!target) return target.error();
    if (request.artifact == Artifact::cubin && target->is_virtual) {
      return Error{ErrorKind::usage,
                   fmt::format("`{}` is PTX, not machine code; a cubin needs `{}`", text,
                               target->real_name())};
    }
    if (request.artifact == Artifact::ptx) target->is_virtual = true;
    targets.push_back(*std::move(target));
  }
  return targets;
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

Compiled finish(CompilerOutput output, std::string compiler) {
  Compiled compiled;
  compiled.image = std::move(output.image);
  compiled.log = std::move(output.log);
  compiled.compiler = std::move(compiler);
  return compiled;
}

template <class Compiler>
Result<Compiled> compile_with(const Compiler& compiler, const CompileRequest& request,
                              const CudaTarget& target, Deadline deadline) {
  Result<CompilerOutput> output = compiler.compile(request, target, deadline);
  if (!output) return output.error();
  return finish(*std::move(output), compiler.describe());
}

Result<Compiled> compile_one(const CompileRequest& request, const CudaTarget& target,
                             Deadline deadline) {
  Compilers found;
  if (request.compiler != CompilerChoice::nvcc) {
    found.nvrtc = Nvrtc::find();
    if (found.nvrtc && found.nvrtc->knows(target)) {
      return compile_with(*found.nvrtc, request, target, deadline);
    }
  }
  const std::string name = request.targets.front();
  if (request.compiler == CompilerChoice::nvrtc) {
    return found.nvrtc ? found.nvrtc->unknown_target(name) : found.nvrtc.error();
  }
  found.nvcc = Nvcc::find();
  if (found.nvcc) return compile_with(*found.nvcc, request, target, deadline);
  if (request.compiler == CompilerChoice::nvcc) return found.nvcc.error();
  return found.nvrtc ? found.nvrtc->unknown_target(name) : neither(found);
}

/// A fatbin out of NVRTC's pieces and the tool `fatbinary`.
Result<Compiled> fatbin_with_nvrtc(const Nvrtc& nvrtc, const CompileRequest& request,
                                   const std::vector<CudaTarget>& targets, Deadline deadline) {
  std::vector<FatbinPart> parts;
  std::string log;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!nvrtc.knows(targets[i])) return nvrtc.unknown_target(request.targets[i]);
    Result<CompilerOutput> output = nvrtc.compile(request, targets[i], deadline);
    if (!output) return output.error();
    log += output->log.empty() ? "" : output->log + "\n";
    parts.push_back({targets[i], std::move(output->image)});
  }
  Result<std::string> image = pack_fatbin(parts, deadline);
  if (!image) return image.error();
  return finish({*std::move(image), shorten_log(log)}, nvrtc.describe() + " and fatbinary");
}

Result<Compiled> compile_fatbin(const CompileRequest& request,
                                const std::vector<CudaTarget>& targets, Deadline deadline) {
  Compilers found;
  const bool packs = find_tool("fatbinary").ok();
  if (request.compiler != CompilerChoice::nvcc) {
    found.nvrtc = Nvrtc::find();
    const bool knows_all =
        found.nvrtc && std::all_of(targets.begin(), targets.end(), [&](const CudaTarget& target) {
          return found.nvrtc->knows(target);
        });
    if (found.nvrtc && ((packs && knows_all) || request.compiler == CompilerChoice::nvrtc)) {
      return fatbin_with_nvrtc(*found.nvrtc, request, targets, deadline);
    }
    if (request.compiler == CompilerChoice::nvrtc) return found.nvrtc.error();
  }
  found.nvcc = Nvcc::find();
  if (found.nvcc) {
    Result<CompilerOutput> output = found.nvcc->compile_fatbin(request, targets, deadline);
    if (!output) return output.error();
    return finish(*std::move(output), found.nvcc->describe());
  }
  if (request.compiler == CompilerChoice::nvcc) return found.nvcc.error();
  if (!found.nvrtc) return neither(found);
  if (packs) return fatbin_with_nvrtc(*found.nvrtc, request, targets, deadline);
  return Error{ErrorKind::unavailable,
               fmt::format("{} makes code for one target at a time, and neither `fatbinary` nor "
                           "nvcc was found to pack several; install the CUDA toolkit or emit a "
                           "cubin a target",
                           found.nvrtc->describe())};
}

}  // namespace

Result<CudaTarget> parse_cuda_target(const std::string& text) {
  CudaTarget target;
  std::string rest;
  if (text.starts_with("sm_")) {
    rest = text.substr(3);
  } else if (text.starts_with("compute_")) {
    rest = text.substr(8);
    target.is_virtual = true;
  }
  if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
    target.suffix = rest.substr(rest.size() - 1);
    rest.pop_back();
  }
  const bool digits =
      std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || rest.size() < 2 || rest.size() > 4 || rest.front() == '0') {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` is no target; write one such as sm_80, sm_86, sm_89, sm_90a, "
                             "sm_100a or sm_120",
                             text)};
  }
  for (const char c : rest) target.number = target.number * 10 + (c - '0');
  return target;
}

std::vector<std::string> compile_options(const CompileRequest& request) {
  // All but the first are defaults of one compiler or the other; they are written out because every
  // bit of the results depends on them.
  std::vector<std::string> options{"-std=c++17", "-fmad=false", "-ftz=false", "-prec-div=true",
                                   "-prec-sqrt=true"};
  if (request.line_info) options.emplace_back("-lineinfo");
  options.insert(options.end(), request.extra_options.begin(), request.extra_options.end());
  return options;
}

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

Result<Compiled> compile_cuda(const CompileRequest& request) {
  if (const Status fine = check(request); !fine) return fine.error();
  const Result<std::vector<CudaTarget>> targets = parse_targets(request);
  if (!targets) return targets.error();
  const auto start = std::chrono::steady_clock::now();
  const Deadline deadline = start + request.timeout;
  Result<Compiled> compiled = request.artifact == Artifact::fatbin
                                  ? compile_fatbin(request, *targets, deadline)
                                  : compile_one(request, targets->front(), deadline);
  if (!compiled) return compiled;
  compiled->options = compile_options(request);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  compiled->milliseconds = spent.count();
  return compiled;
}

}  // namespace tilevm::backend
