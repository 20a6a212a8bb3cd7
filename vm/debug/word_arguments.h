// Words of the debugger whose arguments have a form of their own.
#pragma once

#include "isa/base/result.h"
#include "vm/debug/words.h"

namespace tilevm::vm {

/// A command of the engine as input.
[[nodiscard]] Input engine(sim::debug::Command request, Format format = Format::value);

// "N" or "@M"; "X,Y,Z"; "LINE|NAME [ignore N] [if EXPR]"; "T[i, j]" or "T+BYTE:BYTES"; "T[i, j]
// [levels N] [via V]"; "wrote T[i, j]"; "did T[i, j] last change"; "T[i, j]" behind gdb's "/4x".
// Errors (usage).
[[nodiscard]] Result<Input> parse_code(const WordText& text);
[[nodiscard]] Result<Input> parse_goto(const WordText& text);
[[nodiscard]] Result<Input> parse_block(const WordText& text);
[[nodiscard]] Result<Input> parse_stop(const WordText& text, bool temporary);
[[nodiscard]] Result<Input> parse_watch(const WordText& text);
[[nodiscard]] Result<Input> parse_why(const WordText& text);
[[nodiscard]] Result<Input> parse_examine(const WordText& text);
[[nodiscard]] Result<Input> parse_who(const WordText& text);
[[nodiscard]] Result<Input> parse_when(const WordText& text);

}  // namespace tilevm::vm
