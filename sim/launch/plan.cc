// More than 400 lines: one builder, with a function for each kind of statement.
#include "sim/launch/plan.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "isa/analysis/address_terms.h"
#include "isa/analysis/async_products.h"
#include "isa/analysis/combinations.h"
#include "isa/analysis/operands.h"
#include "isa/analysis/statements.h"
#include "isa/analysis/warp_groups.h"
#include "isa/inst/limits.h"
#include "isa/program/group_name.h"
#include "isa/rules/tensor_map.h"
#include "isa/type/bits.h"
#include "sim/exec/semantics.h"
#include "sim/flight/async_product.h"
#include "sim/launch/launch.h"
#include "sim/state/shadow_values.h"

namespace tilevm::sim {
namespace {

/// log2 of the shared granule in bytes: the largest power of two that no access of a shared tensor
/// splits. Shared tensors begin at multiples of 16.
unsigned granule_shift(const isa::Kernel& kernel, const isa::KernelInfo& info) {
  unsigned bits = 64;
  for (const auto& tile : info.shared) {
    bits |= std::get_if<isa::SharedType>(&kernel.variable(tile.var).type)->dtype.bits;
  }
  const auto shift = static_cast<unsigned>(std::countr_zero(bits));
  return shift > 3 ? shift - 3 : 0;
}

/// log2 of the global granule in bits: the largest power of two that no element of a view splits.
unsigned global_granule_shift(const isa::Kernel& kernel) {
  unsigned bits = 64;
  for (const isa::Variable& variable : kernel.variables) {
    if (const auto* view = std::get_if<isa::GlobalType>(&variable.type)) bits |= view->dtype.bits;
  }
  return static_cast<unsigned>(std::countr_zero(bits));
}

/// Sets the bits of a shared tensor's elements; bits between elements belong to no element.
void mark_elements(const isa::SharedType& type, std::size_t first_bit,
                   std::vector<std::uint8_t>& bits) {
  const std::int64_t count = isa::element_count(type.layout.shape());
  const auto mark = [&](std::int64_t offset, std::size_t elements) {
    std::size_t bit = first_bit + static_cast<std::size_t>(offset) * type.dtype.bits;
    for (std::size_t left = elements * type.dtype.bits; left > 0;) {
      const auto n = static_cast<unsigned>(std::min<std::size_t>(left, 64));
      isa::put_bits(bits.data(), bit, n, ~std::uint64_t{0});
      bit += n;
      left -= n;
    }
  };
  if (type.layout.storage_size() == count) return mark(0, static_cast<std::size_t>(count));
  for (std::int64_t x = 0; x < count; ++x) {
    mark(type.layout.offset(isa::unravel(x, type.layout.shape())), 1);
  }
}

SharedContents unwritten_contents(const isa::Kernel& kernel, const isa::KernelInfo& info) {
  SharedContents contents;
  contents.undefined.resize(static_cast<std::size_t>(info.shared_bytes), 0);
  for (const auto& tile : info.shared) {
    const auto begin = static_cast<std::size_t>(tile.offset);
    contents.unwritten.push_back({begin, begin + static_cast<std::size_t>(tile.bytes)});
    mark_elements(*std::get_if<isa::SharedType>(&kernel.variable(tile.var).type), begin * 8,
                  contents.undefined);
  }
  return contents;
}

/// The groups of a block of a cluster.
void add_groups(const isa::KernelInfo& info, std::uint32_t block, GroupsPlan& plan) {
  const std::int64_t first_thread = block * info.num_threads;
  for (const isa::ThreadGroup& group : info.groups) {
    const bool is_block = group.parent < 0;
    const std::string name = is_block && plan.blocks > 1
                                 ? fmt::format("block {} of the cluster", block)
                                 : isa::name_of(group) + plan.suffix_of(block);
    plan.groups.push_back({{static_cast<std::uint32_t>(first_thread + group.first_thread),
                            static_cast<std::uint32_t>(group.threads)},
                           group.elects,
                           is_block ? -1
                                    : static_cast<std::int32_t>(plan.group_of(
                                          block, static_cast<std::size_t>(group.parent))),
                           name,
                           group.span});
  }
}

/// The stages of barriers and the named barriers of a block of a cluster.
void add_objects(const isa::Kernel& kernel, const isa::KernelInfo& info, std::uint32_t block,
                 GroupsPlan& plan) {
  for (const isa::KernelInfo::Barrier& barrier : info.barriers) {
    const isa::Variable& variable = kernel.variable(barrier.var);
    for (std::int64_t stage = 0; stage < barrier.stages; ++stage) {
      const std::string of_stage = barrier.stages > 1 ? fmt::format(" stage {}", stage) : "";
      plan.objects.push_back(
          {fmt::format("`{}`{}{}", variable.name, of_stage, plan.suffix_of(block)),
           static_cast<std::uint32_t>(barrier.arrivals), variable.span});
    }
  }
  for (std::int64_t id = 0; id < isa::named_barriers; ++id) {
    plan.objects.push_back({fmt::format("named barrier {}{}", id, plan.suffix_of(block)), 0, {}});
  }
}

GroupsPlan plan_groups(const isa::Kernel& kernel, const isa::KernelInfo& info) {
  GroupsPlan plan;
  plan.active = isa::tells_warps_apart(kernel);
  std::copy(kernel.cluster.begin(), kernel.cluster.end(), plan.cluster.begin());
  plan.blocks = static_cast<std::uint32_t>(kernel.cluster_blocks());
  if (!plan.active) return plan;
  isa::for_each_statement(kernel.body, [&](const isa::Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    if (inst != nullptr && isa::tensor_copy(inst->inst)) plan.has_tensor_copies = true;
  });
  plan.block_groups = info.groups.size();
  plan.first_named = static_cast<std::size_t>(info.barrier_stages);
  plan.block_objects = plan.first_named + static_cast<std::size_t>(isa::named_barriers);
  for (std::uint32_t block = 0; block < plan.blocks; ++block) {
    add_groups(info, block, plan);
    add_objects(kernel, info, block, plan);
  }
  if (kernel.cluster.empty()) return plan;
  const std::int64_t all = plan.blocks * info.num_threads;
  plan.objects.push_back({"the barrier of the cluster", static_cast<std::uint32_t>(all), {}});
  return plan;
}

class PlanBuilder {
 public:
  PlanBuilder(const isa::VerifiedProgram& program, int kernel, const PlanExtras& extras)
      : program_(program),
        index_(kernel),
        kernel_(program.kernel(kernel)),
        info_(program.info(kernel)),
        registers_(kernel_) {
    plan_.scalar_slots = plan_.view_slots = kernel_.variables.size();
    plan_.register_bytes = registers_.bytes();
    plan_.shared_bytes = static_cast<std::size_t>(info_.shared_bytes);
    plan_.granule_shift = granule_shift(kernel_, info_);
    plan_.has_products = isa::first_async_product(kernel_) != nullptr;
    plan_.shared_contents = unwritten_contents(kernel_, info_);
    plan_.threads = info_.num_threads;
    plan_.global_granule_shift = global_granule_shift(kernel_);
    plan_.counts_accesses = extras.count_accesses;
    plan_.keeps_shadow = extras.keep_shadow;
    plan_.one_by_one = isa::find_unordered_sum(kernel_).has_value() ||
                       isa::combines_differently(kernel_) ||
                       (plan_.keeps_shadow && isa::combines_in_memory(kernel_));
    plan_.groups = plan_groups(kernel_, info_);
    keeps_flows_ = extras.keep_flows;
    wrapping_ = extras.wrapping;
    follows_padding_ = extras.follow_padding;
    if (wrapping_ == Wrapping::found) addresses_ = isa::address_variables(kernel_);
    probes_ = extras.probes;
    if (!plan_.keeps_shadow) return;
    plan_.shadow_registers = registers_.shadow_count();
    plan_.shadow_shared = shared_shadow(kernel_, info_, info_.shared.size());
  }

