// A program as text. Instructions are written by walking their schemas, so that a new instruction
// needs nothing here, and a new kind of slot does not compile until it is written.
//
// Law: loading the text gives a program whose text is the same.
#pragma once

#include <string>

#include "isa/program/program.h"

namespace tilevm::vm::fuzz {

/// Variables must have names that differ within a kernel.
[[nodiscard]] std::string program_text(const isa::Program& program);

}  // namespace tilevm::vm::fuzz
