// A language server: JSON-RPC messages in, answers and diagnostics out.
//
// One thread. Messages that have arrived are taken in before the next is answered, so that a
// request can be cancelled and a text that changes quickly is judged once. Every request has an
// answer; what is not a valid message is answered with an error, and nothing that a client sends
// ends the server but `exit`, the end of the stream, or bytes that are not a protocol at all.
#pragma once

#include <iosfwd>
#include <string>

namespace tilevm::vm {

/// Serves until the client says `exit` or goes away. 0: it said `shutdown` before; 1: it did not;
/// 2: what it sent is not a language server protocol, or it does not take answers.
[[nodiscard]] int serve_language(std::istream& in, std::ostream& out, const std::string& version);

}  // namespace tilevm::vm
