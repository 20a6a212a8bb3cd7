// More than 400 lines: one class, with a short check for each kind of statement and declaration.
#include "isa/verify/verify.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isa/access/access_planner.h"
#include "isa/analysis/kernel_scan.h"
#include "isa/analysis/operands.h"
#include "isa/analysis/print_sites.h"
#include "isa/analysis/shared_plan.h"
#include "isa/analysis/statements.h"
#include "isa/base/check.h"
#include "isa/dot/dot_product.h"
#include "isa/inst/limits.h"
#include "isa/program/tile_move.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"
#include "isa/verify/verify_cluster.h"
#include "isa/verify/verify_groups.h"
#include "isa/verify/verify_pipeline.h"
#include "isa/verify/verify_tensor_copies.h"

namespace tilevm::isa {
namespace {

/// Walks one kernel; what is wrong goes to the diagnostics, what is learned to `info`.
class KernelVerifier {
 public:
  KernelVerifier(const Kernel& kernel, const Target& target, Diagnostics& diagnostics,
                 KernelInfo& info)
      : kernel_(kernel),
        target_(target),
        diagnostics_(diagnostics),
        info_(info),
        declared_(kernel.variables.size(), false),
        used_(kernel.variables.size(), false) {}

  void run() {
    for (const VarId parameter : kernel_.parameters) declare(parameter, kernel_.span);
    check_grid();
    check_block(kernel_.body);
    for (KernelInfo::Workspace& workspace : info_.workspaces) {
      workspace.zeroed = workspace.zeroed && used_[at(workspace.var)];
    }
    check_threads();
    if (types_hold_) check_groups(kernel_, target_, diagnostics_, info_);
    check_cluster(kernel_, target_, info_, diagnostics_);
    if (types_hold_) check_tensor_copies(kernel_, diagnostics_, info_);
    check_shared_size();
  }

 private:
  std::size_t at(VarId var) const {
    TILEVM_CHECK(var.valid() && static_cast<std::size_t>(var.index) < declared_.size(),
                 "a variable that the kernel does not have");
    return static_cast<std::size_t>(var.index);
  }

  void declare(VarId var, Span span) {
    if (declared_[at(var)]) {
      diagnostics_.error(Code::duplicate_name, span,
                         fmt::format("`{}` is declared twice", kernel_.variable(var).name));
    }
    declared_[at(var)] = true;
    scope_.push_back(var);
  }

  void use(VarId var, Span span) {
    if (declared_[at(var)]) return;
    diagnostics_.error(
        Code::unknown_name, span,
        fmt::format("`{}` is used where it does not exist", kernel_.variable(var).name));
  }

  void use(const Expr& expr, Span span) {
    for_each_variable(expr, [&](VarId var) {
      use(var, span);
      TILEVM_CHECK(std::holds_alternative<ScalarType>(kernel_.variable(var).type),
                   "an expression of a variable that is not a scalar");
    });
  }

  void check_grid() {
    if (kernel_.grid.empty() || kernel_.grid.size() > 3) {
      diagnostics_.error(
          Code::bad_grid, kernel_.span,
          fmt::format("a grid has 1 to 3 extents, this one {}", kernel_.grid.size()));
    }
    for (std::size_t d = 0; d < kernel_.grid.size(); ++d) {
      const Expr& extent = kernel_.grid[d];
      use(extent, extent.span());
      const auto value = extent.constant_int();
      if (!is_integer(extent.kind())) {
        diagnostics_.error(Code::bad_grid, extent.span(), "grid extents are integers");
      } else if (extent.is_constant() && (!value || *value < 1)) {
        diagnostics_.error(Code::bad_grid, extent.span(),
                           fmt::format("grid extent is {}; it must be at least 1",
                                       to_string(*extent.constant_value())));
      } else if (value && d < max_grid_extents.size() && *value > max_grid_extents[d]) {
        diagnostics_.error(Code::bad_grid, extent.span(),
                           fmt::format("grid extent {} is {}; it must be at most {}", d, *value,
                                       max_grid_extents[d]));
      }
    }
  }

