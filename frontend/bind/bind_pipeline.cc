#include "frontend/bind/bind_pipeline.h"
#include "frontend/bind/expressions.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/bind/bind_body.h"
#include "frontend/bind/bind_call.h"
#include "isa/base/suggest.h"
#include "isa/rules/rules.h"

namespace tilevm::frontend {
namespace {

constexpr std::int64_t max_extent = std::int64_t{1} << 40;

class PipelineBinder {
 public:
  PipelineBinder(const isa::Program& program, const Constants& constants,
                 const Functions& functions, const isa::Target& target, Inlining& inlining,
                 Diagnostics& diagnostics)
      : program_(program),
        target_(target),
        diagnostics_(diagnostics),
        body_(constants, functions, target, inlining, diagnostics) {}

  isa::Pipeline bind(const ast::Pipeline& tree) {
    pipeline_.name = tree.name.text;
    pipeline_.span = tree.name.span;
    using Role = isa::PipelineTensor::Role;
    for (const ast::PipelineParam& param : tree.inputs) bind_tensor(param, Role::input);
    for (const ast::PipelineParam& param : tree.outputs) bind_tensor(param, Role::output);
    bind_statements(tree.body);
    return std::move(pipeline_);
  }

 private:
  void bind_tensor(const ast::PipelineParam& param, isa::PipelineTensor::Role role) {
    if (!param.shape) {
      add_note(diagnostics_.error(
                   Code::not_supported, param.span,
                   fmt::format("`{}` is a scalar; pipelines pass tensors", param.name.text)),
               "make it a `const`, which `-D` overrides, and pass that to the kernel");
      return poison(param.name.text);
    }
    const auto type = bind_dtype(param.type, scope_);
    isa::Shape shape;
    bool ok = type.has_value();
    for (const ast::Expr& extent : *param.shape) {
      const auto value = bind_integer(extent, scope_);
      if (value && (*value < 1 || *value > max_extent)) {
        diagnostics_.error(Code::bad_shape, extent.span,
                           fmt::format("extent {}; extents are 1 to 2^40", *value));
        ok = false;
      }
      ok = ok && value.has_value();
      shape.push_back(value.value_or(1));
    }
    if (!ok) return poison(param.name.text);
    add_tensor({param.name.text, role, *type, std::move(shape), param.name.span});
  }

  void add_tensor(isa::PipelineTensor tensor) {
    if (const auto existing = find(tensor.name)) {
      auto& error = diagnostics_.error(Code::duplicate_name, tensor.span,
                                       fmt::format("tensor `{}` exists already", tensor.name));
      add_note(error, "it was declared here",
               pipeline_.tensors[static_cast<std::size_t>(*existing)].span);
      return;
    }
    if (scope_.constants.contains(tensor.name)) {
      diagnostics_.error(Code::duplicate_name, tensor.span,
                         fmt::format("`{}` is a constant; choose another name", tensor.name));
      return;
    }
    pipeline_.tensors.push_back(std::move(tensor));
  }

  std::optional<int> find(const std::string& name) const {
    for (std::size_t i = 0; i < pipeline_.tensors.size(); ++i) {
      if (pipeline_.tensors[i].name == name) return static_cast<int>(i);
    }
    return std::nullopt;
  }

  void poison(const std::string& name) { poisoned_.push_back(name); }
  bool is_poisoned(const std::string& name) const {
    return std::find(poisoned_.begin(), poisoned_.end(), name) != poisoned_.end();
  }

  void bind_statements(const ast::Block& tree) {
    for (const ast::Stmt& stmt : tree) {
      std::visit([&](const auto& node) { bind_stmt(node, stmt.span); }, stmt.node);
    }
  }

  template <class Node>
  void bind_stmt(const Node&, Span span) {
    diagnostics_.error(
        Code::misplaced, span,
        "a pipeline is a list of tensors and kernel calls, with loops and branches of constants; "
        "others belong in kernels");
  }
  void bind_stmt(const ast::Pass&, Span) {}

  /// A loop over constants is expanded.
  void bind_stmt(const ast::For& stmt, Span span) {
    if (stmt.variables.size() != 1) {
      diagnostics_.error(Code::result_count, stmt.variables[1].span, "a loop has one variable");
      return;
    }
    const ast::Expr range{ast::Call{{"range", span}, stmt.range}, span};
    const auto values = bind_iterated(stmt.list ? *stmt.list : range, scope_);
    if (!values) return;
    for (const Value& value : *values) {
      const std::size_t errors = diagnostics_.error_count();
      body_.variables().enter(true);
      name_constant(stmt.variables[0], value);
      bind_statements(stmt.body);
      body_.variables().leave();
      if (diagnostics_.error_count() > errors || is_too_long(span)) return;
    }
  }

