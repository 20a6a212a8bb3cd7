#include "backend/emit/emit_kernel.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/emit_mma.h"
#include "backend/emit/emit_scalar.h"
#include "isa/base/check.h"

namespace tilevm::backend {
namespace {

using isa::Expr;
using isa::VarId;

/// Whether a statement of the block gives the variable a new value.
bool writes(const isa::Block& block, VarId var) {
  bool found = false;
  isa::for_each_statement(block, [&](const isa::Stmt& stmt) {
    if (const auto* scalar = std::get_if<isa::ScalarStmt>(&stmt.node)) {
      found = found || scalar->target == var;
    } else if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
      for (const VarId result : inst->results) found = found || result == var;
    }
  });
  return found;
}

/// Steps of one never pass the end of a range, so they never overflow.
bool steps_by_one(const Expr& step) {
  return step.constant_int() == std::int64_t{1} || step.constant_int() == std::int64_t{-1};
}

/// Small constant ranges stay clear of overflow, too.
bool is_small_range(const isa::ForStmt& loop) {
  constexpr std::int64_t small = 1 << 30;
  for (const Expr* expr : {&loop.begin, &loop.end, &loop.step}) {
    const auto value = expr->constant_int();
    if (!value || *value <= -small || *value >= small) return false;
  }
  return loop.begin.kind() != isa::ScalarKind::u32 && loop.begin.kind() != isa::ScalarKind::u64;
}

/// Turns of loops that make it worth while to keep an address for them.
constexpr std::int64_t many_turns = 8;

/// How often the body runs, as far as it is known.
std::int64_t turns_of(const isa::ForStmt& loop) {
  if (!is_small_range(loop)) return many_turns;
  const std::int64_t span = *loop.end.constant_int() - *loop.begin.constant_int();
  const std::int64_t step = *loop.step.constant_int();
  return std::max<std::int64_t>(1, (span + step + (step > 0 ? -1 : 1)) / step);
}

bool counts_down(const Expr& step) {
  const auto value = step.constant_value();
  const bool is_signed =
      value && (value->kind == isa::ScalarKind::i32 || value->kind == isa::ScalarKind::i64);
  return is_signed && value->as_int() < 0;
}

}  // namespace

std::int64_t tile_words(const isa::RegisterType& type) {
  return std::max<std::int64_t>(1, (type.bits_per_thread() + 31) / 32);
}

KernelEmission::KernelEmission(const isa::VerifiedProgram& program, int kernel, NameTable& entries,
                               CodeWriter& writer, UsedDefinitions& used)
    : out(writer),
      program_(program),
      kernel_(program.kernel(kernel)),
      used_(used),
      chains_(program, kernel),
      adjustments_(program, kernel, chains_),
      bulk_copies_(program, kernel),
      gates_(find_gates(kernel_, bulk_copies_)) {
  result_.kernel = kernel;
  result_.entry = entries.unique(kernel_.name + "_kernel");
  result_.threads = program.info(kernel).num_threads;
  result_.shared_bytes = program.info(kernel).shared_footprint;
  result_.barrier_bytes = bulk_copies_.groups() * barrier_bytes;
  name_variables();
  add_parameters();
}

void KernelEmission::name_variables() {
  for (const isa::Variable& variable : kernel_.variables) {
    names_.push_back(locals_.unique(variable.name));
  }
  for (const auto& workspace : program_.info(result_.kernel).workspaces) {
    workspaces_.push_back(locals_.unique(kernel_.variable(workspace.var).name + "_memory"));
  }
}

void KernelEmission::add_parameters() {
  for (const VarId var : kernel_.parameters) {
    CudaParameter parameter{CudaParameter::Role::pointer, var, {}, 0};
    if (const auto* scalar = std::get_if<isa::ScalarType>(&kernel_.variable(var).type)) {
      parameter.role = CudaParameter::Role::scalar;
      parameter.scalar = scalar->kind;
    }
    result_.parameters.push_back(parameter);
  }
  for (const auto& workspace : program_.info(result_.kernel).workspaces) {
    result_.parameters.push_back(
        {CudaParameter::Role::workspace, workspace.var, {}, workspace.bytes, workspace.zeroed});
  }
  if (!info().prints.empty()) {
    result_.parameters.push_back({CudaParameter::Role::prints, {}, {}, 0});
  }
}