  /// All register tiles have one thread count, unless groups of warps have tiles of their own
  /// (verify_groups.h).
  void check_threads() {
    if (!info_.has_groups()) check_tile_threads();
    info_.groups.front().threads = info_.num_threads;
    if (info_.num_threads < 1 || info_.num_threads > max_threads) {
      diagnostics_.error(
          Code::too_many_threads, kernel_.span,
          fmt::format("{} threads; a block has 1 to {}", info_.num_threads, max_threads));
      return;
    }
    if (kernel_.resident < 1 || kernel_.resident > max_resident_threads / info_.num_threads) {
      diagnostics_.error(
          Code::too_many_threads, kernel_.span,
          fmt::format("`@resident({})` of {} threads; a multiprocessor has room for {} threads",
                      kernel_.resident, info_.num_threads, max_resident_threads));
    }
  }

  void check_tile_threads() {
    const Variable* first = nullptr;
    std::optional<std::int64_t> threads = kernel_.threads;
    for (const Variable& variable : kernel_.variables) {
      const auto* type = std::get_if<RegisterType>(&variable.type);
      if (type == nullptr) continue;
      const std::int64_t own = type->layout.num_threads();
      if (!threads) threads = own;
      if (first == nullptr && own == *threads) first = &variable;
      if (own == *threads) continue;
      auto& diagnostic = diagnostics_.error(
          Code::thread_count_mismatch, variable.span,
          fmt::format("the layout of `{}` is spread over {} threads, but the kernel has {}",
                      variable.name, own, *threads));
      if (first != nullptr) {
        add_note(diagnostic, fmt::format("`{}` is spread over {} threads", first->name, *threads),
                 first->span);
      }
      if (*threads > own && *threads % own == 0) {
        add_note(diagnostic, fmt::format("`replicated({}) * {}` lets all threads hold it",
                                         *threads / own, to_string(type->layout)));
      }
    }
    info_.num_threads = threads.value_or(1);
  }

  void check_block(const Block& block) {
    const std::size_t outer = scope_.size();
    ++depth_;
    for (const Stmt& stmt : block) {
      std::visit([&](const auto& node) { check(node, stmt.span); }, stmt.node);
    }
    --depth_;
    while (scope_.size() > outer) {
      declared_[at(scope_.back())] = false;
      scope_.pop_back();
    }
  }

  void check(const InstStmt& stmt, Span span) {
    check_place(stmt, span);
    const bool operands_exist = check_uses(stmt, span);
    types_hold_ = types_hold_ && operands_exist;
    if (!operands_exist) return;
    RuleContext context(kernel_, target_, diagnostics_, span, stmt.slot_spans);
    if (stmt.results.size() == 1) {
      context.expected = std::get_if<RegisterType>(&kernel_.variable(stmt.results[0]).type);
    }
    const auto types = infer(stmt.inst, context);
    types_hold_ = types_hold_ && types.has_value();
    if (!types) return;
    check_results(stmt, *types, span);
    types_hold_ = types_hold_ && have_types(stmt, *types);
    check_shared_tile(stmt, context);
    info_.dot_plans[stmt.id] = plan_product(
        stmt.inst, [&](VarId var) -> const Type& { return kernel_.variable(var).type; }, target_);
    if (info_.dot_plans[stmt.id]) align_operands(stmt);
  }

  /// Tensors that descriptors name are at multiples of the period of their swizzle.
  void align_operands(const InstStmt& stmt) {
    const ProductOperands operands = *product_operands(stmt.inst);
    const DotPlan& plan = *info_.dot_plans[stmt.id];
    for (auto& tile : info_.shared) {
      if (plan.a_shared && tile.var == operands.left) {
        tile.alignment = std::max(tile.alignment, plan.a_shared->alignment());
      }
      if (plan.b_shared && tile.var == operands.right) {
        tile.alignment = std::max(tile.alignment, plan.b_shared->alignment());
      }
    }
  }