  Plan build() && {
    add_block(kernel_.body);
    if (probes_ != nullptr) plan_.probes.resize(here());
    plan_.table_count = table_count_.tables;
    plan_.shared_table_count = table_count_.shared_tables;
    plan_.indexed_table_count = table_count_.indexed_tables;
    plan_.table_bytes = table_count_.bytes;
    return std::move(plan_);
  }

 private:
  /// A loop while its body is being flattened: where `continue` goes, and the jumps of `break`.
  struct Loop {
    std::size_t head;
    std::vector<std::size_t> breaks;
    Span span;
  };

  [[nodiscard]] std::size_t here() const { return plan_.records.size(); }

  std::size_t add(PlanOp record, Span span) {
    record.span = span;
    record.statement = statement_;
    if (!loops_.empty()) record.loop = loops_.back().span;
    plan_.records.push_back(std::move(record));
    return here() - 1;
  }
  std::size_t add_jump(std::size_t target, Span span) {
    return add({.kind = PlanOp::Kind::jump, .target = target}, span);
  }
  std::size_t add_branch(const isa::Expr& condition, Span span) {
    return add({.kind = PlanOp::Kind::branch, .values = {ScalarCode(condition)}}, span);
  }
  void jump_here(std::size_t record) { plan_.records[record].target = here(); }

