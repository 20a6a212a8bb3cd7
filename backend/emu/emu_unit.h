// Compiled kernels of one or more programs, loaded into this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/emit/cuda_source.h"
#include "backend/emu/block_machine.h"
#include "backend/emu/host_compiler.h"
#include "backend/emu/wgmma_unit.h"
#include "backend/host/subprocess.h"

namespace tilevm::backend {

class EmuUnit {
 public:
  /// Compiles and loads. Errors: as HostCompiler::compile; unavailable (the loader's words).
  [[nodiscard]] static Result<std::shared_ptr<const EmuUnit>> load(const HostCompiler& compiler,
                                                                   const CudaSource& source,
                                                                   const std::string& name);
  EmuUnit(const EmuUnit&) = delete;
  EmuUnit& operator=(const EmuUnit&) = delete;
  ~EmuUnit();

  /// The code of a kernel, by its position in CudaSource::kernels.
  [[nodiscard]] EmuEntry entry(std::size_t kernel) const { return entries_[kernel]; }
  [[nodiscard]] const std::vector<MmaUnit>& mma() const { return mma_; }
  [[nodiscard]] const std::vector<WgmmaUnit>& wgmma() const { return wgmma_; }

  /// The line of the program's text that the innermost of these return addresses with one belongs
  /// to; 0 if no tool of the machine tells (binutils' addr2line).
  [[nodiscard]] unsigned line_of(const std::vector<const void*>& frames) const;

 private:
  EmuUnit() = default;
  std::unique_ptr<TemporaryFolder> folder_;
  std::string path_;
  void* handle_ = nullptr;
  std::vector<EmuEntry> entries_;
  std::vector<MmaUnit> mma_;
  std::vector<WgmmaUnit> wgmma_;
};

}  // namespace tilevm::backend
