#include "backend/compile/nvcc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "backend/compile/compiler_messages.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {
namespace {

// A user's flags (-use_fast_math, say) must not get into code whose every bit is defined.
const std::vector<std::string> hidden_variables = {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"};

constexpr std::chrono::seconds question_time{20};

/// Asks nvcc something that it answers without compiling.
Result<ProcessResult> ask(const std::string& nvcc, const std::string& question) {
  return run_process({.program = nvcc,
                      .arguments = {question},
                      .folder = "/",
                      .dropped_variables = hidden_variables,
                      .deadline = std::chrono::steady_clock::now() + question_time});
}

/// "13.0.88" out of "..., release 13.0, V13.0.88".
std::string version_in(const std::string& text) {
  const std::size_t mark = text.find(", V");
  if (mark == std::string::npos) return {};
  const std::size_t start = mark + 3;
  const std::size_t end = text.find_first_not_of("0123456789.", start);
  return text.substr(start, std::min(end, text.size()) - start);
}

/// A file name for the source that nvcc's messages can show; "kernel.cu" for what is not plain.
std::string file_name_for(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
  const bool fits = !name.empty() && name.size() <= 100 &&
                    std::isalnum(static_cast<unsigned char>(name.front())) != 0;
  return plain && fits && name.ends_with(".cu") ? name : "kernel.cu";
}

}  // namespace

Result<Nvcc> Nvcc::find() {
  Nvcc nvcc;
  Result<std::string> path = Error{};
  if (const auto named = environment("TILEVM_NVCC")) {
    path = find_named_program(*named, "TILEVM_NVCC");
  } else if (const auto usual = environment("NVCC")) {
    path = find_named_program(*usual, "NVCC");
  } else {
    path = find_tool("nvcc");
  }
  if (!path) return path.error();
  nvcc.path_ = *path;
  const Result<ProcessResult> answer = ask(nvcc.path_, "--version");
  if (!answer) return answer.error();
  nvcc.version_ = version_in(answer->output);
  return nvcc;
}

std::string Nvcc::describe() const {
  return fmt::format("nvcc {} ({})", version_.empty() ? "of unknown version" : version_, path_);
}

std::vector<int> Nvcc::architectures() const {
  const Result<ProcessResult> answer = ask(path_, "--list-gpu-code");
  std::vector<int> numbers;
  if (!answer || answer->exit_status != 0) return numbers;
  std::size_t at = 0;
  while ((at = answer->output.find("sm_", at)) != std::string::npos) {
    at += 3;
    int number = 0;
    for (; at < answer->output.size() && number < 10'000; ++at) {
      const char digit = answer->output[at];
      if (digit < '0' || digit > '9') break;
      number = number * 10 + (digit - '0');
    }
    if (number > 0) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Error Nvcc::failure(const CompileRequest& request, const std::string& target,
                    const std::string& log) const {
  if (log.find("Unsupported gpu architecture") != std::string::npos ||
      log.find("is not defined for option 'gpu-architecture'") != std::string::npos ||
      log.find("is not defined for option 'gpu-code'") != std::string::npos) {
    return unknown_target(describe(), target, architectures());
  }
  const bool no_host_compiler = log.find("host compiler") != std::string::npos ||
                                log.find("No such file or directory") != std::string::npos;
  if (no_host_compiler && log.find("error:") == std::string::npos) {
    return {ErrorKind::unavailable,
            fmt::format("{} does not work without a host compiler; install g++ or set NVCC_CCBIN: "
                        "{}",
                        describe(), shorten_log(log))};
  }
  if (auto error = failure_of_machine(describe(), log)) return *std::move(error);
  if (log.starts_with("nvcc fatal") && log.find("option") != std::string::npos) {
    return {ErrorKind::usage,
            fmt::format("{} refuses an option: {}", describe(), shorten_log(log))};
  }
  return refused_source(describe(), request, target, log);
}

Result<CompilerOutput> Nvcc::compile(const CompileRequest& request, const CudaTarget& target,
                                     Deadline deadline) const {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  const std::string source = file_name_for(request.name);
  if (const Status written = write_whole_file(folder->path() + "/" + source, request.source);
      !written) {
    return written.error();
  }
  ProcessRequest process{.program = path_,
                         .arguments = compile_options(request),
                         .folder = folder->path(),
                         .dropped_variables = hidden_variables,
                         .deadline = deadline};
  process.arguments.emplace_back(target.is_virtual ? "--ptx" : "--cubin");
  process.arguments.push_back("-arch=" + target.name());
  for (const char* last : {"-x", "cu", "-o", "output"}) process.arguments.emplace_back(last);
  process.arguments.push_back(source);
  Result<ProcessResult> result = run_process(process);
  if (!result) {
    return result.error().kind == ErrorKind::limit ? compile_timeout(describe(), request)
                                                   : result.error();
  }
  if (result->exit_status != 0) return failure(request, target.name(), result->output);
  Result<std::string> image = read_whole_file(folder->path() + "/output");
  if (!image) return image.error();
  return CompilerOutput{*std::move(image), shorten_log(result->output)};
}

}  // namespace tilevm::backend
