// The steps of a value's way as text.
#pragma once

#include <string>

#include "isa/verify/verify.h"
#include "sim/debug/reply.h"
#include "vm/debug/words.h"

namespace tilevm::vm {

/// A step, which has a number from 1 on.
[[nodiscard]] std::string cause_text(const sim::debug::reply::Cause& cause, int number,
                                     const isa::VerifiedProgram& program, Format format);

}  // namespace tilevm::vm
