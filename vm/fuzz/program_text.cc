#include "vm/fuzz/program_text.h"

#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "isa/type/number.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Expr;

std::string scalar_text(const isa::Scalar& value) {
  switch (value.kind) {
    case isa::ScalarKind::boolean:
      return value.as_bool() ? "true" : "false";
    case isa::ScalarKind::i32:
      return fmt::format("{}", value.as_int());
    case isa::ScalarKind::i64:
      return fmt::format("i64({})", value.as_int());
    case isa::ScalarKind::u32:
    case isa::ScalarKind::u64:
      return fmt::format("{}({})", to_string(value.kind), value.bits);
    case isa::ScalarKind::f32: {
      const std::string text = fmt::format("{}", value.as_float());
      const bool is_float = text.find_first_of(".en") != std::string::npos;
      return is_float ? text : text + ".0";
    }
  }
  TILEVM_NO_ENUMERATOR();
}

/// Every operation in parentheses: the text does not depend on how operators bind.
struct ExprText {
  std::string operator()(const Expr& expr) const {
    if (const auto* convert = std::get_if<Expr::Convert>(&expr.node())) {
      return fmt::format("{}({})", to_string(expr.kind()), (*this)(convert->a));
    }
    return std::visit(*this, expr.node());
  }
  std::string operator()(const Expr::Constant& node) const { return scalar_text(node.value); }
  std::string operator()(const Expr::Variable& node) const { return node.name; }
  std::string operator()(const Expr::Convert& node) const { return (*this)(node.a); }
  std::string operator()(const Expr::Unary& node) const {
    const std::string_view op =
        node.op == isa::ScalarUnary::logical_not ? "not " : to_string(node.op);
    return fmt::format("({}{})", op, (*this)(node.a));
  }
  std::string operator()(const Expr::Select& node) const {
    return fmt::format("({} if {} else {})", (*this)(node.a), (*this)(node.condition),
                       (*this)(node.b));
  }
  std::string operator()(const Expr::Binary& node) const {
    if (is_choice(node.op)) {
      return fmt::format("{}({}, {})", to_string(node.op), (*this)(node.a), (*this)(node.b));
    }
    return fmt::format("({} {} {})", (*this)(node.a), to_string(node.op), (*this)(node.b));
  }
};

std::string text_of(const Expr& expr) { return ExprText{}(expr); }

