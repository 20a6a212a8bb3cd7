#include "backend/compile/fatbin.h"

#include <fmt/format.h>

#include <chrono>

#include "backend/compile/compiler_messages.h"
#include "backend/host/subprocess.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {

namespace {
constexpr std::chrono::seconds packing_time{60};
}

Result<std::string> pack_fatbin(const std::vector<FatbinPart>& parts) {
  const Result<std::string> tool = find_tool("fatbinary");
  if (!tool) {
    return Error{ErrorKind::unavailable,
                 tool.error().message + "; install the CUDA toolkit, or emit a cubin a target"};
  }
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  ProcessRequest process{.program = *tool,
                         .arguments = {"-64", "--create=output"},
                         .folder = folder->path(),
                         .dropped_variables = {},
                         .deadline = std::chrono::steady_clock::now() + packing_time};
  for (const FatbinPart& part : parts) {
    const std::string file = fmt::format("part{}", process.arguments.size());
    const Status written = write_whole_file(folder->path() + "/" + file, part.image);
    if (!written) return written.error();
    process.arguments.push_back(fmt::format("--image3=kind={},sm={},file={}",
                                            part.target.is_virtual ? "ptx" : "elf",
                                            part.target.digits(), file));
  }
  const Result<ProcessResult> result = run_process(process);
  if (!result) return result.error();
  if (result->exit_status != 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("`{}` failed: {}", *tool, shorten_log(result->output))};
  }
  return read_whole_file(folder->path() + "/output");
}

}  // namespace tilevm::backend
