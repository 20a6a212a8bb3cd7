// The messages of failed compilations, the same for every compiler.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/compile/compile_request.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// A compiler's log without blank ends, and its middle left out where it is very long.
[[nodiscard]] std::string shorten_log(const std::string& log);

/// Error (unavailable): `compiler` makes no code for `target`; `architectures` (75, 80 ...) are
/// what it knows, or empty if that is unknown.
[[nodiscard]] Error unknown_target(const std::string& compiler, const std::string& target,
                                   const std::vector<int>& architectures);

/// Error (program): the compiler refuses the source; ends with the log.
[[nodiscard]] Error refused_source(const std::string& compiler, const CompileRequest& request,
                                   const std::string& target, const std::string& log);

/// What a compiler's log says of the machine: Error (limit) where memory is short, Error
/// (unavailable) where no file can be written. Nothing if it says neither.
[[nodiscard]] std::optional<Error> failure_of_machine(const std::string& compiler,
                                                      const std::string& log);

/// Error (limit): the request's timeout passed.
[[nodiscard]] Error compile_timeout(const std::string& compiler, const CompileRequest& request);

}  // namespace tilevm::backend
