// More than 400 lines: one class, with a short function for each kind of statement.
#include "backend/emit/emit_kernel.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_index.h"
#include "backend/emit/emit_scalar.h"
#include "backend/machine/describe.h"
#include "backend/ptx/emit_mma.h"
#include "backend/select/default_forms.h"
#include "isa/analysis/assertion.h"
#include "isa/analysis/async_products.h"
#include "isa/base/check.h"

namespace tilevm::backend {
namespace {

using isa::Expr;
using isa::VarId;

/// Writes an instruction that has one form only; select_default_forms gives no other this form.
void emit_only_form(const isa::InstStmt& stmt, KernelEmission& kernel) {
  std::visit(
      [&]<class Inst>(const Inst& inst) {
        if constexpr (HasForms<Inst>) {
          TILEVM_CHECK(false, "an instruction without its form");
        } else {
          emit_plain(inst, stmt, kernel);
        }
      },
      stmt.inst);
}

std::string unroll_text(const isa::ForStmt& loop) {
  return loop.unroll > 0 ? fmt::format("TV_UNROLL_BY({}) ", loop.unroll) : std::string();
}

template <class Kind>
concept OfLoop = std::is_same_v<Kind, SteppedLoop> || std::is_same_v<Kind, CountedLoop>;
/// A form of the program's own synchronization (backend/machine/copy_ring.cc).
template <class Kind>
concept OrdersProgram = std::is_same_v<Kind, GroupCommit> || std::is_same_v<Kind, GroupWait> ||
                        std::is_same_v<Kind, FullBarrier> || std::is_same_v<Kind, SplitBarrier> ||
                        std::is_same_v<Kind, EarlyExit>;

}  // namespace

KernelEmission::KernelEmission(const SelectedProgram& program, int kernel, NameTable& entries,
                               CodeWriter& writer, UsedDefinitions& used)
    : out(writer),
      program_(program.program),
      selected_(program.kernels[static_cast<std::size_t>(kernel)]),
      kernel_(program_.kernel(kernel)),
      machine_(make_machine(program, static_cast<std::size_t>(kernel))),
      used_(used),
      async_results_(isa::async_results(kernel_)),
      probes_(selected_.probes) {
  result_.kernel = kernel;
  result_.entry = entries.unique(kernel_.name + "_kernel");
  result_.threads = program_.info(kernel).num_threads;
  result_.shared_bytes = program_.info(kernel).shared_footprint;
  for (const MachineBarrier& barrier : machine_.barriers) {
    const bool in_memory = barrier.kind == MachineBarrier::Kind::mbarrier;
    if (in_memory) result_.barrier_bytes += barrier.stages * barrier_bytes;
  }
  result_.barrier_bytes += info().barrier_stages * barrier_bytes;
  result_.orders_itself = info().has_groups() || !info().barriers.empty();
  result_.remarks = describe(program_, selected_, machine_);
  add_parameters();
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
  add_tensor_maps();
  if (!info().prints.empty()) {
    result_.parameters.push_back({CudaParameter::Role::prints, {}, {}, 0});
  }
  if (isa::has_assertions(kernel_)) {
    result_.parameters.push_back({CudaParameter::Role::assertions, {}, {}, 0});
  }
  if (!probes_.empty()) result_.parameters.push_back({CudaParameter::Role::probes, {}, {}, 0});
}

std::string KernelEmission::parameter_name(const CudaParameter& parameter) const {
  if (parameter.role == CudaParameter::Role::prints) return "prints_";
  if (parameter.role == CudaParameter::Role::assertions) return "assertions_";
  if (parameter.role == CudaParameter::Role::probes) return "probes_";
  if (parameter.role == CudaParameter::Role::tensor_map) return tensor_map(parameter.map->map);
  const bool hidden = parameter.role == CudaParameter::Role::workspace;
  return hidden ? workspace(parameter.var) : name(parameter.var);
}

std::string KernelEmission::signature() const {
  std::string parameters;
  for (const CudaParameter& parameter : result_.parameters) {
    std::string type = "tv::u8*";
    if (parameter.role == CudaParameter::Role::scalar) type = scalar_type(parameter.scalar);
    if (parameter.role == CudaParameter::Role::tensor_map) type = "TV_MAP_PARAMETER";
    parameters +=
        fmt::format("{}{} {}", parameters.empty() ? "" : ", ", type, parameter_name(parameter));
  }
  // Registers that groups give back and take are those of the launch, whose bound says how many.
  const bool bounded = kernel_.resident > 1 || info().launch_registers > 0;
  const std::string resident = bounded ? fmt::format(", {}", kernel_.resident) : "";
  std::array<std::int64_t, 3> blocks{1, 1, 1};
  std::copy(kernel_.cluster.begin(), kernel_.cluster.end(), blocks.begin());
  const std::string cluster =
      kernel_.cluster.empty() ? "" : fmt::format("TV_CLUSTER({}) ", fmt::join(blocks, ", "));
  return fmt::format("TV_KERNEL({}{}) {}{}({})", result_.threads, resident, cluster, result_.entry,
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

std::string KernelEmission::wgmma_function(const WgmmaUse& use) {
  const std::string name = wgmma_function_name(use);
  used_.wgmma[name] = use;
  return "tv::" + name;
}

const std::string& KernelEmission::workspace(VarId var) const {
  const auto& all = program_.info(result_.kernel).workspaces;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& workspace) { return workspace.var == var; });
  TILEVM_CHECK(found != all.end(), "a workspace that the verifier did not list");
  return selected_.workspaces[static_cast<std::size_t>(found - all.begin())];
}

std::string KernelEmission::target(VarId var, bool declares, std::string_view type) const {
  return declares ? fmt::format("{} {} = ", type, name(var)) : fmt::format("{} = ", name(var));
}

void KernelEmission::begin_exchange() {
  if (info().exchange_halves == 1) {
    synchronize();
    return out.line(
        fmt::format("tv::u8* const at_ = shared_ + {};", info().exchange_offset_of(group_)));
  }
  out.line("tv::u8* const at_ = shared_ + exchange_;");
  out.line(fmt::format("exchange_ = {} - exchange_;",
                       2 * info().exchange_offset_of(group_) + info().exchange_bytes));
}

void KernelEmission::begin_exchanges() {
  if (info().exchange_bytes == 0 || info().exchange_halves == 1) return;
  out.plain(fmt::format("tv::u32 exchange_ = {};", info().exchange_offset_of(group_)));
}

void KernelEmission::synchronize() {
  if (group_ == 0) return out.line("tv::synchronize();");
  out.line(fmt::format("tv::named_barrier_sync<{}, {}>();", group().named_barrier.value_or(0),
                       group().threads));
}

void KernelEmission::declare_tile(const isa::InstStmt& stmt) {
  const VarId var = stmt.results[0];
  if (!stmt.declares || std::ranges::find(async_results_, var) != async_results_.end()) return;
  out.line(
      fmt::format("tv::u32 {}[{}] = {{}};", name(var), tile_words(type<isa::RegisterType>(var))));
}

/// The program's lines under a span as comments; later code belongs to the first of them.
void KernelEmission::quote_source(Span span, int max_lines) {
  const SourceFile& source = program_.source();
  if (source.text().empty()) return;
  std::size_t at = span.begin;
  for (int count = 0; count < max_lines && at <= span.end; ++count, at = source.next_line(at)) {
    std::string_view text = source.line_at(at);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (!text.empty()) out.comment(text);
  }
  out.at(source.root_line(span.begin));
}

void KernelEmission::run() {
  out.blank();
  quote_source(kernel_.span, 1);
  out.open(signature());
  if (result_.shared_bytes > 0) {
    out.plain(fmt::format("TV_SHARED(shared_, {});", shared_alignment()));
  }
  declare_results();
  begin_exchanges();
  if (info().barrier_stages > 0) {
    out.plain(fmt::format("TV_BARRIERS(barriers_, {});", info().barrier_stages));
  }
  write(machine_.begin);
  if (!info().prints.empty()) out.plain("tv::Printer print_ = tv::printer(prints_);");
  open_probe();
  prefetch_maps();
  declare_hoisted();
  write(machine_.body);
  out.close();
  out.at(0);
}

/// That of the tensor with the widest swizzle; all kernels of a program declare the same.
std::int64_t KernelEmission::shared_alignment() const {
  std::int64_t alignment = isa::KernelInfo::shared_alignment;
  for (int kernel = 0; kernel < static_cast<int>(program_.program().kernels.size()); ++kernel) {
    for (const auto& tile : program_.info(kernel).shared) {
      alignment = std::max(alignment, tile.alignment);
    }
  }
  return alignment;
}

/// Results of asynchronous products arrive after the statements and blocks of the products.
void KernelEmission::declare_results() {
  for (const VarId var : async_results_) {
    out.plain(
        fmt::format("tv::u32 {}[{}] = {{}};", name(var), tile_words(type<isa::RegisterType>(var))));
  }
}

void KernelEmission::declare_hoisted() {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < selected_.hoisted.size(); ++i) {
    const HoistedAddress& address = selected_.hoisted[i];
    std::string elements;
    for (const HoistedAddress::Share& own : address.shares) {
      elements += fmt::format("{}({}) * {}", elements.empty() ? "" : " + ",
                              share("tv::thread()", threads(), own.terms, 0), own.stride);
    }
    lines.push_back(fmt::format(
        "const tv::u32 place{}_ = tv::hoisted_address(shared_ + {}, tv::bytes<{}>({}));", i,
        address.offset, address.bits, elements));
  }
  out.aside(lines);
}

