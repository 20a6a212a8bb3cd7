// What several commands share: loading a program as the options say.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isa/base/result.h"
#include "vm/cli/commands.h"
#include "vm/debug/debugger.h"
#include "vm/debug/target.h"

namespace tilevm::vm {

/// The target where the user names none.
inline constexpr std::string_view default_target = "sm_90";

/// Loads a text for the target that the options name, or for the other one. Errors: usage (a define
/// or the target).
[[nodiscard]] Result<Loaded> load_source(std::shared_ptr<const SourceFile> source,
                                         const ProgramOptions& options,
                                         const std::string& target_if_none);

/// The text of the program that the options name, with the files that it includes; a shipped
/// program is found where it is installed. Error (usage): it cannot be read.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> open_program(const ProgramOptions& options,
                                                                     Io& io);

/// Loads the file that the options name. Errors: usage (the file too).
[[nodiscard]] Result<Loaded> load_program(const ProgramOptions& options,
                                          std::string_view target_if_none, Io& io);

/// What reads the files of a command's inputs: standard input too, unless the program is there.
[[nodiscard]] DataReader data_reader(const ExecutionOptions& execution,
                                     const ProgramOptions& program, Io& io);

/// An entry and its tensors, filled. Rounding is reported.
struct PreparedRun {
  Entry entry;
  std::vector<HostTensor> tensors;
};
[[nodiscard]] Result<PreparedRun> prepare_run(const isa::VerifiedProgram& program,
                                              const ExecutionOptions& execution,
                                              const ProgramOptions& source, Reporter& reporter);

/// Error (usage): `--ring` is not a prime that the ring can have.
[[nodiscard]] Status check_modulus(const std::string& modulus);
/// Shows the formulas of the outputs modulo a prime (vm/ring/formula.h), on the inputs before the
/// run. Errors: usage (the prime), program (what the naive interpreter cannot run).
[[nodiscard]] Status deliver_formulas(const isa::VerifiedProgram& program, const Entry& entry,
                                      std::vector<HostTensor> inputs, const std::string& modulus,
                                      OutputStream& words, Reporter& reporter);

/// The target for an engine where the user names none.
[[nodiscard]] std::string target_for(const Engine& engine);

/// An output tensor as JSON: name, dtype, shape, hash, min, max, nan, inf and, where it is known,
/// unwritten.
[[nodiscard]] Json output_json(const std::string& name, const HostTensor& tensor,
                               std::optional<std::size_t> unwritten);

/// "c: f16[64, 64], hash 0123456789abcdef, from -1.5 to 2, 3 NaN, 1 Inf, 12 unwritten".
[[nodiscard]] std::string output_line(const std::string& name, const HostTensor& tensor,
                                      std::optional<std::size_t> unwritten);

/// A debugger as the options of `tilevm debug` ask for it. Who talks to it is the caller's
/// business: a terminal, a script, or a page.
struct OpenDebugger {
  std::unique_ptr<FoundTarget> found;  ///< what is debugged
  std::unique_ptr<Debugger> debugger;  ///< writes to the streams that it was opened with
  std::string script;                  ///< the text of the options' script, or empty
};

/// Opens and greets; `tick` is called now and then while a run goes on, and ends it with false. The
/// status where there is nothing to debug, which has been said.
[[nodiscard]] std::variant<OpenDebugger, Exit> open_debugger(const DebugCommandOptions& options,
                                                             Io& io, std::function<bool()> tick);

}  // namespace tilevm::vm