  /// A name of a constant, which no tensor has.
  void name_constant(const ast::Identifier& name, Value value) {
    if (find(name.text) || scope_.constants.contains(name.text)) {
      diagnostics_.error(Code::duplicate_name, name.span,
                         fmt::format("`{}` exists already; choose another name", name.text));
      return;
    }
    body_.variables().bind(name.text, std::move(value), name.span);
  }

  bool is_too_long(Span span) {
    constexpr std::size_t most = 10'000;
    if (pipeline_.launches.size() <= most) return false;
    diagnostics_.error(Code::program_too_large, span,
                       fmt::format("a pipeline launches at most {} kernels", most));
    return true;
  }

  void bind_stmt(const ast::If& stmt, Span) {
    for (const ast::IfArm& arm : stmt.arms) {
      const auto condition = bind_constant_condition(arm.condition, scope_);
      if (!condition) return;
      if (*condition) return bind_statements(arm.body);
    }
    if (stmt.else_body) bind_statements(*stmt.else_body);
  }

  /// `t = AllocateGlobal(..)`: any instruction that a pipeline may contain.
  void bind_stmt(const ast::Assign& stmt, Span span) {
    const std::string& name = stmt.targets[0].text;
    const auto* call = std::get_if<ast::Call>(&stmt.value.node);
    const ValueKind kind = classify(stmt.value, scope_);
    const bool is_constant = kind != ValueKind::tensor && kind != ValueKind::unknown;
    if (is_constant && stmt.targets.size() == 1 && !stmt.index) {
      auto value = bind_value(stmt.value, scope_);
      if (!value) return poison(name);
      if (to_constant(*value)) return name_constant(stmt.targets[0], *std::move(value));
    }
    if (call == nullptr || stmt.targets.size() != 1 || stmt.index) {
      diagnostics_.error(Code::misplaced, span,
                         "in a pipeline a name takes one new tensor: `t = AllocateGlobal(..)`");
      return poison(name);
    }
    if (find_kernel(call->callee.text) != nullptr) {
      diagnostics_.error(Code::no_result, span,
                         "a kernel gives no result; pass it the tensor that it writes");
      return poison(name);
    }
    const TensorOperand none = [this](const ast::Expr& expr) {
      diagnostics_.error(Code::misplaced, expr.span,
                         "a pipeline allocates tensors and calls kernels; what works on tiles "
                         "belongs in kernels");
      return std::optional<isa::VarId>();
    };
    const auto bound = bind_call(*call, stmt.value.span, scope_, none);
    if (!bound) return poison(name);
    if (!isa::description(bound->inst).in_pipeline) {
      diagnostics_.error(
          Code::misplaced, stmt.value.span,
          fmt::format("`{}` belongs in kernels, not in pipelines", isa::mnemonic(bound->inst)));
      return poison(name);
    }
    allocate(*bound, stmt.targets[0], stmt.value.span);
  }

  void allocate(const BoundCall& bound, const ast::Identifier& name, Span span) {
    isa::Kernel none;
    const isa::RuleContext context(none, target_, diagnostics_, span, bound.slot_spans);
    const auto types = isa::infer(bound.inst, context);
    const auto* type =
        types && types->size() == 1 ? std::get_if<isa::GlobalType>(&(*types)[0]) : nullptr;
    const auto* inst = std::get_if<isa::AllocateGlobal>(&bound.inst);
    if (type == nullptr || inst == nullptr) return poison(name.text);
    if (inst->layout && inst->layout->form != isa::ViewLayout::Form::row_major) {
      diagnostics_.error(Code::not_supported, span,
                         "a tensor of a pipeline is row-major; kernels view it as they like");
      return poison(name.text);
    }
    if (inst->init) {
      add_note(
          diagnostics_.error(Code::not_supported, span, "a tensor of a pipeline has no `init`"),
          "a workspace of a kernel has: put the `AllocateGlobal` into the `def`");
      return poison(name.text);
    }
    add_tensor({name.text, isa::PipelineTensor::Role::temporary, type->dtype, *type->static_shape(),
                name.span});
  }

  const isa::Kernel* find_kernel(const std::string& name) const {
    for (const isa::Kernel& kernel : program_.kernels) {
      if (kernel.name == name) return &kernel;
    }
    return nullptr;
  }