  /// A tile in shared memory must fit its tensor. What constants exclude is not part of the kernel,
  /// and may have tiles that do not.
  void check_shared_tile(const InstStmt& stmt, const RuleContext& context) {
    const std::optional<TileMove> move = tile_move(stmt);
    const auto* registers = move ? std::get_if<RegisterMove>(&*move) : nullptr;
    if (registers == nullptr) return;
    const auto* tensor = std::get_if<SharedType>(&kernel_.variable(registers->tensor).type);
    const auto* tile = std::get_if<RegisterType>(&kernel_.variable(registers->tile).type);
    if (tensor == nullptr || tile == nullptr) return;
    const Shape extents = tile->shape(), room = tensor->shape();
    const auto placement = place_tile(
        registers->offset, static_cast<int>(room.size()), static_cast<int>(extents.size()),
        registers->indexed ? std::optional(registers->indexed->dim) : std::nullopt);
    for (std::size_t d = 0; d < placement.dimensions.size(); ++d) {
      const int along = placement.dimensions[d].tile_dim;
      if (along < 0 || extents[static_cast<std::size_t>(along)] <= room[d]) continue;
      add_note(
          context.error(
              Code::shape_mismatch,
              fmt::format("a tile of shape {} never fits the shared tensor of shape {}: it has "
                          "{} elements along dimension {}, the tensor {}",
                          to_string(extents), to_string(room),
                          extents[static_cast<std::size_t>(along)], d, room[d])),
          "nothing outside of a shared tensor is masked; make the tensor larger, or take a "
          "smaller tile");
      return;
    }
  }

  void check_place(const InstStmt& stmt, Span span) {
    if (!description(stmt.inst).in_kernel) {
      diagnostics_.error(Code::misplaced, span,
                         fmt::format("`{}` cannot stand in a kernel", mnemonic(stmt.inst)));
    }
    const auto* workspace = std::get_if<AllocateGlobal>(&stmt.inst);
    const bool allocates = workspace != nullptr ||
                           std::holds_alternative<AllocateShared>(stmt.inst) ||
                           description(stmt.inst).result == ResultKind::barrier;
    if (!allocates || stmt.results.size() != 1) return;
    if (depth_ > 1) {
      diagnostics_.error(
          Code::misplaced, span,
          fmt::format("`{}` in a kernel must stand outside of loops{}: the launch "
                      "provides the memory",
                      mnemonic(stmt.inst),
                      info_.has_groups() ? ", branches and groups of warps" : " and branches"));
    }
    const Type& type = kernel_.variable(stmt.results[0]).type;
    const auto* view = std::get_if<GlobalType>(&type);
    if (workspace != nullptr && view != nullptr) {
      info_.workspaces.push_back(
          {stmt.results[0], storage_bytes(*view), workspace->init.has_value()});
    }
    const auto* shared = std::get_if<SharedType>(&type);
    if (shared != nullptr && stmt.declares) add_shared(stmt.results[0], *shared, span);
    if (const auto* barrier = std::get_if<BarrierType>(&type)) add_barrier(stmt, *barrier, span);
  }

  void add_barrier(const InstStmt& stmt, const BarrierType& type, Span span) {
    if (!stmt.declares) {
      diagnostics_.error(Code::duplicate_name, span,
                         fmt::format("`{}` is a barrier already, and another one would take its "
                                     "name; give each barrier its own",
                                     kernel_.variable(stmt.results[0]).name));
      return;
    }
    info_.barriers.push_back(
        {stmt.results[0], type.arrivals, type.stages, info_.barrier_stages, stmt.id});
    const std::int64_t before = info_.barrier_stages;
    info_.barrier_stages += type.stages;
    if (before <= max_barrier_stages && info_.barrier_stages > max_barrier_stages) {
      diagnostics_.error(Code::program_too_large, span,
                         fmt::format("the barriers of `{}` have more than {} stages", kernel_.name,
                                     max_barrier_stages));
    }
  }

