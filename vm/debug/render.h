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

/// "matmul [0, 0], line 14, moment 37"; with the calls of functions that it is in.
[[nodiscard]] std::string position_text(const sim::debug::Position& position,
                                        const SourceFile& source);

}  // namespace tilevm::vm
