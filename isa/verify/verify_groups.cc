// More than 400 lines: one class has a short check for each rule of groups of warps.
#include "isa/verify/verify_groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isa/analysis/async_products.h"
#include "isa/analysis/operands.h"
#include "isa/inst/limits.h"
#include "isa/program/exchange.h"
#include "isa/program/group_name.h"

namespace tilevm::isa {
namespace {

constexpr std::int64_t warp_threads = 32;

class GroupFinder {
 public:
  GroupFinder(const Kernel& kernel, Diagnostics& diagnostics, KernelInfo& info)
      : kernel_(kernel), diagnostics_(diagnostics), info_(info) {}

  void run() {
    find_groups(kernel_.body, 0, 0);
    find_threads();
  }

 private:
  ThreadGroup& group(std::int32_t index) { return info_.groups[static_cast<std::size_t>(index)]; }

  Diagnostic& error(Code code, Span span, std::string message) {
    return diagnostics_.error(code, span, std::move(message));
  }

  /// Adds the groups of a block in the order of the text. Nested numbers of warps count from the
  /// group around.
  void find_groups(const Block& block, std::int32_t around, int depth) {
    for (const Stmt& stmt : block) {
      info_.group_of[stmt.id()] = around;
      if (const auto* fork = std::get_if<ForkStmt>(&stmt.node)) {
        add_groups(*fork, around, depth + 1);
      } else {
        for_each_block_of(stmt, [&](const Block& inner) { find_groups(inner, around, depth); });
      }
    }
  }

  void add_groups(const ForkStmt& fork, std::int32_t around, int depth) {
    if (depth == max_group_depth + 1) {
      error(Code::bad_group, fork.groups.front().span,
            fmt::format("groups of warps nest more than {} deep", max_group_depth));
    }
    for (std::size_t i = 0; i < fork.groups.size(); ++i) {
      const WarpGroup& part = fork.groups[i];
      const std::int64_t first =
          group(around).first_thread +
          std::clamp<std::int64_t>(part.first_warp, 0, max_threads) * warp_threads;
      const std::int64_t warps = std::clamp<std::int64_t>(part.warps, 1, max_threads);
      ThreadGroup made{.first_thread = first,
                       .threads = part.elects ? 1 : warps * warp_threads,
                       .elects = part.elects,
                       .parent = around,
                       .fork = fork.id,
                       .position = i,
                       .registers = part.registers,
                       .named_barrier = {},
                       .span = part.span};
      const auto index = static_cast<std::int32_t>(info_.groups.size());
      info_.groups.push_back(std::move(made));
      check_group(part, around);
      for (std::size_t j = 0; j < i; ++j) check_apart(fork.groups[j], part);
      if (depth <= max_group_depth) find_groups(part.body, index, depth);
    }
  }

  void check_group(const WarpGroup& part, std::int32_t around) {
    const ThreadGroup& outer = group(around);
    if (part.first_warp < 0 || part.warps < 1) {
      error(Code::bad_group, part.span, "a group has one warp at least, from warp 0 on");
    } else if (outer.elects) {
      error(Code::bad_group, part.span, "one thread has no groups of warps");
    } else if (around > 0 && part.first_warp + part.warps > outer.warps()) {
      error(Code::bad_group, part.span,
            fmt::format("warps {} to {} of a group of {} warps: numbers count from the group "
                        "around",
                        part.first_warp, part.first_warp + part.warps - 1, outer.warps()));
    }
  }

  void check_apart(const WarpGroup& a, const WarpGroup& b) {
    if (a.first_warp >= b.first_warp + b.warps || b.first_warp >= a.first_warp + a.warps) return;
    add_note(error(Code::bad_group, b.span, "groups that run at the same time share no warp"),
             "this group has some of its warps", a.span);
  }

  /// The block has the threads that its decorator says, or those of its tiles and groups.
  void find_threads() {
    std::optional<std::int64_t> threads = kernel_.threads;
    std::int64_t end = 1;
    for (std::size_t i = 1; i < info_.groups.size(); ++i) {
      const ThreadGroup& each = info_.groups[i];
      const std::int64_t last =
          each.elects ? each.first_thread + warp_threads : each.first_thread + each.threads;
      end = std::max(end, last);
    }
    find_tile_of_block(kernel_.body, threads);
    info_.num_threads = threads.value_or(end);
    group(0).threads = info_.num_threads;
    if (info_.groups.size() == 1 || end <= info_.num_threads) return;
    const auto outside =
        std::find_if(info_.groups.begin() + 1, info_.groups.end(), [&](const ThreadGroup& each) {
          return each.first_thread + each.threads > info_.num_threads;
        });
    const Span span = outside == info_.groups.end() ? kernel_.span : outside->span;
    error(Code::bad_group, span,
          fmt::format("groups reach warp {}, but the block has {} threads", end / warp_threads - 1,
                      info_.num_threads));
  }

