#include "backend/emu/emu_unit.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "backend/host/subprocess.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {
namespace {

constexpr std::chrono::seconds compile_time{300}, lookup_time{20};

/// The number in "programs/figure2.tile:12 (discriminator 1)"; 0 for lines of the prelude and of
/// files that are unknown.
unsigned program_line(std::string_view place) {
  const std::size_t colon = place.rfind(':', place.find(" (discriminator"));
  if (colon == std::string_view::npos) return 0;
  const std::string_view file = place.substr(0, colon), number = place.substr(colon + 1);
  const bool own = file.find("prelude/") == std::string_view::npos &&
                   !file.ends_with("definitions") && !file.ends_with("entries") &&
                   file.find("??") == std::string_view::npos;
  unsigned line = 0;
  std::from_chars(number.data(), number.data() + number.size(), line);
  return own ? line : 0;
}

}  // namespace

Result<std::shared_ptr<const EmuUnit>> EmuUnit::load(const HostCompiler& compiler,
                                                     const CudaSource& source,
                                                     const std::string& name) {
  const Result<std::string> library = compiler.compile(source.text, name, compile_time);
  if (!library) return library.error();
  const std::shared_ptr<EmuUnit> unit(new EmuUnit);
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  unit->folder_ = std::make_unique<TemporaryFolder>(*std::move(folder));
  unit->path_ = unit->folder_->path() + "/kernel.so";
  if (Status status = write_whole_file(unit->path_, *library); !status) return status.error();
  unit->handle_ = dlopen(unit->path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (unit->handle_ == nullptr) {
    return Error{ErrorKind::unavailable,
                 fmt::format("the compiled code of `{}` cannot be loaded: {}", name, dlerror())};
  }
  for (const CudaKernel& kernel : source.kernels) {
    void* const entry = dlsym(unit->handle_, emulated_entry(kernel).c_str());
    TILEVM_CHECK(entry != nullptr, "an emitted kernel without its entry");
    unit->entries_.push_back(reinterpret_cast<EmuEntry>(entry));
  }
  for (const isa::MmaShape* shape : source.mma) unit->mma_.emplace_back(*shape);
  for (const isa::MmaShape* shape : source.wgmma) unit->wgmma_.emplace_back(*shape);
  return std::shared_ptr<const EmuUnit>(unit);
}

EmuUnit::~EmuUnit() {
  if (handle_ != nullptr) dlclose(handle_);
}

unsigned EmuUnit::line_of(const std::vector<const void*>& frames) const {
  const Result<std::string> tool = find_tool("addr2line");
  if (!tool) return 0;
  std::vector<std::string> arguments{"-i", "-e", path_};
  for (const void* frame : frames) {
    Dl_info info{};
    if (dladdr(frame, &info) == 0 || info.dli_fname == nullptr || path_ != info.dli_fname) continue;
    // A return address is that of the instruction after the call.
    const auto offset =
        reinterpret_cast<std::uintptr_t>(frame) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    arguments.push_back(fmt::format("0x{:x}", offset - 1));
  }
  const Result<ProcessResult> answer =
      run_process({.program = *tool,
                   .arguments = std::move(arguments),
                   .folder = "/",
                   .dropped_variables = {},
                   .deadline = std::chrono::steady_clock::now() + lookup_time});
  if (!answer || answer->exit_status != 0) return 0;
  std::string_view rest = answer->output;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (const unsigned line = program_line(rest.substr(0, end))) return line;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return 0;
}

}  // namespace tilevm::backend
