#include "backend/emu/host_compiler.h"

#include <string_view>

#include <fmt/format.h>

#include "backend/compile/kernel_cache.h"
#include "backend/host/subprocess.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {
namespace {

constexpr std::chrono::seconds version_time{20};

/// Results are defined bit for bit, so nothing is contracted. Line tables lead from an address to
/// the program's line, in the version that addr2line reads of every compiler: binutils 2.40 leaves
/// out the callers of inlined functions in clang's DWARF 5. Where variables are is not in them, and
/// to follow that takes g++ a third of its time.
std::vector<std::string> options_of(int optimisation) {
  return {
      "-x",
      "c++",
      "-std=c++17",
      fmt::format("-O{}", optimisation),
      "-g1",
      "-gdwarf-4",
      "-fno-var-tracking",
      "-w",
      "-fPIC",
      "-shared",
      "-ffp-contract=off",
      "-fno-stack-protector",
      "-fno-math-errno",
#if defined(__SANITIZE_ADDRESS__)
      // The threads' arrays get red zones, as those of the command have them.
      "-fsanitize=address",
      "--param=asan-use-after-return=0",
#endif
  };
}

Result<std::string> find_compiler() {
  for (const char* variable : {"TILEVM_CXX", "CXX"}) {
    if (const auto named = environment(variable)) return find_named_program(*named, variable);
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (Result<std::string> found = find_tool(name)) return found;
  }
  return Error{ErrorKind::unavailable,
               "the engine emu compiles emitted code by a C++ compiler, and there is none: install "
               "g++ (Debian: apt-get install g++), or name one in $TILEVM_CXX"};
}

/// The first lines of what a compiler says.
std::string first_lines(std::string_view text) {
  constexpr std::size_t max_bytes = 2000;
  return std::string(text.substr(0, max_bytes));
}

CompileRequest cache_request(const std::string& source, const std::string& name,
                             const std::vector<std::string>& options) {
  CompileRequest request;
  request.source = source;
  request.name = name;
  request.target = "host";
  request.extra_options = options;
  return request;
}

}  // namespace

Result<HostCompiler> HostCompiler::find(int optimisation) {
  const Result<std::string> path = find_compiler();
  if (!path) return path.error();
  const Result<ProcessResult> answer =
      run_process({.program = *path,
                   .arguments = {"--version"},
                   .folder = "/",
                   .dropped_variables = {},
                   .deadline = std::chrono::steady_clock::now() + version_time});
  if (!answer) return answer.error();
  HostCompiler compiler;
  compiler.path_ = *path;
  compiler.options_ = options_of(optimisation);
  const std::string version = answer->output.substr(0, answer->output.find('\n'));
  compiler.description_ = fmt::format("{} ({})", version, *path);
  return compiler;
}

Result<std::string> HostCompiler::compile(const std::string& source, const std::string& name,
                                          std::chrono::milliseconds timeout) const {
  Result<Compiled> compiled =
      compile_kept(cache_request(source, name, options_), description_,
                   [&]() -> Result<Compiled> { return compile_now(source, name, timeout); });
  if (!compiled) return compiled.error();
  return std::move(compiled->image);
}

Result<Compiled> HostCompiler::compile_now(const std::string& source, const std::string& name,
                                           std::chrono::milliseconds timeout) const {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  const std::string input = folder->path() + "/kernel.cc", output = folder->path() + "/kernel.so";
  if (Status written = write_whole_file(input, source); !written) return written.error();
  std::vector<std::string> arguments = options_;
  arguments.insert(arguments.end(), {"-o", output, input});
  const Result<ProcessResult> result =
      run_process({.program = path_,
                   .arguments = std::move(arguments),
                   .folder = folder->path(),
                   .dropped_variables = {},
                   .deadline = std::chrono::steady_clock::now() + timeout});
  if (!result) return result.error();
  if (result->exit_status != 0) {
    return Error{ErrorKind::unavailable, fmt::format("{} does not compile the code of `{}`:\n{}",
                                                     path_, name, first_lines(result->output))};
  }
  Result<std::string> library = read_whole_file(output);
  if (!library) return library.error();
  Compiled compiled;
  compiled.image = *std::move(library);
  compiled.compiler = description_;
  return compiled;
}

}  // namespace tilevm::backend
