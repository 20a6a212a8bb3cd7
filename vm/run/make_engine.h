// The engines by their names.
//
// A backend's name may end with a level of optimisation: "cuda:O0" is a GPU whose machine code
// ptxas did not optimise, "emu:O3" the emulated GPU with kernels that the C++ compiler optimised.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/run/engine.h"

namespace tilevm::vm {

/// A backend as the user names it.
struct EngineName {
  std::string engine;        ///< "cuda"
  std::optional<int> level;  ///< 0 to 3: "O0" to "O3"; nothing: the engine's own

  [[nodiscard]] std::string text() const;  ///< "cuda:O0"
  friend bool operator==(const EngineName&, const EngineName&) = default;
};

/// Names of the engines there are.
[[nodiscard]] const std::vector<std::string>& engine_names();

/// Error (usage): no such engine, no such level, or an engine that has no levels.
[[nodiscard]] Result<EngineName> parse_engine(const std::string& text);
/// Several names with commas between them.
[[nodiscard]] Result<std::vector<EngineName>> parse_engines(const std::string& text);

/// Error: unavailable (no device, no driver, no compiler).
[[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(const EngineName& name,
                                                          const EngineOptions& options);
/// Makes an engine by a name that is parsed first.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(const std::string& name,
                                                          const EngineOptions& options);

}  // namespace tilevm::vm