std::string list_of(const std::vector<Expr>& values) {
  std::vector<std::string> texts;
  for (const Expr& value : values) texts.push_back(text_of(value));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

/// A text in double quotes.
std::string string_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string layout_text(const isa::MemoryLayout& layout) {
  std::string text =
      fmt::format("memory_layout({}, {}, {})", isa::to_string(layout.shape()),
                  isa::to_string(layout.mode_shape()), isa::to_string(layout.mode_strides()));
  if (const auto& swizzle = layout.swizzle()) {
    text += fmt::format(".swizzle({}, {}, {})", swizzle->base, swizzle->bits, swizzle->shift);
  }
  return text;
}

/// One kernel.
class KernelText {
 public:
  explicit KernelText(const isa::Kernel& kernel) : kernel_(kernel) {}

  std::string write() {
    if (kernel_.threads) line(fmt::format("@threads({})", *kernel_.threads));
    if (kernel_.resident != 1) line(fmt::format("@resident({})", kernel_.resident));
    if (kernel_.split_barriers) line("@split_barriers(1)");
    if (!kernel_.cluster.empty()) {
      line(fmt::format("@cluster({})", fmt::join(kernel_.cluster, ", ")));
    }
    std::vector<std::string> grid, parameters;
    for (const Expr& extent : kernel_.grid) grid.push_back(text_of(extent));
    for (const isa::VarId id : kernel_.parameters) parameters.push_back(parameter(id));
    line(fmt::format("def {}<{}>({}):", kernel_.name, fmt::join(grid, ", "),
                     fmt::join(parameters, ", ")));
    block(kernel_.body);
    return std::move(text_);
  }

 private:
  void line(std::string_view text) {
    text_.append(4 * depth_, ' ');
    text_ += text;
    text_ += '\n';
  }
  [[nodiscard]] const std::string& name(isa::VarId id) const { return kernel_.variable(id).name; }

  std::string parameter(isa::VarId id) const {
    const isa::Type& type = kernel_.variable(id).type;
    if (const auto* pointer = std::get_if<isa::PointerType>(&type)) {
      return fmt::format("{}* {}", isa::to_string(pointer->dtype), name(id));
    }
    return fmt::format("{} {}", isa::to_string(type), name(id));
  }

  void block(const isa::Block& statements) {
    ++depth_;
    if (statements.empty()) line("pass");
    for (const isa::Stmt& stmt : statements) {
      std::visit([&](const auto& node) { statement(node); }, stmt.node);
    }
    --depth_;
  }

  void statement(const isa::ScalarStmt& stmt) {
    line(fmt::format("{} = {}", name(stmt.target), text_of(stmt.value)));
  }
  void statement(const isa::ForStmt& loop) {
    line(fmt::format("for {} in range({}, {}, {}{}):", name(loop.var), text_of(loop.begin),
                     text_of(loop.end), text_of(loop.step),
                     loop.unroll == 0 ? "" : fmt::format(", unroll={}", loop.unroll)));
    block(loop.body);
  }
  void statement(const isa::WhileStmt& loop) {
    line(fmt::format("while {}:", text_of(loop.condition)));
    block(loop.body);
  }
  void statement(const isa::IfStmt& branch) {
    std::string_view word = "if";
    for (const isa::IfStmt::Arm& arm : branch.arms) {
      line(fmt::format("{} {}:", word, text_of(arm.condition)));
      block(arm.body);
      word = "elif";
    }
    if (branch.otherwise.empty()) return;
    line("else:");
    block(branch.otherwise);
  }
  void statement(const isa::ForkStmt& fork) {
    for (const isa::WarpGroup& group : fork.groups) {
      line(group.elects
               ? "with single_thread():"
               : fmt::format(
                     "with warps({}, {}{}):", group.first_warp, group.first_warp + group.warps,
                     group.registers ? fmt::format(", registers={}", *group.registers) : ""));
      block(group.body);
    }
  }
  void statement(const isa::BreakStmt&) { line("break"); }
  void statement(const isa::ContinueStmt&) { line("continue"); }

  void statement(const isa::InstStmt& stmt) {
    std::vector<std::string> arguments;
    std::visit([&](const auto& inst) { arguments = slots(inst); }, stmt.inst);
    const isa::ResultKind kind = isa::description(stmt.inst).result;
    std::string before;
    if (kind == isa::ResultKind::register_tile && !stmt.declares) {
      arguments.push_back("out=" + name(stmt.results[0]));
    } else if (!stmt.results.empty()) {
      std::vector<std::string> results;
      for (const isa::VarId result : stmt.results) results.push_back(name(result));
      before = fmt::format("{} = ", fmt::join(results, ", "));
    }
    line(fmt::format("{}{}({})", before, isa::mnemonic(stmt.inst), fmt::join(arguments, ", ")));
  }

  /// Operands that must be given come by position, from the first optional one on by name.
  template <class Inst>
  std::vector<std::string> slots(const Inst& inst) const {
    std::vector<std::string> arguments;
    bool by_name = false;
    isa::for_each_slot<Inst>([&](const auto& info, std::size_t) {
      const std::optional<std::string> text = slot(inst.*info.member, by_name);
      if (text) arguments.push_back(by_name ? fmt::format("{}={}", info.name, *text) : *text);
    });
    return arguments;
  }

  template <class Slot>
  std::optional<std::string> slot(const std::optional<Slot>& value, bool& by_name) const {
    by_name = true;
    return value ? std::optional(write(*value)) : std::nullopt;
  }
  template <class Slot>
  std::optional<std::string> slot(const Slot& value, bool&) const {
    return write(value);
  }

  std::string write(const isa::RegisterOperand& operand) const { return name(operand.var); }
  std::string write(const isa::SharedOperand& operand) const { return name(operand.var); }
  std::string write(const isa::GlobalOperand& operand) const { return name(operand.var); }
  std::string write(const isa::PointerOperand& operand) const { return name(operand.var); }
  std::string write(const isa::BarrierOperand& operand) const { return name(operand.var); }
  std::string write(const isa::DType& type) const { return isa::to_string(type); }
  std::string write(const isa::RegisterLayout& layout) const { return isa::to_string(layout); }
  std::string write(const isa::TileShape& shape) const { return isa::to_string(shape.extents); }
  std::string write(const isa::ExtentList& list) const { return list_of(list.extents); }
  std::string write(const isa::ScalarOperand& operand) const { return text_of(operand.value); }
  std::string write(const isa::Text& text) const { return string_literal(text.value); }
  std::string write(const isa::ElementValues& init) const {
    return init.values.size() == 1 ? text_of(init.values[0]) : list_of(init.values);
  }
  std::string write(const isa::ValueOperand& operand) const {
    return std::visit([&](const auto& value) { return write(value); }, operand.value);
  }
  std::string write(const isa::TensorOperand& operand) const {
    return std::visit([&](const auto& value) { return write(value); }, operand.value);
  }
  std::string write(isa::ReduceOp op) const { return std::string(to_string(op)); }
  std::string write(isa::CacheHint hint) const { return std::string(to_string(hint)); }
  std::string write(const isa::DimList& list) const {
    return fmt::format("[{}]", fmt::join(list.dims, ", "));
  }
  std::string write(const isa::OffsetList& list) const {
    std::vector<std::string> entries;
    for (const isa::OffsetList::Entry& entry : list.entries) {
      entries.push_back(text_of(entry.value) + (entry.tile ? ":" : ""));
    }
    return fmt::format("[{}]", fmt::join(entries, ", "));
  }
  std::string write(const isa::ViewLayout& layout) const {
    switch (layout.form) {
      case isa::ViewLayout::Form::row_major:
        return "row_major";
      case isa::ViewLayout::Form::column_major:
        return "column_major";
      case isa::ViewLayout::Form::strides: {
        const std::string list = list_of(layout.strides);
        return fmt::format("strides({})", list.substr(1, list.size() - 2));
      }
      case isa::ViewLayout::Form::memory:
        return layout_text(*layout.memory);
    }
    TILEVM_NO_ENUMERATOR();
  }

  const isa::Kernel& kernel_;
  std::string text_;
  std::size_t depth_ = 0;
};

std::string tensor_text(const isa::PipelineTensor& tensor) {
  return fmt::format("{}: {}{}", tensor.name, isa::to_string(tensor.dtype),
                     isa::to_string(*tensor.static_shape()));
}

std::string pipeline_text(const isa::Program& program, const isa::Pipeline& pipeline) {
  std::vector<std::string> inputs, outputs;
  std::string body;
  for (const isa::PipelineTensor& tensor : pipeline.tensors) {
    switch (tensor.role) {
      case isa::PipelineTensor::Role::input:
        inputs.push_back(tensor_text(tensor));
        break;
      case isa::PipelineTensor::Role::inout:
        inputs.push_back("inout " + tensor_text(tensor));
        break;
      case isa::PipelineTensor::Role::output:
        outputs.push_back(tensor_text(tensor));
        break;
      case isa::PipelineTensor::Role::temporary:
        body += fmt::format("    {} = AllocateGlobal({}, {})\n", tensor.name,
                            isa::to_string(tensor.dtype), isa::to_string(*tensor.static_shape()));
        break;
    }
  }
  for (const isa::PipelineLaunch& launch : pipeline.launches) {
    std::vector<std::string> arguments;
    for (const auto& argument : launch.arguments) {
      const auto* index = std::get_if<int>(&argument);
      arguments.push_back(index != nullptr
                              ? pipeline.tensors[static_cast<std::size_t>(*index)].name
                              : scalar_text(*std::get_if<isa::Expr>(&argument)->constant_value()));
    }
    body +=
        fmt::format("    {}({})\n", program.kernels[static_cast<std::size_t>(launch.kernel)].name,
                    fmt::join(arguments, ", "));
  }
  return fmt::format("pipeline {}({}) -> ({}):\n{}", pipeline.name, fmt::join(inputs, ", "),
                     fmt::join(outputs, ", "), body.empty() ? "    pass\n" : body);
}

}  // namespace

std::string program_text(const isa::Program& program) {
  std::string text;
  for (const isa::Kernel& kernel : program.kernels) text += KernelText(kernel).write() + "\n";
  for (const isa::Pipeline& pipeline : program.pipelines) text += pipeline_text(program, pipeline);
  return text;
}

}  // namespace tilevm::vm::fuzz