  void bind_stmt(const ast::ExprStmt& stmt, Span span) {
    const auto* call = std::get_if<ast::Call>(&stmt.value.node);
    if (call == nullptr) return bind_stmt(0, span);
    const isa::Kernel* kernel = find_kernel(call->callee.text);
    if (kernel == nullptr) return report_unknown_kernel(call->callee);
    isa::Launch launch;
    launch.kernel = static_cast<int>(kernel - program_.kernels.data());
    launch.span = span;
    const auto arguments = order_arguments(*call, *kernel, span);
    if (!arguments) return;
    for (std::size_t i = 0; i < arguments->size(); ++i) {
      const isa::Type& type = kernel->variable(kernel->parameters[i]).type;
      auto bound = bind_argument((*arguments)[i]->value, type);
      if (!bound) return;
      launch.arguments.push_back(*bound);
      launch.argument_spans.push_back((*arguments)[i]->value.span);
    }
    pipeline_.launches.push_back(std::move(launch));
  }

  void report_unknown_kernel(const ast::Identifier& name) {
    if (is_instruction(name.text)) {
      diagnostics_.error(Code::misplaced, name.span,
                         fmt::format("`{}` belongs in kernels, not in pipelines", name.text));
      return;
    }
    std::vector<std::string> known;
    for (const isa::Kernel& kernel : program_.kernels) known.push_back(kernel.name);
    const std::string near = nearest(name.text, known);
    auto& error = diagnostics_.error(
        Code::unknown_kernel, name.span,
        fmt::format("unknown kernel `{}`{}", name.text,
                    near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
    error.fix = near;
  }

  /// The arguments in the order of the parameters; nothing after a report.
  std::optional<std::vector<const ast::Argument*>> order_arguments(const ast::Call& call,
                                                                   const isa::Kernel& kernel,
                                                                   Span span) {
    std::vector<const ast::Argument*> ordered(kernel.parameters.size(), nullptr);
    std::size_t next = 0;
    for (const ast::Argument& argument : call.args) {
      std::size_t index = next;
      if (argument.name) {
        index = 0;
        while (index < ordered.size() &&
               kernel.variable(kernel.parameters[index]).name != argument.name->text) {
          ++index;
        }
        if (index == ordered.size()) {
          diagnostics_.error(
              Code::unknown_operand, argument.name->span,
              fmt::format("`{}` has no parameter `{}`", kernel.name, argument.name->text));
          return std::nullopt;
        }
      } else {
        ++next;
      }
      if (index >= ordered.size() || ordered[index] != nullptr) {
        diagnostics_.error(
            Code::argument_mismatch, argument.span,
            fmt::format("`{}` takes {} arguments, each once", kernel.name, ordered.size()));
        return std::nullopt;
      }
      ordered[index] = &argument;
    }
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      if (ordered[i] != nullptr) continue;
      const isa::Variable& parameter = kernel.variable(kernel.parameters[i]);
      add_note(diagnostics_.error(
                   Code::argument_mismatch, span,
                   fmt::format("`{}` is called without `{}`", kernel.name, parameter.name)),
               "the parameter is declared here", parameter.span);
      return std::nullopt;
    }
    return ordered;
  }

  std::optional<std::variant<int, isa::Scalar>> bind_argument(const ast::Expr& expr,
                                                              const isa::Type& parameter) {
    const auto* name = std::get_if<ast::Name>(&expr.node);
    if (name != nullptr) {
      if (const auto tensor = find(name->text)) return *tensor;
      if (is_poisoned(name->text)) return std::nullopt;
      if (classify(expr, scope_) == ValueKind::unknown) {
        std::vector<std::string> known;
        for (const auto& tensor : pipeline_.tensors) known.push_back(tensor.name);
        const std::string near = nearest(name->text, known);
        auto& error = diagnostics_.error(
            Code::unknown_name, expr.span,
            fmt::format("unknown tensor `{}`{}", name->text,
                        near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
        error.fix = near;
        return std::nullopt;
      }
    }
    const auto value = bind_scalar(expr, scope_);
    if (!value || !value->constant_value()) return std::nullopt;
    isa::Scalar scalar = *value->constant_value();
    // An integer constant takes the kind of the parameter if it fits.
    const auto* kind = std::get_if<isa::ScalarType>(&parameter);
    if (kind != nullptr && scalar.is_integer() && kind->kind != isa::ScalarKind::boolean) {
      const isa::Scalar converted = isa::convert(scalar, kind->kind);
      if (isa::convert(converted, scalar.kind) == scalar) scalar = converted;
    }
    return scalar;
  }

  const isa::Program& program_;
  isa::Target target_;
  Diagnostics& diagnostics_;
  ConstantBody body_;
  const BindScope& scope_ = body_.scope();
  isa::Pipeline pipeline_;
  std::vector<std::string> poisoned_;
};

}  // namespace

isa::Pipeline bind_pipeline(const ast::Pipeline& tree, const isa::Program& program,
                            const Constants& constants, const Functions& functions,
                            const isa::Target& target, Inlining& inlining,
                            Diagnostics& diagnostics) {
  return PipelineBinder(program, constants, functions, target, inlining, diagnostics).bind(tree);
}

}  // namespace tilevm::frontend
