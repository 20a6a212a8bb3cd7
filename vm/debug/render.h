// Replies of the debugger as text and as JSON.
#pragma once

#include <string>

#include "isa/verify/verify.h"
#include "sim/debug/reply.h"
#include "vm/debug/words.h"
#include "vm/text/json.h"

namespace tilevm::vm {

struct RenderOptions {
  Format format = Format::value;
  bool color = false;
};

/// A reply as lines, each with its line break.
[[nodiscard]] std::string render_reply(const sim::debug::Reply& reply,
                                       const isa::VerifiedProgram& program,
                                       const RenderOptions& options);

/// A reply as an object with its kind under "reply".
[[nodiscard]] Json reply_json(const sim::debug::Reply& reply, const isa::VerifiedProgram& program);

/// "matmul [0, 0], line 14, moment 37".
[[nodiscard]] std::string position_text(const sim::debug::Position& position);

/// Lines of the program around one, which is marked.
[[nodiscard]] std::string source_lines(const SourceFile& source, int line, int before, int after);

}  // namespace tilevm::vm
