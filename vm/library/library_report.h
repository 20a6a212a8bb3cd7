// What libtilevm tells of programs and layouts, as text and as JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "vm/library/callable.h"
#include "vm/run/vm.h"

namespace tilevm::vm {

/// A report, or why there is none.
struct LibraryReport {
  std::string text;
  std::optional<Failure> failure;
  Diagnostics notes;                         ///< said besides
  std::shared_ptr<const SourceFile> source;  ///< source of the diagnostics' spans
};

/// Counters of a run in the simulator on generated data (vm/run/stats.h).
[[nodiscard]] LibraryReport report_stats(const isa::VerifiedProgram& program,
                                         const std::string& entry, const DataOptions& data,
                                         std::uint64_t seed, EngineOptions settings);

/// The run as a page of HTML (vm/picture/report.h), which there is of a run that failed, too.
[[nodiscard]] LibraryReport report_page(const isa::VerifiedProgram& program,
                                        const std::string& entry, const DataOptions& data,
                                        std::uint64_t seed, EngineOptions settings);

/// The page of a call on host memory, which stays as it is. Errors: also those of HostCall::make.
[[nodiscard]] LibraryReport report_page_of_call(const isa::VerifiedProgram& program,
                                                const Callable& callable, CallArguments arguments,
                                                EngineOptions settings);

/// What the CUDA backend chose, and what the compiler made of it (vm/run/compile_report.h).
[[nodiscard]] LibraryReport report_compilation(const isa::VerifiedProgram& program);

/// A layout as "json", "text", "svg" or "html". Errors: program (the text is none), usage (another
/// form).
[[nodiscard]] LibraryReport report_layout(const std::string& expression, const std::string& form);

}  // namespace tilevm::vm
