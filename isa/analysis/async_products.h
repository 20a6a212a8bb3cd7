// Which tiles asynchronous products of a kernel work on.
#pragma once

#include <vector>

#include "isa/program/program.h"

namespace tilevm::isa {

/// Whether a kernel has a product that completes later.
[[nodiscard]] bool has_async_products(const Kernel& kernel);

/// The tiles that receive results of such products, each once, in the order of the text.
[[nodiscard]] std::vector<VarId> async_results(const Kernel& kernel);

/// The shared tensors that such products read, each once.
[[nodiscard]] std::vector<VarId> async_shared_operands(const Kernel& kernel);

}  // namespace tilevm::isa
