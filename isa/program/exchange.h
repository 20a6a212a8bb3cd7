// Shared memory through which an instruction moves values between threads, beside the tensors of
// the program: how much of it a kernel needs.
#pragma once

#include <cstdint>

#include "isa/inst/instruction_set.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Bytes that an instruction puts there at a time; 0 if its threads need nothing of others. A
/// specialisation for each instruction that exchanges values (Description::exchanges), beside its
/// type rule. The template itself has no definition, so a forgotten one does not link.
template <class Inst>
std::int64_t exchange_bytes(const Inst& inst, const InstStmt& stmt, const Kernel& kernel);

/// The bytes for any statement of a kernel that passed its type rules.
[[nodiscard]] std::int64_t exchange_bytes(const InstStmt& stmt, const Kernel& kernel);

}  // namespace tilevm::isa