void KernelEmission::note_stores_of(VarId tile) {
  if (type<isa::RegisterType>(tile).layout.num_replicas() > 1) result_.stores_replicas = true;
}

/// A statement is quoted before the first of its operations.
void KernelEmission::write(const MachineBlock& block) {
  constexpr int max_quoted = 12;
  const isa::Stmt* quoted = nullptr;
  for (const MachineNode& node : block) {
    if (node.stmt != nullptr && node.stmt != quoted) {
      const bool simple = std::holds_alternative<isa::InstStmt>(node.stmt->node) ||
                          std::holds_alternative<isa::ScalarStmt>(node.stmt->node);
      quote_source(node.stmt->span, simple ? max_quoted : 1);
      quoted = node.stmt;
    }
    write(node);
  }
}

void KernelEmission::write(const MachineNode& node) {
  if (const auto* op = std::get_if<MachineOp>(&node.node)) {
    const Form* const form = std::get_if<Form>(&op->code);
    if (form == nullptr) return write_op(*op);
    write_form(*std::get_if<isa::InstStmt>(&node.stmt->node), *form);
  } else if (const auto* guard = std::get_if<MachineGuard>(&node.node)) {
    write(*guard);
  } else if (const auto* loop = std::get_if<MachineLoop>(&node.node)) {
    write(*loop, *node.stmt);
  } else if (const auto* branch = std::get_if<MachineBranch>(&node.node)) {
    write(*branch, *std::get_if<isa::IfStmt>(&node.stmt->node));
  } else if (const auto* fork = std::get_if<MachineFork>(&node.node)) {
    write(*fork, *std::get_if<isa::ForkStmt>(&node.stmt->node));
  } else if (const auto* scalar = std::get_if<isa::ScalarStmt>(&node.stmt->node)) {
    write(*scalar);
  } else if (const auto* leave = std::get_if<isa::BreakStmt>(&node.stmt->node)) {
    write(*leave);
  } else if (const auto* next = std::get_if<isa::ContinueStmt>(&node.stmt->node)) {
    write(*next);
  }
}