  /// Gives a shared tensor the next free offset.
  void add_shared(VarId var, const SharedType& type, Span span) {
    constexpr std::int64_t enough = std::int64_t{1} << 60, alignment = KernelInfo::shared_alignment;
    const std::int64_t bytes = (type.layout.storage_size() * type.dtype.bits + 7) / 8;
    info_.shared.push_back({var, info_.shared_bytes, bytes});
    shared_spans_.push_back(span);
    const std::int64_t before = std::exchange(
        shared_elements_, std::min(enough, shared_elements_ + element_count(type.shape())));
    if (before <= max_shared_elements && shared_elements_ > max_shared_elements) {
      diagnostics_.error(Code::program_too_large, span,
                         fmt::format("the shared tensors of `{}` have more than {} elements",
                                     kernel_.name, max_shared_elements));
    }
    if (info_.shared.size() == max_shared_tensors + 1) {
      diagnostics_.error(Code::program_too_large, span,
                         fmt::format("`{}` has more than {} shared tensors; one tensor with one "
                                     "more dimension can hold several",
                                     kernel_.name, max_shared_tensors));
    }
    info_.shared_bytes =
        std::min(enough, info_.shared_bytes + (bytes + alignment - 1) / alignment * alignment);
  }

  void check_shared_size() {
    if (info_.shared.size() > max_shared_tensors) return;
    const std::int64_t limit = max_shared_bytes(target_);
    place_shared_tensors(kernel_, info_);
    if (types_hold_) place_exchanges(kernel_, limit, info_);
    if (info_.shared_footprint <= limit) return;
    if (info_.exchange_bytes > 0) return report_exchanges(limit);
    const auto outside = std::find_if(
        info_.shared.begin(), info_.shared.end(),
        [&](const KernelInfo::SharedTile& tile) { return tile.gpu_offset + tile.bytes > limit; });
    const bool one_ends_outside = outside != info_.shared.end();  // false: only padding does
    auto& diagnostic = diagnostics_.error(
        Code::shared_memory_too_large,
        one_ends_outside ? shared_spans_[static_cast<std::size_t>(outside - info_.shared.begin())]
                         : shared_spans_.back(),
        fmt::format("the shared tensors of `{}` take {} bytes; {} gives a block {}, which is {} "
                    "less",
                    kernel_.name, info_.shared_footprint, to_string(target_), limit,
                    info_.shared_footprint - limit));
    constexpr std::size_t shown = 8;
    for (std::size_t i = 0; i < std::min(shown, info_.shared.size()); ++i) {
      const Variable& variable = kernel_.variable(info_.shared[i].var);
      add_note(diagnostic, fmt::format("`{}` takes {} bytes", variable.name, info_.shared[i].bytes),
               variable.span);
    }
  }

  void report_exchanges(std::int64_t limit) {
    add_note(diagnostics_.error(
                 Code::shared_memory_too_large, kernel_.span,
                 fmt::format("the shared tensors of `{}` and what its threads exchange take {} "
                             "bytes; {} gives a block {}, which is {} less",
                             kernel_.name, info_.shared_footprint, to_string(target_), limit,
                             info_.shared_footprint - limit)),
             fmt::format("the largest exchange between its threads takes 2 x {} bytes; fewer "
                         "threads along the dimensions of a `Reduce` exchange less",
                         info_.exchange_bytes));
  }

  /// Bytes that a workspace of constant extents and strides needs.
  static std::int64_t storage_bytes(const GlobalType& type) {
    std::int64_t elements = 1;
    if (const MemoryLayout* layout = type.layout.memory_layout()) {
      elements = layout->storage_size();
    } else {
      for (std::size_t d = 0; d < type.extents.size(); ++d) {
        elements += (type.extents[d].constant_int().value_or(1) - 1) *
                    (*type.layout.strides())[d].constant_int().value_or(1);
      }
    }
    return (elements * type.dtype.bits + 7) / 8;
  }

