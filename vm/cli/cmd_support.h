// What several commands share: loading a program as the options say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "vm/cli/commands.h"

namespace tilevm::vm {

/// The target where the user names none.
inline constexpr std::string_view default_target = "sm_90";

/// Loads a text for the target that the options name, or for the other one. Errors: usage (a define
/// or the target).
[[nodiscard]] Result<Loaded> load_source(std::shared_ptr<const SourceFile> source,
                                         const ProgramOptions& options,
                                         const std::string& target_if_none);

/// The same, from the file that the options name. Errors: usage (the file too).
[[nodiscard]] Result<Loaded> load_program(const ProgramOptions& options,
                                          std::string_view target_if_none, Io& io);

/// What reads the files of a command's inputs: standard input too, unless the program is there.
[[nodiscard]] DataReader data_reader(const ExecutionOptions& execution,
                                     const ProgramOptions& program, Io& io);

/// An entry and its tensors, filled. What was rounded is told.
struct PreparedRun {
  Entry entry;
  std::vector<HostTensor> tensors;
};
[[nodiscard]] Result<PreparedRun> prepare_run(const isa::VerifiedProgram& program,
                                              const ExecutionOptions& execution,
                                              const ProgramOptions& source, Reporter& reporter);

/// The target for an engine where the user names none.
[[nodiscard]] std::string target_for(const Engine& engine);

/// An output tensor as JSON: name, dtype, shape, hash, min, max, nan, inf and, where it is known,
/// unwritten.
[[nodiscard]] Json output_json(const std::string& name, const HostTensor& tensor,
                               std::optional<std::size_t> unwritten);

/// "c: f16[64, 64], hash 0123456789abcdef, from -1.5 to 2, 3 NaN, 1 Inf, 12 unwritten".
[[nodiscard]] std::string output_line(const std::string& name, const HostTensor& tensor,
                                      std::optional<std::size_t> unwritten);

}  // namespace tilevm::vm