void KernelEmission::open_probe() {
  if (probes_.empty()) return;
  out.plain(fmt::format("tv::Probe probe_ = tv::probe(probes_, {}, {});",
                        result_.shared_bytes > 0 ? "shared_" : "nullptr", result_.shared_bytes));
}

/// Adds the value of a variable to the record: a tile or a scalar.
void KernelEmission::probe_value(VarId var) {
  constexpr std::string_view significant_of_tf32 = ", 0xffffe000u";
  const isa::Type& held = kernel_.variable(var).type;
  if (const auto* tile = std::get_if<isa::RegisterType>(&held)) {
    out.line(fmt::format("probe_.tile<{}, {}>({}{});", tile->dtype.bits, tile->layout.num_locals(),
                         name(var), tile->dtype == isa::tf32 ? significant_of_tf32 : ""));
  } else if (const auto* value = std::get_if<isa::ScalarType>(&held)) {
    const bool is_float = value->kind == isa::ScalarKind::f32;
    out.line(fmt::format("probe_.scalar({}({}));",
                         is_float ? "tv::f32_bits" : "static_cast<tv::u64>", name(var)));
  }
}

void KernelEmission::write_form(const isa::InstStmt& stmt, const Form& form) {
  std::visit(
      [&]<class Kind>(const Kind& kind) {
        if constexpr (std::is_same_v<Kind, Plain>) {
          emit_only_form(stmt, *this);
        } else if constexpr (OfLoop<Kind>) {
          TILEVM_CHECK(false, "an instruction in the form of a loop");
        } else if constexpr (OrdersProgram<Kind>) {
          TILEVM_CHECK(false, "a form that the machine program has no more");
        } else {
          emit_form(kind, stmt, *this);
        }
      },
      form);
}