  /// The thread count of the first tile that no group has.
  void find_tile_of_block(const Block& block, std::optional<std::int64_t>& threads) {
    for (const Stmt& stmt : block) {
      if (threads) return;
      if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
        for (const VarId result : inst->results) {
          const auto* tile = std::get_if<RegisterType>(&kernel_.variable(result).type);
          if (tile != nullptr && !threads) threads = tile->layout.num_threads();
        }
      }
      if (std::holds_alternative<ForkStmt>(stmt.node)) continue;
      for_each_block_of(stmt, [&](const Block& inner) { find_tile_of_block(inner, threads); });
    }
  }

  const Kernel& kernel_;
  Diagnostics& diagnostics_;
  KernelInfo& info_;
};

class GroupVerifier {
 public:
  GroupVerifier(const Kernel& kernel, const Target& target, Diagnostics& diagnostics,
                KernelInfo& info)
      : kernel_(kernel),
        target_(target),
        diagnostics_(diagnostics),
        info_(info),
        declared_in_(kernel.variables.size(), 0) {}

  void run() {
    check_block(kernel_.body, 0);
    if (!info_.has_groups()) return;
    if (info_.num_threads % warp_threads != 0) {
      error(Code::bad_group, kernel_.span,
            fmt::format("a kernel with groups of warps has whole warps; this one has {} threads",
                        info_.num_threads));
    }
    name_barriers();
    check_registers();
  }

 private:
  ThreadGroup& group(std::int32_t index) { return info_.groups[static_cast<std::size_t>(index)]; }

  Diagnostic& error(Code code, Span span, std::string message) {
    return diagnostics_.error(code, span, std::move(message));
  }

  // --- What groups may do ---