  void add_block(const isa::Block& block) {
    for (const isa::Stmt& stmt : block) {
      statement_ = stmt.id();
      std::visit([&](const auto& node) { add_statement(node, stmt.span); }, stmt.node);
    }
  }

  void add_statement(const isa::InstStmt& stmt, Span span) {
    const Preparation preparation{program_,       kernel_,      info_,
                                  registers_,     stmt,         span,
                                  tables_,        table_count_, plan_.memory_statements,
                                  plan_.barriers, wrapping_,    follows_padding_};
    Semantics semantics = semantics_of(preparation, plan_.keeps_shadow);
    if (plan_.has_products) {
      semantics.action = guard_registers(std::move(semantics.action), preparation);
    }
    plan_.barrier_records.resize(plan_.barriers.size(), here());
    PlanOp record{.kind = PlanOp::Kind::instruction,
                  .action = std::move(semantics.action),
                  .undefined = std::move(semantics.undefined),
                  .instruction = stmt.inst.index(),
                  .orders_blocks = isa::description(stmt.inst).orders_blocks(),
                  .orders_groups = isa::description(stmt.inst).orders_groups(),
                  .mnemonic = isa::mnemonic(stmt.inst),
                  .written = written(stmt.results),
                  .shadow = std::move(semantics.shadow)};
    if (keeps_flows_) record.flow = data_flow_of(preparation);
    plan_.orders_blocks |= record.orders_blocks;
    if (branches_ > 0 && std::holds_alternative<isa::CopyAsyncCommitGroup>(stmt.inst)) {
      plan_.conditional_commits.push_back(span);
    }
    if (plan_.counts_accesses) {
      record.meter = make_meter(program_, index_, stmt, tables_, registers_, here());
      record.mma = count_mma(program_, index_, stmt);
      record.special_functions = count_special_functions(program_, index_, stmt);
    }
    const std::size_t number = add(std::move(record), span);
    if (probes_ == nullptr) return;
    StatementProbe probe = probe_of(stmt.id, isa::probed_results(stmt));
    if (probe.mode != isa::ProbeMode::none) {
      probe.memory = make_memory_probe(program_, index_, stmt, registers_, tables_);
      isa::for_each_register_operand(stmt.inst, [&](isa::VarId operand) {
        const auto& type = *std::get_if<isa::RegisterType>(&kernel_.variable(operand).type);
        probe.operands.push_back({true, make_tile(type, registers_.offset(operand))});
      });
    }
    set_probe(number, std::move(probe));
  }

  /// The value of a variable, which addresses may be made of.
  [[nodiscard]] ScalarCode address_code(isa::VarId var, const isa::Expr& value) const {
    const bool is_address = !addresses_.empty() && addresses_[static_cast<std::size_t>(var.index)];
    return ScalarCode(value, is_address ? Wrapping::found : Wrapping::allowed);
  }

