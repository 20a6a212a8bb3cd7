#include "sim/flight/async_product.h"

#include <algorithm>
#include <utility>

#include "isa/analysis/operands.h"
#include "isa/inst/product.h"
#include "sim/checks/group_races.h"
#include "sim/checks/product_checks.h"
#include "sim/checks/shared_checks.h"
#include "sim/state/random_draw.h"

namespace tilevm::sim {
namespace {

/// Products in flight, at most; then the oldest complete, as they may at any time.
constexpr std::size_t max_pending = std::size_t{1} << 16;

/// Bytes of shared memory as a tile that one thread holds.
const std::uint8_t* read_operand(const ResolvedAccess& operand, std::vector<std::uint8_t>& buffer,
                                 Context& context) {
  constexpr std::size_t slack = 16;  // gathers may read past the end
  buffer.resize(operand.access->tile.bytes() + slack);
  read_shared(operand, context.state.shared.bytes.data(), buffer.data());
  return buffer.data();
}

/// Reads the operands as they are now and writes the result.
void complete(PendingProduct& product, Context& context) {
  if (product.complete) return;
  const ProductPlan& plan = *product.plan;
  const std::uint8_t* a = context.state.registers.at(plan.a.offset);
  if (plan.a_shared) {
    a = read_operand(resolve_at(*plan.a_shared, product.a_origin, context),
                     context.scratch.product_a, context);
  }
  const std::uint8_t* const b = read_operand(resolve_at(plan.b, product.b_origin, context),
                                             context.scratch.product_b, context);
  plan.multiply(context, a, b, product.accumulate);
  product.complete = true;
}

bool completes_at_once(const Context& context) {
  // Shadow values and probes look at the result where the statement ends.
  return context.settings.completion.time == Completion::Time::earliest ||
         context.state.shadow.kept || context.settings.observers.probes != nullptr;
}

}  // namespace

bool issue_product(const ProductPlan& plan, Context& context) {
  PendingProduct product;
  product.plan = &plan;
  std::uint64_t accumulate = 1;
  if (!plan.always_adds && !context.evaluate(plan.accumulate, accumulate)) return false;
  product.accumulate = accumulate != 0;
  if (!check_products_around(plan.mnemonic, plan.span, context)) return false;
  if (!check_product(plan, product.accumulate, context)) return false;
  ResolvedAccess operand;
  if (plan.a_shared) {
    if (!resolve(*plan.a_shared, context, operand)) return false;
    if (!check_shared_access(operand, SharedUse::product, context)) return false;
    product.a_origin = operand.origin;
  }
  if (!resolve(plan.b, context, operand)) return false;
  if (!check_shared_access(operand, SharedUse::product, context)) return false;
  product.b_origin = operand.origin;
  std::vector<PendingProduct>& pending = context.state.products.pending;
  pending.push_back(std::move(product));
  if (completes_at_once(context)) complete(pending.back(), context);
  if (pending.size() > max_pending) {
    complete(pending.front(), context);
    pending.erase(pending.begin());
  }
  return true;
}

bool commit_products(std::string_view mnemonic, Span span, Context& context) {
  if (!check_products_around(mnemonic, span, context)) return false;
  AsyncProducts& products = context.state.products;
  ++products.groups;
  for (PendingProduct& product : products.pending) {
    if (product.committed) continue;
    product.committed = true;
    product.group = products.groups;
  }
  return true;
}

bool wait_for_products(std::uint64_t pending, const ProductWaitSite& site, Context& context) {
  if (!check_products_around(site.mnemonic, site.span, context)) return false;
  AsyncProducts& products = context.state.products;
  products.last_wait = {site.span, pending, products.groups};
  if (products.groups < pending) return true;
  const std::uint64_t last = products.groups - pending;
  note_product_wait(last, site.number, context);
  std::erase_if(products.pending, [&](PendingProduct& product) {
    if (!product.committed || product.group > last) return false;
    complete(product, context);
    note_retired(product, site.number, context);
    return true;
  });
  if (context.settings.has_parties()) complete_products(last, context.state);
  return true;
}

void let_products_complete(Context& context) {
  if (context.settings.completion.time != Completion::Time::random) return;
  for (PendingProduct& product : context.state.products.pending) {
    if (product.complete) continue;
    if (next_random(context) % 2 != 0) return;  // the tensor cores work in order
    complete(product, context);
  }
}

Action guard_registers(Action action, const Preparation& preparation) {
  if (isa::product_operands(preparation.stmt.inst) &&
      isa::product_operands(preparation.stmt.inst)->is_asynchronous()) {
    return action;  // which looks at its own registers
  }
  std::vector<RegisterUse> uses;
  isa::for_each_register_operand(preparation.stmt.inst, [&](isa::VarId var) {
    uses.push_back({preparation.tile(var), preparation.name(var), false});
  });
  for (const isa::VarId var : preparation.stmt.results) {
    if (!std::holds_alternative<isa::RegisterType>(preparation.variable(var).type)) continue;
    uses.push_back({preparation.tile(var), preparation.name(var), true});
  }
  if (uses.empty()) return action;
  return [action = std::move(action), uses = std::move(uses), mnemonic = preparation.mnemonic(),
          span = preparation.span](Context& context) {
    const AsyncProducts& products = context.state.products;
    const bool is_idle = products.unwaited.empty() && !has_products_around(context);
    if (!is_idle && !check_registers(uses, mnemonic, span, context)) return false;
    return action(context);
  };
}

}  // namespace tilevm::sim
