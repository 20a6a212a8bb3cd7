// Asynchronous products in flight: issued, committed to groups, retired by waits.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/access/product_plan.h"
#include "sim/state/preparation.h"

namespace tilevm::sim {

/// A DotAsyncWaitGroup of the text.
struct ProductWaitSite {
  std::string_view mnemonic;
  Span span{};
  std::uint32_t number = 0;  ///< index in Plan::barriers
};

/// Begins a product; false after a fault.
[[nodiscard]] bool issue_product(const ProductPlan& plan, Context& context);
/// Makes a group of the products since the last commit. False after a fault: products of a group
/// of warps around are in flight.
[[nodiscard]] bool commit_products(std::string_view mnemonic, Span span, Context& context);
/// Retires all but the latest `pending` groups. False after a fault, as above.
[[nodiscard]] bool wait_for_products(std::uint64_t pending, const ProductWaitSite& site,
                                     Context& context);
/// Completes products at random, in order, if the run asks for that (Completion).
void let_products_complete(Context& context);

/// The action of a statement of a kernel with products: its register tiles are checked first.
[[nodiscard]] Action guard_registers(Action action, const Preparation& preparation);

}  // namespace tilevm::sim