  void set_probe(std::size_t record, StatementProbe probe) {
    if (probes_ == nullptr) return;
    plan_.probes.resize(record + 1);
    plan_.probes[record] = std::move(probe);
  }

  /// The probe of a statement that writes these variables.
  [[nodiscard]] StatementProbe probe_of(isa::StmtId id, std::span<const isa::VarId> results) const {
    return probes_ == nullptr ? StatementProbe{} : probe_of(id, (*probes_)[id], results);
  }
  [[nodiscard]] StatementProbe probe_of(isa::StmtId id, isa::ProbeMode mode,
                                        std::span<const isa::VarId> results) const {
    StatementProbe probe;
    probe.mode = mode;
    probe.statement = static_cast<std::uint32_t>(id.index);
    if (probe.mode == isa::ProbeMode::none) return probe;
    for (const isa::VarId result : results) {
      const isa::Type& type = kernel_.variable(result).type;
      ProbedVariable variable;
      variable.slot = static_cast<std::size_t>(result.index);
      if (const auto* tile = std::get_if<isa::RegisterType>(&type)) {
        variable.is_tile = true;
        variable.tile = make_tile(*tile, registers_.offset(result));
        if (tile->dtype == isa::tf32) variable.significant = 0xffffe000;
      } else if (!std::holds_alternative<isa::ScalarType>(type)) {
        continue;
      }
      probe.results.push_back(variable);
    }
    return probe;
  }

  [[nodiscard]] std::vector<TracedVariable> written(const std::vector<isa::VarId>& results) const {
    std::vector<TracedVariable> variables;
    for (const isa::VarId result : results) add_traced(kernel_, registers_, result, variables);
    return variables;
  }

  void add_statement(const isa::ScalarStmt& stmt, Span span) {
    const std::size_t number = add({.kind = PlanOp::Kind::assign,
                                    .slot = static_cast<std::size_t>(stmt.target.index),
                                    .values = {address_code(stmt.target, stmt.value)},
                                    .written = written({stmt.target})},
                                   span);
    set_probe(number, probe_of(stmt.id, {&stmt.target, 1}));
  }

  void add_statement(const isa::ForStmt& stmt, Span span) {
    const std::size_t counter = plan_.scalar_slots;
    plan_.scalar_slots += 3;
    loops_.push_back({here() + 1, {}, span});
    add({.kind = PlanOp::Kind::loop_enter,
         .counter = counter,
         .scalar_kind = stmt.begin.kind(),
         .values = {address_code(stmt.var, stmt.begin), ScalarCode(stmt.end),
                    ScalarCode(stmt.step)}},
        span);
    const std::size_t next = add({.kind = PlanOp::Kind::loop_next,
                                  .slot = static_cast<std::size_t>(stmt.var.index),
                                  .counter = counter,
                                  .scalar_kind = stmt.begin.kind(),
                                  .written = written({stmt.var})},
                                 span);
    set_probe(next, probe_of(stmt.id, {&stmt.var, 1}));
    add_block(stmt.body);
    add_jump(next, span);
    jump_here(next);
    end_loop(stmt.id, span);
  }

  void add_statement(const isa::WhileStmt& stmt, Span span) {
    loops_.push_back({here(), {}, span});
    const std::size_t exit = add_branch(stmt.condition, span);
    set_probe(exit, probe_of(stmt.id, {}));
    add_block(stmt.body);
    add_jump(loops_.back().head, span);
    jump_here(exit);
    end_loop(stmt.id, span);
  }

  void end_loop(isa::StmtId loop, Span span) {
    for (const std::size_t jump : loops_.back().breaks) jump_here(jump);
    loops_.pop_back();
    if (probes_ == nullptr) return;
    probes_->for_each_after(loop, [&](isa::StmtId statement) {
      const isa::InstStmt& stmt = *isa::Statements(kernel_).instruction(statement);
      const std::size_t record = add_jump(here() + 1, span);  // it does nothing but to be probed
      set_probe(record, probe_of(statement, isa::ProbeMode::records, isa::probed_results(stmt)));
    });
  }