  void check_block(const Block& block, std::int32_t at) {
    for (const Stmt& stmt : block) {
      if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) check_instruction(*inst, at, stmt);
      if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) {
        check_written(scalar->target, scalar->declares, at, stmt.span);
      }
      if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
        declared_in_[static_cast<std::size_t>(loop->var.index)] = at;
      }
      if (const auto* fork = std::get_if<ForkStmt>(&stmt.node)) {
        check_groups_of(*fork);
      } else {
        for_each_block_of(stmt, [&](const Block& inner) { check_block(inner, at); });
      }
    }
  }

  /// Tensor cores work for whole warp groups, which multiply, commit and wait together.
  void check_product(const InstStmt& stmt, std::int32_t at, Span span) {
    if (!is_of_async_products(stmt.inst)) return;
    const ThreadGroup& here = group(at);
    constexpr std::int64_t whole = warp_group_warps * warp_threads;
    if (here.first_thread % whole == 0 && here.threads % whole == 0) return;
    const std::string own = at == 0 ? fmt::format("the block has {} threads", here.threads)
                                    : fmt::format("this one is for {}", name_of(here));
    auto& diagnostic = error(Code::misplaced, span,
                             fmt::format("`{}` is for whole warp groups of {} warps, and {}",
                                         description(stmt.inst).mnemonic, warp_group_warps, own));
    suggest_warp_groups(at, diagnostic);
  }

  /// The whole warp groups that are nearest to a group.
  void suggest_warp_groups(std::int32_t at, Diagnostic& diagnostic) {
    const auto whole = [](std::int64_t warps) {
      return warps / warp_group_warps * warp_group_warps;
    };
    const ThreadGroup& here = group(at);
    if (at == 0) {
      add_note(diagnostic,
               here.warps() < warp_group_warps
                   ? fmt::format("give the block a multiple of {} threads",
                                 warp_group_warps * warp_threads)
                   : fmt::format("let a part of the block multiply: `with warps(0, {}):`",
                                 whole(here.warps())));
      return;
    }
    const std::int64_t around = group(here.parent).first_warp();
    const std::int64_t begin = whole(here.first_warp() + warp_group_warps - 1) - around;
    const std::int64_t warps = whole(here.warps() + warp_group_warps - 1);
    add_note(
        diagnostic,
        fmt::format("a warp group begins at a warp of the block that is a multiple of {}: `with "
                    "warps({}, {}):` is one",
                    warp_group_warps, begin, begin + warps),
        here.span);
  }

  void check_groups_of(const ForkStmt& fork) {
    for (std::size_t i = 1; i < info_.groups.size(); ++i) {
      const ThreadGroup& each = info_.groups[i];
      if (each.fork == fork.id) {
        check_block(fork.groups[each.position].body, static_cast<std::int32_t>(i));
      }
    }
  }

  void check_written(VarId var, bool declares, std::int32_t at, Span span) {
    std::int32_t& declared = declared_in_[static_cast<std::size_t>(var.index)];
    if (declares) declared = at;
    if (declared == at) return;
    const Variable& variable = kernel_.variable(var);
    add_note(error(Code::bad_group, span,
                   fmt::format("`{}` belongs to the group around, and this group has a part of its "
                               "threads: it would have another value in the others",
                               variable.name)),
             "a group writes what it declares itself; groups tell one another by shared memory",
             variable.span);
  }

  void check_instruction(const InstStmt& stmt, std::int32_t at, const Stmt& around) {
    for (const VarId result : stmt.results) {
      check_written(result, stmt.declares, at, around.span);
      check_threads(result, at, around.span);
    }
    for_each_register_operand(stmt.inst, [&](VarId tile) { check_threads(tile, at, around.span); });
    const Description& what = description(stmt.inst);
    check_barriers(stmt, at, around.span);
    check_product(stmt, at, around.span);
    if (at == 0) return;
    if (what.orders_blocks() || std::holds_alternative<Exit>(stmt.inst)) {
      add_note(
          error(Code::misplaced, around.span,
                fmt::format("`{}` is for the whole block and stands outside of groups of warps",
                            what.mnemonic)),
          "the group is here", group(at).span);
    }
    if (std::holds_alternative<Print>(stmt.inst)) {
      error(Code::misplaced, around.span,
            "`Print` stands outside of groups of warps; `tilevm debug` shows the tiles of a group");
    }
    const bool names_barrier = std::holds_alternative<SyncNamedBarrier>(stmt.inst) ||
                               std::holds_alternative<ArriveNamedBarrier>(stmt.inst);
    if (group(at).elects && (what.is_barrier() || names_barrier)) {
      error(Code::misplaced, around.span,
            fmt::format("`{}` is for whole warps, and one thread is here", what.mnemonic));
    }
  }

  /// A tile is spread over the threads of its group.
  void check_threads(VarId var, std::int32_t at, Span span) {
    const auto* tile = std::get_if<RegisterType>(&kernel_.variable(var).type);
    if (tile == nullptr || !info_.has_groups()) return;
    const std::int64_t own = tile->layout.num_threads(), wanted = group(at).threads;
    if (own == wanted) return;
    auto& diagnostic =
        error(Code::thread_count_mismatch, span,
              fmt::format("the layout of `{}` is spread over {} thread{}, but {} {} {}",
                          kernel_.variable(var).name, own, own == 1 ? "" : "s", name_of(group(at)),
                          at != 0 && group(at).warps() > 1 && !group(at).elects ? "have" : "has",
                          wanted));
    if (wanted > own && wanted % own == 0) {
      add_note(diagnostic, fmt::format("`replicated({}) * {}` lets all threads hold it",
                                       wanted / own, to_string(tile->layout)));
    }
  }

  // --- Barriers ---

  void check_barriers(const InstStmt& stmt, std::int32_t at, Span span) {
    const bool exchanges = exchange_bytes(stmt, kernel_) > 0;
    if (description(stmt.inst).is_barrier() || exchanges) synchronizes_[at] = span;
    if (const auto* sync = std::get_if<SyncNamedBarrier>(&stmt.inst))
      take(sync->id, sync->warps, span);
    if (const auto* arrive = std::get_if<ArriveNamedBarrier>(&stmt.inst)) {
      take(arrive->id, arrive->warps, span);
    }
  }

  void take(const ScalarOperand& id, const ScalarOperand& warps, Span span) {
    const auto number = static_cast<std::size_t>(id.value.constant_int().value_or(0));
    if (number < taken_.size()) taken_[number] = true;
    const std::int64_t count = warps.value.constant_int().value_or(1);
    if (count * warp_threads <=
        (info_.num_threads + warp_threads - 1) / warp_threads * warp_threads)
      return;
    error(Code::bad_group, span,
          fmt::format("{} warps for a named barrier of a block of {}", count,
                      info_.num_threads / warp_threads));
  }

  /// `Synchronize` of a group takes the next named barrier that the program does not name.
  void name_barriers() {
    std::size_t next = 1;
    for (const auto& [at, span] : synchronizes_) {
      if (at == 0) continue;
      while (next < taken_.size() && taken_[next]) ++next;
      if (next == taken_.size()) {
        error(Code::bad_group, span,
              fmt::format("a block has {} named barriers, and this is one group too many that "
                          "synchronizes: barrier 0 is that of the block",
                          named_barriers));
        return;
      }
      group(at).named_barrier = static_cast<std::int64_t>(next++);
    }
  }

  // --- Registers ---

  /// What a thread gets at the launch: the pool of a multiprocessor shared by its blocks, in steps.
  [[nodiscard]] std::int64_t allocation() const {
    const std::int64_t threads = std::max<std::int64_t>(1, info_.num_threads) * kernel_.resident;
    const std::int64_t share = std::min(max_registers / threads, max_thread_registers);
    return share / register_step * register_step;
  }

  void check_registers() {
    const bool any =
        std::any_of(info_.groups.begin(), info_.groups.end(),
                    [](const ThreadGroup& each) { return each.registers.has_value(); });
    if (!any) return;
    info_.launch_registers = allocation();
    for (std::size_t i = 1; i < info_.groups.size(); ++i) {
      if (info_.groups[i].registers) check_registers_of(info_.groups[i]);
    }
    std::vector<StmtId> forks;
    for (const ThreadGroup& each : info_.groups) {
      if (each.registers && std::find(forks.begin(), forks.end(), each.fork) == forks.end()) {
        forks.push_back(each.fork);
        check_sum(each.fork);
      }
    }
  }

  void check_registers_of(const ThreadGroup& each) {
    const std::int64_t wanted = *each.registers;
    if (!has_suffix(compile_target(target_))) {
      error(
          Code::not_supported, each.span,
          fmt::format("`registers=` needs setmaxnreg, which sm_90a has, and of later targets those "
                      "with a suffix, such as sm_120a; the target is {}: take one of those, or "
                      "leave it out",
                      to_string(target_)));
    }
    if (wanted < min_group_registers || wanted > max_group_registers ||
        wanted % register_step != 0) {
      error(Code::registers_do_not_fit, each.span,
            fmt::format("`registers={}`: a group takes a multiple of {} from {} to {}", wanted,
                        register_step, min_group_registers, max_group_registers));
    }
    if (each.elects || each.first_warp() % warp_group_warps != 0 ||
        each.warps() % warp_group_warps != 0) {
      error(Code::registers_do_not_fit, each.span,
            fmt::format("registers are given to whole warp groups of {} warps (setmaxnreg); this "
                        "group is {}",
                        warp_group_warps, name_of(each)));
    }
    if (each.parent != 0) {
      error(Code::registers_do_not_fit, each.span,
            "registers are given to groups of the block, not to groups inside of a group");
    }
  }

  /// All groups of a fork run at the same time; warps without a number keep what they have.
  void check_sum(StmtId fork) {
    const std::int64_t pool = info_.launch_registers * info_.num_threads;
    std::int64_t sum = 0, counted = 0;
    const ThreadGroup* last = nullptr;
    std::string parts;
    for (const ThreadGroup& each : info_.groups) {
      if (each.fork != fork || each.parent != 0) continue;
      const std::int64_t own = each.registers.value_or(info_.launch_registers);
      const std::int64_t threads = each.elects ? warp_threads : each.threads;
      sum += own * threads;
      counted += threads;
      if (each.registers) last = &each;
      parts += fmt::format("{}{} x {}", parts.empty() ? "" : " + ", threads, own);
    }
    const std::int64_t rest = std::max<std::int64_t>(0, info_.num_threads - counted);
    if (rest > 0) parts += fmt::format(" + {} x {}", rest, info_.launch_registers);
    sum += rest * info_.launch_registers;
    if (sum <= pool || last == nullptr) return;
    add_note(
        error(Code::registers_do_not_fit, last->span,
              fmt::format("the groups take {} = {} registers, but the launch allocates {} x {} "
                          "= {}: a group would wait for registers for ever",
                          parts, sum, info_.num_threads, info_.launch_registers, pool)),
        fmt::format("a thread of the launch has {} registers: {} of a multiprocessor, shared "
                    "by {} threads, in steps of {}",
                    info_.launch_registers, max_registers, info_.num_threads * kernel_.resident,
                    register_step));
  }

  const Kernel& kernel_;
  const Target& target_;
  Diagnostics& diagnostics_;
  KernelInfo& info_;
  std::vector<std::int32_t> declared_in_;      ///< group that declares a variable
  std::map<std::int32_t, Span> synchronizes_;  ///< groups with a Synchronize
  std::array<bool, named_barriers> taken_{};   ///< named barriers that the program names
};

}  // namespace

void find_groups(const Kernel& kernel, Diagnostics& diagnostics, KernelInfo& info) {
  GroupFinder(kernel, diagnostics, info).run();
}

void check_groups(const Kernel& kernel, const Target& target, Diagnostics& diagnostics,
                  KernelInfo& info) {
  GroupVerifier(kernel, target, diagnostics, info).run();
}

}  // namespace tilevm::isa
