// Faults of asynchronous products: operands or results touched while a product is in flight, stores
// that the async proxy may not see, waits and proxy fences that nothing needs.
//
// Whether a program has such a fault does not depend on when a product completes: a product is in
// flight from its issue to the wait that retires its group, and reads its operands all the time.
#pragma once

#include <vector>

#include "sim/access/product_plan.h"
#include "sim/checks/shared_races.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// Register tiles that an instruction reads and writes, with their names.
struct RegisterUse {
  Tile tile;
  std::string name;
  bool writes = false;
};

/// Whether a statement may touch its registers while products are in flight; false after a fault.
[[nodiscard]] bool check_registers(const std::vector<RegisterUse>& uses, std::string_view mnemonic,
                                   Span span, Context& context);

/// Whether a product may begin: on its registers, and on its operands in shared memory, which are
/// resolved. False after a fault.
[[nodiscard]] bool check_product(const ProductPlan& plan, bool accumulate, Context& context);
[[nodiscard]] bool check_operand(const ResolvedAccess& operand, Context& context);

/// Whether shared memory may be written while products are in flight; false after a fault.
[[nodiscard]] bool check_overwrites(const ResolvedAccess& resolved, Context& context);

/// Notes what a store of the generic proxy, or a copy that needs no fence, left in shared memory.
void note_generic_store(const ResolvedAccess& resolved, Context& context);
void note_async_store(const ResolvedAccess& resolved, Context& context);
/// A proxy fence runs; its number is in Plan::barriers.
void note_fence(std::uint32_t fence, Context& context);

/// A wait retires a product: the warps of the block have read its operands up to now.
void note_retired(const PendingProduct& product, std::uint32_t wait, Context& context);
/// A wait runs, which would have retired products that others retired before it.
void note_product_wait(std::uint64_t group, std::uint32_t wait, Context& context);

/// Whether the block, or the current group of warps, may end; false after a fault.
[[nodiscard]] bool check_all_retired(Context& context);

/// Whether the groups around the current one have no product in flight, whose threads count them
/// together with those of the current group. False after a fault.
[[nodiscard]] bool check_products_around(std::string_view mnemonic, Span span, Context& context);

/// Whether the registers of the current group's threads may belong to products in flight.
[[nodiscard]] bool has_products_around(const Context& context);

/// A product in flight of a group, of the commit group that will have number `segment` + 1; null if
/// all of that group are retired.
[[nodiscard]] const PendingProduct* find_group_product(std::uint16_t group, std::uint32_t segment,
                                                       const Context& context);
/// Adds notes to a fault: why such a product is in flight, and what to insert.
void explain_group_product(std::uint16_t group, std::uint32_t segment, Context& context);

}  // namespace tilevm::sim
