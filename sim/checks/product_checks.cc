#include "sim/checks/product_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/checks/granules.h"

namespace tilevm::sim {
namespace {

constexpr std::size_t most_unwaited = 1024;

bool overlap(const Tile& a, const Tile& b) {
  return a.offset < b.offset + b.bytes() && b.offset < a.offset + a.bytes();
}

/// How an access of registers meets a product in flight.
enum class Conflict : std::uint8_t { none, result, left };

Conflict conflict_of(const RegisterUse& use, const ProductPlan& plan) {
  if (overlap(use.tile, plan.result)) return Conflict::result;
  if (use.writes && !plan.a_shared && overlap(use.tile, plan.a)) return Conflict::left;
  return Conflict::none;
}

const GroupProducts& products_of(std::uint16_t group, const Context& context) {
  const BlockState& state = context.state;
  return group == state.group ? state.products : state.groups[group].products;
}

/// A product in flight, with the products of its group of warps.
struct InFlight {
  const PendingProduct* product = nullptr;
  const GroupProducts* group = nullptr;
};

/// The first product in flight for which `meets` holds, of the current group and of those around.
template <class Meets>
InFlight find_in_flight(const Context& context, Meets&& meets) {
  std::int32_t at = context.state.group;
  while (at >= 0) {
    const GroupProducts& group = products_of(static_cast<std::uint16_t>(at), context);
    for (const PendingProduct& product : group.pending) {
      if (meets(product)) return {&product, &group};
    }
    if (!context.settings.has_parties()) break;
    at = context.settings.groups->groups[static_cast<std::size_t>(at)].parent;
  }
  return {};
}

/// Says why a product is in flight and what to insert.
void explain_product(const PendingProduct& product, const GroupProducts& products, Context& context,
                     std::string_view where = "before this line") {
  const LastWait& wait = products.last_wait;
  Diagnostic& diagnostic = context.fault->diagnostic;
  add_note(diagnostic, "this product is in flight", product.plan->span);
  if (!product.committed) {
    add_note(diagnostic, fmt::format("no `DotAsyncCommitGroup()` follows it: insert one, then "
                                     "`DotAsyncWaitGroup(0)` {}",
                                     where));
  } else if (wait.groups >= product.group) {
    add_note(diagnostic,
             fmt::format("`DotAsyncWaitGroup({})` leaves its group in flight: wait for {}",
                         wait.pending, wait.groups - product.group),
             wait.span);
  } else {
    add_note(diagnostic, fmt::format("insert `DotAsyncWaitGroup({})` {}",
                                     products.groups - product.group, where));
  }
}

bool report_registers(const RegisterUse& use, Conflict conflict, const InFlight& found,
                      std::string_view mnemonic, Span span, Context& context) {
  const std::string what =
      conflict == Conflict::result
          ? fmt::format("`{}` {} `{}` while a product that adds to it is in flight", mnemonic,
                        use.writes ? "writes" : "reads", use.name)
          : fmt::format("`{}` writes `{}` while a product still reads it as its left matrix",
                        mnemonic, use.name);
  context.fail(Code::in_flight_access, span, what);
  explain_product(*found.product, *found.group, context);
  return false;
}

bool has_no_observer(const Context& context) {
  return context.settings.observers.needed == nullptr;
}

bool is_known_as_needed(std::uint32_t statement, const Context& context) {
  return context.settings.observers.needed[statement].load(std::memory_order_relaxed);
}

void mark_wait_needed(std::uint32_t statement, Context& context) {
  context.settings.observers.needed[statement].store(true, std::memory_order_relaxed);
  std::erase_if(context.state.products.unwaited,
                [&](const auto& each) { return each.statement == statement; });
}

/// Marks the waits without which a use would meet a product in flight.
template <class Meets>
void look_at_waits(Context& context, Meets&& meets) {
  auto& unwaited = context.state.products.unwaited;
  for (std::size_t i = 0; i < unwaited.size();) {
    if (meets(unwaited[i].product)) {
      mark_wait_needed(unwaited[i].statement, context);  // drops it, and others of that wait
      i = 0;
    } else {
      ++i;
    }
  }
}

/// The operands of a product in shared memory.
template <class F>
void for_each_operand(const PendingProduct& product, Context& context, F&& f) {
  const ProductPlan& plan = *product.plan;
  if (plan.a_shared) f(resolve_at(*plan.a_shared, product.a_origin, context));
  f(resolve_at(plan.b, product.b_origin, context));
}

/// A granule that both accesses touch.
std::optional<std::uint64_t> common_granule(const ResolvedAccess& one, const ResolvedAccess& other,
                                            const Context& context) {
  const GranuleRange near = granules_of(one, context), far = granules_of(other, context);
  if (near.end <= far.begin || far.end <= near.begin) return std::nullopt;
  const unsigned shift = context.settings.granule_shift;
  std::vector<bool> touched(far.end - far.begin);
  for (std::size_t t = 0; t < other.access->tile.threads; ++t) {
    static_cast<void>(
        for_each_granules(other, t, shift, [&](std::uint64_t begin, std::uint64_t end) {
          for (; begin < end; ++begin) touched[begin - far.begin] = true;
          return true;
        }));
  }
  std::optional<std::uint64_t> found;
  for (std::size_t t = 0; t < one.access->tile.threads && !found; ++t) {
    static_cast<void>(for_each_granules(one, t, shift, [&](std::uint64_t begin, std::uint64_t end) {
      for (begin = std::max(begin, far.begin); begin < std::min(end, far.end); ++begin) {
        if (touched[begin - far.begin]) {
          found = begin;
          return false;
        }
      }
      return true;
    }));
  }
  return found;
}

bool meets_product(const PendingProduct& product, const ResolvedAccess& resolved,
                   Context& context) {
  bool found = false;
  for_each_operand(product, context, [&](const ResolvedAccess& operand) {
    found = found || common_granule(resolved, operand, context).has_value();
  });
  return found;
}

bool report_overwrite(const ResolvedAccess& resolved, const PendingProduct& product,
                      Context& context) {
  const SharedAccess& access = *resolved.access;
  std::vector<bool> read;
  const std::uint64_t granules =
      context.state.shared.bytes.size() >> context.settings.granule_shift;
  read.resize(granules + 1);
  for_each_operand(product, context, [&](const ResolvedAccess& operand) {
    static_cast<void>(for_each_granules(operand, 0, context.settings.granule_shift,
                                        [&](std::uint64_t begin, std::uint64_t end) {
                                          for (; begin < end; ++begin) read[begin] = true;
                                          return true;
                                        }));
  });
  const auto found =
      find_elements(resolved, context.settings.granule_shift,
                    [&](std::size_t, std::uint64_t granule) { return read[granule]; });
  context.fail(Code::in_flight_access, access.span,
               fmt::format("`{}` writes {} while a product still reads them, first {}",
                           access.mnemonic, elements_text(found.count, access.tensor),
                           element_text(access.tensor, found.first)));
  if (access.parts->threads > 1) context.fault->thread = static_cast<std::int64_t>(found.thread);
  explain_product(product, context.state.products, context);
  add_note(context.fault->diagnostic,
           "each warp waits for its own part of a product: a `Synchronize()` must follow the wait "
           "before other warps, or copies, overwrite its operands");
  return false;
}

bool report_unfenced(const ResolvedAccess& operand, Context& context) {
  const SharedAccess& access = *operand.access;
  const AsyncProducts& products = context.state.products;
  const auto is_unfenced = [&](std::size_t, std::uint64_t granule) {
    const GenericStore& store = products.stores[granule];
    return store.statement != GenericStore::none && store.fences == products.fences;
  };
  const auto found = find_elements(operand, context.settings.granule_shift, is_unfenced);
  context.fail(Code::proxy_not_fenced, access.span,
               fmt::format("`{}` reads {} by the async proxy that another instruction stored, with "
                           "no `FenceProxy` in between, first {}",
                           access.mnemonic, elements_text(found.count, access.tensor),
                           element_text(access.tensor, found.first)));
  const MemoryStatement& partner =
      (*context.settings.memory_statements)[products.stores[found.detail].statement];
  add_note(context.fault->diagnostic, fmt::format("`{}` wrote them here", partner.mnemonic),
           partner.span);
  add_note(context.fault->diagnostic,
           "insert `FenceProxy()` between the two, such as right after the store and before the "
           "`Synchronize()`: a barrier orders loads and stores, but not what tensor cores read");
  return false;
}

}  // namespace

bool check_registers(const std::vector<RegisterUse>& uses, std::string_view mnemonic, Span span,
                     Context& context) {
  if (!context.settings.checks.in_flight) return true;
  for (const RegisterUse& use : uses) {
    const InFlight found = find_in_flight(context, [&](const PendingProduct& product) {
      return conflict_of(use, *product.plan) != Conflict::none;
    });
    if (found.product == nullptr) continue;
    return report_registers(use, conflict_of(use, *found.product->plan), found, mnemonic, span,
                            context);
  }
  if (context.state.products.unwaited.empty()) return true;
  look_at_waits(context, [&](const PendingProduct& product) {
    return std::ranges::any_of(uses, [&](const RegisterUse& use) {
      return conflict_of(use, *product.plan) != Conflict::none;
    });
  });
  return true;
}

/// A product may add to the result of one in flight if it is in place and the instructions have one
/// shape, which tensor cores do in order.
bool check_product(const ProductPlan& plan, bool accumulate, Context& context) {
  std::vector<RegisterUse> uses;
  if (!plan.a_shared) uses.push_back({plan.a, plan.a_name, false});
  if (accumulate && !plan.is_in_place()) uses.push_back({plan.c, plan.c_name, false});
  if (!check_registers(uses, plan.mnemonic, plan.span, context)) return false;
  if (!context.settings.checks.in_flight) return true;
  const RegisterUse result{plan.result, plan.result_name, true};
  const auto continues = [&](const ProductPlan& other) {
    return plan.is_in_place() && other.result.offset == plan.result.offset &&
           other.shape == plan.shape;
  };
  for (const PendingProduct& product : context.state.products.pending) {
    const Conflict conflict = conflict_of(result, *product.plan);
    if (conflict == Conflict::none) continue;
    if (conflict == Conflict::result && continues(*product.plan)) continue;
    return report_registers(result, conflict, {&product, &context.state.products}, plan.mnemonic,
                            plan.span, context);
  }
  look_at_waits(context, [&](const PendingProduct& product) {
    const Conflict conflict = conflict_of(result, *product.plan);
    return conflict != Conflict::none &&
           !(conflict == Conflict::result && continues(*product.plan));
  });
  return true;
}

bool check_operand(const ResolvedAccess& operand, Context& context) {
  AsyncProducts& products = context.state.products;
  if (products.stores.empty()) return true;
  bool is_fenced = true;
  bool needs_fence = false;
  static_cast<void>(for_each_granules(
      operand, 0, context.settings.granule_shift, [&](std::uint64_t begin, std::uint64_t end) {
        for (; begin < end; ++begin) {
          const GenericStore& store = products.stores[begin];
          if (store.statement == GenericStore::none) continue;
          if (store.fences == products.fences) {
            is_fenced = false;
            return false;
          }
          // Every fence since the store is one of the statement that ran last.
          needs_fence = needs_fence || store.fences + 1 >= products.run_begin;
        }
        return true;
      }));
  if (!is_fenced) return report_unfenced(operand, context);
  if (needs_fence && !has_no_observer(context)) {
    context.settings.observers.needed[products.last_fence].store(true, std::memory_order_relaxed);
  }
  return true;
}

bool check_overwrites(const ResolvedAccess& resolved, Context& context) {
  if (!context.settings.checks.in_flight) return true;
  for (const PendingProduct& product : context.state.products.pending) {
    if (meets_product(product, resolved, context))
      return report_overwrite(resolved, product, context);
  }
  if (context.state.products.unwaited.empty()) return true;
  look_at_waits(context, [&](const PendingProduct& product) {
    return meets_product(product, resolved, context);
  });
  return true;
}

namespace {

void note_store(const ResolvedAccess& resolved, const GenericStore& store, Context& context) {
  std::vector<GenericStore>& stores = context.state.products.stores;
  if (stores.empty()) return;
  for (std::size_t t = 0; t < resolved.access->tile.threads; ++t) {
    static_cast<void>(for_each_granules(resolved, t, context.settings.granule_shift,
                                        [&](std::uint64_t begin, std::uint64_t end) {
                                          for (; begin < end; ++begin) stores[begin] = store;
                                          return true;
                                        }));
  }
}

}  // namespace

void note_generic_store(const ResolvedAccess& resolved, Context& context) {
  note_store(resolved, {resolved.access->statement, context.state.products.fences}, context);
}

void note_async_store(const ResolvedAccess& resolved, Context& context) {
  note_store(resolved, {}, context);
}

void note_fence(std::uint32_t fence, Context& context) {
  AsyncProducts& products = context.state.products;
  ++products.fences;
  if (products.run_begin == 0 || products.last_fence != fence) products.run_begin = products.fences;
  products.last_fence = fence;
}

void note_retired(const PendingProduct& product, std::uint32_t wait, Context& context) {
  if (context.settings.has_parties()) return;  // complete_products tells the parties
  for_each_operand(product, context,
                   [&](const ResolvedAccess& operand) { note_product_read(operand, context); });
  if (has_no_observer(context) || is_known_as_needed(wait, context)) return;
  auto& unwaited = context.state.products.unwaited;
  unwaited.push_back({product, wait});
  if (unwaited.size() > most_unwaited) mark_wait_needed(wait, context);
}

void note_product_wait(std::uint64_t group, std::uint32_t wait, Context& context) {
  std::erase_if(context.state.products.unwaited, [&](const CounterfactualProduct& each) {
    return each.statement != wait && each.product.group <= group;
  });
}

bool check_all_retired(Context& context) {
  const AsyncProducts& products = context.state.products;
  if (products.pending.empty() || !context.settings.checks.in_flight) return true;
  const PendingProduct& product = products.pending.front();
  const PlannedGroup* const group =
      context.state.group == 0 ? nullptr : &context.settings.groups->groups[context.state.group];
  context.fail(
      Code::products_in_flight, product.plan->span,
      fmt::format("{} while the product that adds to `{}` is in flight",
                  group == nullptr ? "the block ends"
                                   : fmt::format("{} {}", group->name, group->verb("ends", "end")),
                  product.plan->result_name));
  explain_product(product, products, context,
                  group == nullptr ? "before the kernel ends" : "before the group ends");
  return false;
}

bool check_products_around(std::string_view mnemonic, Span span, Context& context) {
  if (!context.settings.has_parties() || !context.settings.checks.in_flight) return true;
  const auto& groups = context.settings.groups->groups;
  for (std::int32_t at = groups[context.state.group].parent; at >= 0;) {
    const auto number = static_cast<std::uint16_t>(at);
    const GroupProducts& products = products_of(number, context);
    if (!products.pending.empty()) {
      context.fail(Code::products_in_flight, span,
                   fmt::format("`{}` of {} while products of {}, which has its warps, are in "
                               "flight: each warp counts all of its products together",
                               mnemonic, groups[context.state.group].name, groups[number].name));
      explain_product(products.pending.front(), products, context, "before this group begins");
      return false;
    }
    at = groups[number].parent;
  }
  return true;
}

bool has_products_around(const Context& context) {
  return find_in_flight(context, [](const PendingProduct&) { return true; }).product != nullptr;
}

const PendingProduct* find_group_product(std::uint16_t group, std::uint32_t segment,
                                         const Context& context) {
  const GroupProducts& products = products_of(group, context);
  const auto found = std::ranges::find_if(products.pending, [&](const PendingProduct& product) {
    return (product.committed ? product.group - 1 : products.groups) == segment;
  });
  return found == products.pending.end() ? nullptr : &*found;
}

void explain_group_product(std::uint16_t group, std::uint32_t segment, Context& context) {
  const PendingProduct* const product = find_group_product(group, segment, context);
  if (product != nullptr) explain_product(*product, products_of(group, context), context);
}

}  // namespace tilevm::sim
