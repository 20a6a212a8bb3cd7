// Serving the Debug Adapter Protocol: over standard streams, or to one client of a socket.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "isa/base/result.h"

namespace tilevm::vm::dap {

/// Serves a client on a pair of file descriptors until it disconnects or is gone.
void serve(int input, int output);

/// Listens on a port of 127.0.0.1 (0: any that is free), tells which one, and serves one client.
/// Error (usage): the port cannot be had.
[[nodiscard]] Status serve_on_port(int port, const std::function<void(int)>& listening);

}  // namespace tilevm::vm::dap
