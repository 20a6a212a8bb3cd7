// Asynchronous products in flight: issued, committed to groups, retired by waits.
#pragma once

#include <cstdint>

#include "sim/access/product_plan.h"
#include "sim/state/preparation.h"

namespace tilevm::sim {

/// Begins a product; false after a fault.
[[nodiscard]] bool issue_product(const ProductPlan& plan, Context& context);
/// Makes a group of the products since the last commit.
void commit_products(AsyncProducts& products);
/// Retires all but the latest `pending` groups. `number` is that of the wait in Plan::barriers.
void wait_for_products(std::uint64_t pending, Span span, std::uint32_t number, Context& context);
/// Completes products at random, in order, if the run asks for that (Completion).
void let_products_complete(Context& context);

/// The action of a statement of a kernel with products: its register tiles are checked first.
[[nodiscard]] Action guard_registers(Action action, const Preparation& preparation);

}  // namespace tilevm::sim