  bool check_uses(const InstStmt& stmt, Span span) {
    bool ok = true;
    for_each_entry_of(stmt.inst, [&](const SlotEntry&, std::size_t position, const auto& slot) {
      Span operand = span;
      if (position < stmt.slot_spans.size() && stmt.slot_spans[position] != Span{}) {
        operand = stmt.slot_spans[position];
      }
      for_each_variable(slot, [&](VarId var) {
        use(var, operand);
        used_[at(var)] = true;
        ok = ok && declared_[at(var)];
      });
    });
    return ok;
  }

  void check_results(const InstStmt& stmt, const std::vector<Type>& types, Span span) {
    if (types.size() != stmt.results.size()) {
      diagnostics_.error(Code::result_count, span,
                         fmt::format("`{}` gives {} results, {} are taken", mnemonic(stmt.inst),
                                     types.size(), stmt.results.size()));
      return;
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      const VarId result = stmt.results[i];
      if (stmt.declares) {
        declare(result, span);
      } else {
        use(result, span);
      }
      const Variable& variable = kernel_.variable(result);
      if (variable.type == types[i]) continue;
      diagnostics_.error(Code::out_type_mismatch, span,
                         fmt::format("`{}` gives {}, but `{}` is {}", mnemonic(stmt.inst),
                                     to_string(types[i]), variable.name, to_string(variable.type)));
    }
  }

  [[nodiscard]] bool have_types(const InstStmt& stmt, const std::vector<Type>& types) const {
    return std::equal(
        types.begin(), types.end(), stmt.results.begin(), stmt.results.end(),
        [&](const Type& type, VarId result) { return kernel_.variable(result).type == type; });
  }

  void check(const ScalarStmt& stmt, Span span) {
    use(stmt.value, span);
    if (stmt.declares) {
      declare(stmt.target, span);
    } else {
      use(stmt.target, span);
    }
    const Variable& variable = kernel_.variable(stmt.target);
    if (variable.type == Type{ScalarType{stmt.value.kind()}}) return;
    diagnostics_.error(Code::scalar_type, span,
                       fmt::format("`{}` is {}, the value {}", variable.name,
                                   to_string(variable.type), to_string(stmt.value.kind())));
  }

  void check(const ForStmt& loop, Span span) {
    for (const Expr* expr : {&loop.begin, &loop.end, &loop.step}) {
      use(*expr, span);
      if (variable_kind(loop.var) != expr->kind() || !is_integer(expr->kind())) {
        diagnostics_.error(Code::scalar_type, span, "a range is made of integers of one kind");
      }
    }
    if (loop.step.constant_int() == std::int64_t{0}) {
      diagnostics_.error(Code::misplaced, span, "a range with step 0 never ends");
    }
    check_unroll(loop, span);
    const std::size_t outer = scope_.size();
    declare(loop.var, span);
    ++loops_;
    const std::int64_t copies =
        std::exchange(copies_, copies_ * std::max<std::int64_t>(1, loop.unroll));
    check_block(loop.body);
    copies_ = copies;
    --loops_;
    declared_[at(loop.var)] = false;
    scope_.resize(outer);
  }

  /// Limits the unrolled size of a program, so that the time of compiling it is bounded.
  void check_unroll(const ForStmt& loop, Span span) {
    constexpr std::int64_t most_copies = 256;
    if (loop.unroll < 0) {
      diagnostics_.error(
          Code::misplaced, span,
          "`unroll` is the number of iterations in a row, 1 or more; 0 leaves it to the compiler");
    } else if (loop.unroll > most_copies / copies_) {
      diagnostics_.error(
          Code::misplaced, span,
          fmt::format(
              "`unroll={}`{} makes too many copies of the loop's body; at most {} are allowed",
              loop.unroll, copies_ > 1 ? fmt::format(" in {} of the outer loop", copies_) : "",
              most_copies));
    }
  }

  ScalarKind variable_kind(VarId var) const {
    const auto* type = std::get_if<ScalarType>(&kernel_.variable(var).type);
    return type != nullptr ? type->kind : ScalarKind::f32;
  }