void KernelEmission::write(const isa::ScalarStmt& stmt) {
  const std::string type = scalar_type(stmt.value.kind());
  out.line(target(stmt.target, stmt.declares, type) + scalar(stmt.value) + ";");
}

void KernelEmission::write(const MachineLoop& loop, const isa::Stmt& stmt) {
  if (const auto* test = std::get_if<isa::WhileStmt>(&stmt.node)) {
    out.open("while " + condition(test->condition));
    write(loop.body);
    out.close();
    return;
  }
  const auto& range = *std::get_if<isa::ForStmt>(&stmt.node);
  if (const auto* stepped = std::get_if<SteppedLoop>(&loop.form)) {
    return write_loop(*stepped, range, loop.body);
  }
  const auto* counted = std::get_if<CountedLoop>(&loop.form);
  TILEVM_CHECK(counted != nullptr, "a loop without its form");
  write_loop(*counted, range, loop.body);
}

void KernelEmission::write_loop(const SteppedLoop& form, const isa::ForStmt& loop,
                                const MachineBlock& body) {
  const std::string var = name(loop.var), type = scalar_type(loop.begin.kind());
  const std::string begin = scalar(loop.begin), end = scalar(loop.end), step = scalar(loop.step);
  const bool constant = loop.end.is_constant();
  out.open(fmt::format("{}for ({} {} = {}{}; {} {} {}; {} += {})", unroll_text(loop), type, var,
                       begin, constant ? "" : ", end_ = " + end, var, form.counts_down ? ">" : "<",
                       constant ? end : "end_", var, step));
  write(body);
  out.close();
}

void KernelEmission::write_loop(const CountedLoop&, const isa::ForStmt& loop,
                                const MachineBlock& body) {
  const std::string var = name(loop.var), type = scalar_type(loop.begin.kind());
  const std::string begin = scalar(loop.begin), end = scalar(loop.end), step = scalar(loop.step);
  out.open_plain();
  out.line(fmt::format("const {} begin_ = {}, step_ = {};", type, begin, step));
  out.open(
      fmt::format("{}for (tv::u64 k_ = 0, trips_ = tv::trips(begin_, {}, step_); "
                  "k_ < trips_; ++k_)",
                  unroll_text(loop), end));
  out.line(fmt::format("{} {} = tv::range_value(begin_, k_, step_);", type, var));
  write(body);
  out.close();
  out.close();
}

void KernelEmission::write(const MachineBranch& branch, const isa::IfStmt& stmt) {
  for (std::size_t i = 0; i < stmt.arms.size(); ++i) {
    const isa::Expr& tests = stmt.arms[i].condition;
    const std::string head = "if " + condition(tests);
    // What `elif` tests is on a line of its own.
    if (i > 0 && tests.span() != Span{}) out.at(program_.source().root_line(tests.span().begin));
    i == 0 ? out.open(head) : out.close_and_open("else " + head);
    write(branch.arms[i]);
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