std::string KernelEmission::parameter_name(const CudaParameter& parameter) const {
  if (parameter.role == CudaParameter::Role::prints) return "prints_";
  const bool hidden = parameter.role == CudaParameter::Role::workspace;
  return hidden ? workspace(parameter.var) : name(parameter.var);
}

std::string KernelEmission::signature() const {
  std::string parameters;
  for (const CudaParameter& parameter : result_.parameters) {
    const bool scalar = parameter.role == CudaParameter::Role::scalar;
    parameters +=
        fmt::format("{}{} {}", parameters.empty() ? "" : ", ",
                    scalar ? scalar_type(parameter.scalar) : "tv::u8*", parameter_name(parameter));
  }
  const std::string resident = kernel_.resident > 1 ? fmt::format(", {}", kernel_.resident) : "";
  return fmt::format("TV_KERNEL({}{}) {}({})", result_.threads, resident, result_.entry,
                     parameters);
}

std::string KernelEmission::scalar(const Expr& expr) const {
  return scalar_text(expr, [&](VarId var) { return name(var); });
}

std::string KernelEmission::condition(const Expr& expr) const {
  const std::string text = scalar(expr);
  const bool enclosed = std::holds_alternative<Expr::Binary>(expr.node()) && text.starts_with('(');
  return enclosed ? text : fmt::format("({})", text);
}

std::string KernelEmission::index(const Expr& expr) const {
  return index_text(expr, [&](VarId var) { return name(var); });
}

std::string KernelEmission::short_index(const Expr& expr) const {
  const auto value = expr.constant_int();
  if (value && *value >= 0 && *value < 1 << 30) return fmt::format("{}", *value);
  return fmt::format("tv::short_index({})", scalar(expr));
}

std::string KernelEmission::element_type(const isa::DType& dtype) {
  const std::string name = to_string(dtype);
  used_.types[name] = dtype;
  return "tile::" + name;
}

std::string KernelEmission::mma_function(const isa::MmaShape& shape) {
  const std::string name = mma_function_name(shape);
  used_.mma[name] = &shape;
  return "tv::" + name;
}

const std::string& KernelEmission::workspace(VarId var) const {
  const auto& all = program_.info(result_.kernel).workspaces;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& workspace) { return workspace.var == var; });
  TILEVM_CHECK(found != all.end(), "a workspace that the verifier did not list");
  return workspaces_[static_cast<std::size_t>(found - all.begin())];
}

std::string KernelEmission::target(VarId var, bool declares, std::string_view type) const {
  return declares ? fmt::format("{} {} = ", type, name(var)) : fmt::format("{} = ", name(var));
}

void KernelEmission::chose(const isa::InstStmt& stmt, std::string text, std::string obstacle) {
  result_.choices.push_back({&stmt, statement_, std::move(text), std::move(obstacle)});
}

void KernelEmission::declare_tile(const isa::InstStmt& stmt) {
  if (!stmt.declares) return;
  const VarId var = stmt.results[0];
  out.plain(
      fmt::format("tv::u32 {}[{}] = {{}};", name(var), tile_words(type<isa::RegisterType>(var))));
}

/// The program's lines under a span as comments; later code belongs to the first of them.
void KernelEmission::quote_source(Span span, int max_lines) {
  const SourceFile& source = program_.source();
  if (source.text().empty()) return;
  const int first = source.locate(span.begin).line;
  const int last = std::min(source.locate(span.end).line, first + max_lines - 1);
  for (int number = first; number <= last; ++number) {
    std::string_view text = source.line(number);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (!text.empty()) out.comment(text);
  }
  out.at(first);
}

void KernelEmission::run() {
  out.blank();
  quote_source(kernel_.span, 1);
  out.open(signature());
  if (result_.shared_bytes > 0) out.plain("TV_SHARED(shared_);");
  if (const std::int64_t groups = bulk_copies_.groups(); groups > 0) {
    const std::string kind = fmt::format("<{}, {}>", groups, bulk_copies_.copiers());
    out.plain(fmt::format("TV_BARRIERS(barriers_, {});", groups));
    out.plain(fmt::format("tv::BulkGroups{0} bulk_ = tv::make_bulk_groups{0}(barriers_);", kind));
  }
  if (!info().prints.empty()) out.plain("tv::Printer print_ = tv::printer(prints_);");
  const CodeWriter::Mark begin = out.mark();
  write(kernel_.body);
  end_block();
  out.close();
  declare_kept(begin);
  out.at(0);
}