  void check_condition(const Expr& condition, Span span) {
    use(condition, span);
    if (condition.kind() == ScalarKind::boolean) return;
    diagnostics_.error(Code::scalar_type, span, "a condition is a bool");
  }

  void check(const WhileStmt& loop, Span span) {
    check_condition(loop.condition, span);
    ++loops_;
    check_block(loop.body);
    --loops_;
  }

  void check(const IfStmt& branch, Span span) {
    for (const IfStmt::Arm& arm : branch.arms) {
      check_condition(arm.condition, span);
      check_block(arm.body);
    }
    check_block(branch.otherwise);
  }

  /// A loop around a group is none of the group's.
  void check(const ForkStmt& fork, Span) {
    const int around = std::exchange(loops_, 0);
    for (const WarpGroup& group : fork.groups) check_block(group.body);
    loops_ = around;
  }

  void check(const BreakStmt&, Span span) { check_in_loop("break", span); }
  void check(const ContinueStmt&, Span span) { check_in_loop("continue", span); }
  void check_in_loop(std::string_view word, Span span) {
    if (loops_ > 0) return;
    diagnostics_.error(Code::misplaced, span, fmt::format("`{}` stands outside of a loop", word));
  }

  const Kernel& kernel_;
  const Target& target_;
  Diagnostics& diagnostics_;
  KernelInfo& info_;
  std::vector<bool> declared_, used_;
  std::vector<VarId> scope_;
  std::vector<Span> shared_spans_;  // of the statements, parallel to info_.shared
  std::int64_t shared_elements_ = 0;
  bool types_hold_ = true;  ///< every instruction passed its type rule so far
  int depth_ = 0;
  int loops_ = 0;
  std::int64_t copies_ = 1;  ///< number of copies that `unroll` of the loops around makes
};

void plan_accesses(const Kernel& kernel, const Target& target, KernelInfo& info) {
  const AccessPlanner planner(kernel, info, target);
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    if (auto plan = planner.plan(*inst)) {
      info.access_plans[inst->id] = std::make_shared<const AccessPlan>(*std::move(plan));
    }
  });
}

/// Room for what is learned of each statement.
void number(Kernel& kernel, KernelInfo& info) {
  const std::size_t statements = number_statements(kernel);
  info.reuse_barriers = StmtSet(statements);
  info.print_sites = StmtMap<std::uint32_t>(statements);
  info.dot_plans = StmtMap<std::shared_ptr<const DotPlan>>(statements);
  info.access_plans = StmtMap<std::shared_ptr<const AccessPlan>>(statements);
  info.group_of = StmtMap<std::int32_t>(statements);
}

}  // namespace

std::optional<VerifiedProgram> verify(Program program, const Target& target,
                                      Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.error_count();
  auto state = std::make_shared<VerifiedProgram::State>();
  state->program = std::move(program);
  state->target = target;
  for (Kernel& kernel : state->program.kernels) {
    KernelInfo& info = state->infos.emplace_back();
    number(kernel, info);
    find_groups(kernel, diagnostics, info);
    KernelVerifier(kernel, target, diagnostics, info).run();
    state->uses.push_back(scan_pointers(kernel));
  }
  for (const Pipeline& pipeline : state->program.pipelines) {
    verify_pipeline(state->program, pipeline, state->uses, diagnostics);
  }
  if (diagnostics.error_count() > errors_before) return std::nullopt;
  for (std::size_t i = 0; i < state->infos.size(); ++i) {
    KernelInfo& info = state->infos[i];
    info.prints = find_print_sites(state->program.kernels[i], *state->program.source);
    for (std::uint32_t p = 0; p < info.prints.size(); ++p) {
      info.print_sites[info.prints[p].stmt->id] = p;
    }
    plan_accesses(state->program.kernels[i], target, info);
  }
  return VerifiedProgram(std::move(state));
}

}  // namespace tilevm::isa