  void add_statement(const isa::IfStmt& stmt, Span span) {
    std::vector<std::size_t> ends;
    ++branches_;
    for (const isa::IfStmt::Arm& arm : stmt.arms) {
      statement_ = stmt.id;
      const std::size_t otherwise = add_branch(arm.condition, span);
      add_block(arm.body);
      ends.push_back(add_jump(0, span));
      jump_here(otherwise);
    }
    add_block(stmt.otherwise);
    --branches_;
    for (const std::size_t end : ends) jump_here(end);
  }

  /// The parts of all groups follow one another; each ends with a record of its own.
  void add_statement(const isa::ForkStmt& stmt, Span span) {
    const std::size_t fork = add({.kind = PlanOp::Kind::fork}, span);
    for (std::size_t i = 0; i < info_.groups.size(); ++i) {
      const isa::ThreadGroup& group = info_.groups[i];
      if (i == 0 || group.fork != stmt.id) continue;
      plan_.records[fork].groups.push_back({static_cast<std::uint16_t>(i), here()});
      add_block(stmt.groups[group.position].body);
      statement_ = stmt.id;
      add({.kind = PlanOp::Kind::group_end}, group.span);
    }
    jump_here(fork);
  }

  void add_statement(const isa::BreakStmt&, Span span) {
    loops_.back().breaks.push_back(add_jump(0, span));
  }
  void add_statement(const isa::ContinueStmt&, Span span) { add_jump(loops_.back().head, span); }

  const isa::VerifiedProgram& program_;
  int index_;
  const isa::Kernel& kernel_;
  const isa::KernelInfo& info_;
  RegisterFile registers_;
  SharedTables tables_;
  TableCount table_count_;
  Plan plan_;
  std::vector<Loop> loops_;
  isa::StmtId statement_;  // being flattened
  bool keeps_flows_ = false;
  Wrapping wrapping_ = Wrapping::allowed;
  bool follows_padding_ = false;
  /// Whether a variable is an address; empty if addresses may wrap around.
  std::vector<bool> addresses_;
  int branches_ = 0;  ///< number of branches around the statement
  const isa::ProbePlan* probes_ = nullptr;
};

}  // namespace

Plan build_plan(const isa::VerifiedProgram& program, int kernel, const PlanExtras& extras) {
  return PlanBuilder(program, kernel, extras).build();
}

RunSettings run_settings(const Options& options, const Plan& plan) {
  Checks checks = options.checks;
  if (checks.uninitialized) checks.padding = false;  // a run follows one of the two
  return {.checks = checks,
          .completion = options.completion,
          .max_steps = options.max_steps,
          .stop = options.progress != nullptr ? &options.progress->stop : &never_stops,
          .memory_statements = &plan.memory_statements,
          .granule_shift = plan.granule_shift,
          .global_granule_shift = plan.global_granule_shift,
          .threads = plan.threads,
          .groups = &plan.groups,
          .group_schedule = options.group_schedule,
          .conditional_commits = &plan.conditional_commits};
}

Status check_size(const Plan& plan, const isa::Kernel& kernel) {
  const std::size_t bytes = plan.register_bytes + plan.table_bytes;
  if (bytes > max_block_bytes) {
    return Error{ErrorKind::limit,
                 fmt::format("the register tiles of kernel `{}` and their index tables take {} "
                             "bytes a block; the simulator's limit is {}",
                             kernel.name, bytes, max_block_bytes)};
  }
  const std::size_t shadow = (plan.shadow_registers + plan.shadow_shared) * sizeof(double);
  if (shadow > max_block_shadow_bytes) {
    return Error{ErrorKind::limit,
                 fmt::format("the shadow values of kernel `{}` take {} bytes a block; the limit is "
                             "{}",
                             kernel.name, shadow, max_block_shadow_bytes)};
  }
  return Done{};
}

}  // namespace tilevm::sim