std::optional<std::string> KernelEmission::keep(VarId tensor, const std::string& distance) {
  constexpr std::size_t most = 4;
  constexpr std::int64_t warp = 32;
  if (turns_ < many_turns || threads() % warp != 0) return std::nullopt;
  const std::string text =
      fmt::format("shared_ + {}, {}", info().shared_tile(tensor).place, distance);
  const auto found = std::find(kept_.begin(), kept_.end(), text);
  if (found == kept_.end() && kept_.size() == most) return std::nullopt;
  const auto number = found - kept_.begin();
  if (found == kept_.end()) kept_.push_back(text);
  return fmt::format("tv::at_place(place{}_)", number);
}

void KernelEmission::declare_kept(const CodeWriter::Mark& mark) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    lines.push_back(fmt::format("const tv::u32 place{}_ = tv::kept_place({});", i, kept_[i]));
  }
  out.insert(mark, lines);
}

void KernelEmission::fence_for_bulk(const isa::InstStmt& stmt) {
  if (bulk_copies_.needs_fence(stmt)) out.line("tv::fence_for_bulk();");
}

void KernelEmission::end_block() {
  if (bulk_copies_.groups() > 0) out.line("tv::end_bulk(bulk_);");
}

void KernelEmission::write(const isa::Block& block) {
  constexpr int max_quoted = 12;
  for (const isa::Stmt& stmt : block) {
    const bool simple = std::holds_alternative<isa::InstStmt>(stmt.node) ||
                        std::holds_alternative<isa::ScalarStmt>(stmt.node);
    quote_source(stmt.span, simple ? max_quoted : 1);
    statement_ = stmt.span;
    std::visit([&](const auto& node) { write(node); }, stmt.node);
  }
}

void KernelEmission::write(const isa::InstStmt& stmt) {
  std::visit([&](const auto& inst) { emit_instruction(inst, stmt, *this); }, stmt.inst);
}

void KernelEmission::write(const isa::ScalarStmt& stmt) {
  const std::string type = scalar_type(stmt.value.kind());
  out.line(target(stmt.target, stmt.declares, type) + scalar(stmt.value) + ";");
}

void KernelEmission::write_loop(const isa::Block& body, std::int64_t turns) {
  const std::int64_t outside = std::exchange(turns_, std::min(turns_ * turns, many_turns));
  write(body);
  turns_ = outside;
}

void KernelEmission::write(const isa::ForStmt& loop) {
  const std::string var = name(loop.var), type = scalar_type(loop.begin.kind());
  const std::string begin = scalar(loop.begin), end = scalar(loop.end), step = scalar(loop.step);
  const std::string unroll =
      loop.unroll > 0 ? fmt::format("TV_UNROLL_BY({}) ", loop.unroll) : std::string();
  if ((steps_by_one(loop.step) || is_small_range(loop)) && !writes(loop.body, loop.var)) {
    const bool constant = loop.end.is_constant();
    out.open(fmt::format("{}for ({} {} = {}{}; {} {} {}; {} += {})", unroll, type, var, begin,
                         constant ? "" : ", end_ = " + end, var, counts_down(loop.step) ? ">" : "<",
                         constant ? end : "end_", var, step));
    write_loop(loop.body, turns_of(loop));
    out.close();
    return;
  }
  out.open_plain();
  out.line(fmt::format("const {} begin_ = {}, step_ = {};", type, begin, step));
  out.open(
      fmt::format("{}for (tv::u64 k_ = 0, trips_ = tv::trips(begin_, {}, step_); "
                  "k_ < trips_; ++k_)",
                  unroll, end));
  out.line(fmt::format("{} {} = tv::range_value(begin_, k_, step_);", type, var));
  write_loop(loop.body, turns_of(loop));
  out.close();
  out.close();
}

void KernelEmission::write(const isa::WhileStmt& loop) {
  out.open("while " + condition(loop.condition));
  write_loop(loop.body, many_turns);
  out.close();
}

void KernelEmission::write(const isa::IfStmt& branch) {
  for (std::size_t i = 0; i < branch.arms.size(); ++i) {
    const std::string head = "if " + condition(branch.arms[i].condition);
    i == 0 ? out.open(head) : out.close_and_open("else " + head);
    write(branch.arms[i].body);
  }
  if (!branch.otherwise.empty()) {
    out.close_and_open("else");
    write(branch.otherwise);
  }
  out.close();
}

void KernelEmission::write(const isa::BreakStmt&) { out.line("break;"); }

void KernelEmission::write(const isa::ContinueStmt&) { out.line("continue;"); }

}  // namespace tilevm::backend
