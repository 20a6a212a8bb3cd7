// Asynchronous products of a kernel, and the tiles that they work on.
#pragma once

#include <vector>

#include "isa/program/program.h"

namespace tilevm::isa {

/// Whether an instruction is a product that completes later, or commits or awaits groups of them.
[[nodiscard]] bool is_of_async_products(const Instruction& inst);

/// The first product of a kernel that completes later; null if it has none.
[[nodiscard]] const Stmt* first_async_product(const Kernel& kernel);

/// The tiles that receive results of such products, each once, in the order of the text.
[[nodiscard]] std::vector<VarId> async_results(const Kernel& kernel);

/// The shared tensors that such products read, each once.
[[nodiscard]] std::vector<VarId> async_shared_operands(const Kernel& kernel);

}  // namespace tilevm::isa
