// More than 400 lines: one binder, with a function for each kind of statement.
#include "frontend/bind/bind_pipeline.h"
#include "frontend/bind/expressions.h"
#include "frontend/bind/inlining.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/bind/bind_body.h"
#include "frontend/bind/bind_call.h"
#include "isa/base/suggest.h"
#include "isa/rules/rules.h"

namespace tilevm::frontend {
namespace {

constexpr std::int64_t max_extent = std::int64_t{1} << 40;

/// Operands in a pipeline: it has no tiles.
class NoTensors final : public OperandBinder {
 public:
  explicit NoTensors(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  std::optional<isa::VarId> operand(const ast::Expr& expr, Wanted) override {
    diagnostics_.error(Code::misplaced, expr.span,
                       "a pipeline allocates tensors and calls kernels; what works on tiles "
                       "belongs in kernels");
    return std::nullopt;
  }
  std::optional<TileOrScalar> tile_or_scalar(const ast::Expr& expr) override {
    (void)operand(expr, Wanted::tile);
    return std::nullopt;
  }
  std::optional<isa::VarId> splat(const isa::Expr&, const ast::Expr& tree, isa::VarId) override {
    return operand(tree, Wanted::tile);
  }

 private:
  Diagnostics& diagnostics_;
};

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
    // Extents may name scalars that stand after them.
    std::size_t tensors = 0;
    for (const ast::PipelineParam& param : tree.inputs) {
      param.shape ? void(++tensors) : bind_scalar_parameter(param, Role::input, tensors);
    }
    for (const ast::PipelineParam& param : tree.inputs) {
      if (param.shape) bind_tensor(param, Role::input);
    }
    for (const ast::PipelineParam& param : tree.outputs) {
      param.shape ? bind_tensor(param, Role::output)
                  : bind_scalar_parameter(param, Role::output, tensors);
    }
    bind_statements(tree.body);
    return std::move(pipeline_);
  }

 private:
  /// `n: i32`: extents and arguments of kernels may depend on it.
  void bind_scalar_parameter(const ast::PipelineParam& param, isa::PipelineTensor::Role role,
                             std::size_t tensors_before) {
    const auto* type = std::get_if<ast::Name>(&param.type.node);
    const auto kind = type != nullptr ? isa::parse_scalar_kind(type->text) : std::nullopt;
    if (role == isa::PipelineTensor::Role::output || param.inout) {
      diagnostics_.error(
          Code::not_supported, param.span,
          fmt::format(
              "`{}` has no extents; what a pipeline gives are tensors, such as `{}: f32[1]`",
              param.name.text, param.name.text));
      return poison(param.name.text);
    }
    if (!kind) {
      diagnostics_.error(
          Code::scalar_type, param.type.span,
          fmt::format(
              "`{}` has no extents, so that it is a scalar: its type is i32, i64, u32, u64, "
              "f32 or bool; a tensor has extents, as in `{}: f16[M, K]`",
              param.name.text, param.name.text));
      return poison(param.name.text);
    }
    if (!is_new_name(param.name)) return;
    const isa::ScalarKind known = kind.value_or(isa::ScalarKind::i32);
    body_.variables().declare(param.name.text, isa::ScalarType{known}, param.name.span);
    pipeline_.scalars.push_back({param.name.text, known, param.name.span, tensors_before});
  }

  void bind_tensor(const ast::PipelineParam& param, isa::PipelineTensor::Role role) {
    if (param.inout && role == isa::PipelineTensor::Role::output) {
      diagnostics_.error(Code::misplaced, param.span,
                         "`inout` is written among the inputs: the tensor is given and changed in "
                         "place");
      return poison(param.name.text);
    }
    if (param.inout) role = isa::PipelineTensor::Role::inout;
    const auto type = bind_dtype(param.type, scope_);
    std::vector<isa::Expr> extents;
    bool ok = type.has_value();
    for (const ast::Expr& extent : *param.shape) {
      auto bound = bind_extent(extent);
      ok = ok && bound.has_value();
      if (bound) extents.push_back(*std::move(bound));
    }
    if (!ok) return poison(param.name.text);
    add_tensor({param.name.text, role, *type, std::move(extents), param.name.span});
  }

  /// An extent: a constant, or an integer expression of the scalar parameters.
  std::optional<isa::Expr> bind_extent(const ast::Expr& extent) {
    const auto value = bind_scalar(extent, scope_);
    if (!value || !depends_on_parameters(*value, extent.span)) return std::nullopt;
    if (!value->is_constant() && isa::is_integer(value->kind())) return value->at(extent.span);
    const auto constant = bind_integer(extent, scope_);
    if (constant && (*constant < 1 || *constant > max_extent)) {
      diagnostics_.error(Code::bad_shape, extent.span,
                         fmt::format("extent {}; extents are 1 to 2^40", *constant));
      return std::nullopt;
    }
    if (!constant) return std::nullopt;
    return isa::Expr::constant(*constant, extent.span);
  }

  /// What a function computes by instructions does not exist on the host.
  bool depends_on_parameters(const isa::Expr& expr, Span span) {
    bool ok = true;
    isa::for_each_variable(expr, [&](isa::VarId var) {
      ok = ok && static_cast<std::size_t>(var.index) < pipeline_.scalars.size();
    });
    if (!ok) {
      diagnostics_.error(Code::misplaced, span,
                         "a pipeline computes with constants and its scalar parameters; what "
                         "instructions give belongs in kernels");
    }
    return ok;
  }

  bool is_new_name(const ast::Identifier& name) {
    if (!find(name.text) && !scope_.constants.contains(name.text) &&
        !body_.variables().find(name.text)) {
      return true;
    }
    diagnostics_.error(Code::duplicate_name, name.span,
                       fmt::format("`{}` exists already; choose another name", name.text));
    return false;
  }

  void add_tensor(isa::PipelineTensor tensor) {
    if (const auto existing = find(tensor.name)) {
      auto& error = diagnostics_.error(Code::duplicate_name, tensor.span,
                                       fmt::format("tensor `{}` exists already", tensor.name));
      add_note(error, "it was declared here",
               pipeline_.tensors[static_cast<std::size_t>(*existing)].span);
      return;
    }
    if (scope_.constants.contains(tensor.name) || body_.variables().find(tensor.name)) {
      const bool is_constant = scope_.constants.contains(tensor.name);
      diagnostics_.error(Code::duplicate_name, tensor.span,
                         fmt::format("`{}` is a {}; choose another name", tensor.name,
                                     is_constant ? "constant" : "scalar"));
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
      if (!scope_.spend({1, 0}, stmt.span)) return;
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
      if (!scope_.spend(cost_of(value), span)) return;
      body_.variables().enter(true);
      name_constant(stmt.variables[0], value);
      bind_statements(stmt.body);
      body_.variables().leave();
      if (diagnostics_.error_count() > errors || is_too_long(span)) return;
    }
  }

  /// A name of a constant, which no tensor has.
  void name_constant(const ast::Identifier& name, Value value) {
    const auto known = body_.variables().find(name.text);
    if (find(name.text) || scope_.constants.contains(name.text) ||
        (known && is_parameter(known->var))) {
      diagnostics_.error(Code::duplicate_name, name.span,
                         fmt::format("`{}` exists already; choose another name", name.text));
      return;
    }
    body_.variables().bind(name.text, std::move(value), name.span);
  }

  bool is_parameter(isa::VarId var) const {
    return var.valid() && static_cast<std::size_t>(var.index) < pipeline_.scalars.size();
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
      if (const auto* scalar = std::get_if<isa::Expr>(&value->node)) {
        if (!depends_on_parameters(*scalar, stmt.value.span)) return poison(name);
        return name_constant(stmt.targets[0], *std::move(value));
      }
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
    NoTensors none(diagnostics_);
    auto [constant_call, extents] = with_constant_extents(*call);
    const auto bound = bind_call(constant_call, stmt.value.span, scope_, none);
    if (!bound) return poison(name);
    if (!isa::description(bound->inst).in_pipeline) {
      diagnostics_.error(
          Code::misplaced, stmt.value.span,
          fmt::format("`{}` belongs in kernels, not in pipelines", isa::mnemonic(bound->inst)));
      return poison(name);
    }
    allocate(*bound, stmt.targets[0], stmt.value.span, std::move(extents));
  }

  /// The extents of a list that are known only when the pipeline runs, by their positions.
  using Extents = std::vector<std::pair<std::size_t, isa::Expr>>;

  /// A call with 1 in place of such extents, since instructions have constant ones.
  std::pair<ast::Call, Extents> with_constant_extents(const ast::Call& call) {
    std::pair<ast::Call, Extents> result{call, {}};
    if (pipeline_.scalars.empty()) return result;
    for (ast::Argument& argument : result.first.args) {
      auto* list = std::get_if<ast::List>(&argument.value.node);
      if (list == nullptr || (argument.name && argument.name->text != "shape")) continue;
      for (std::size_t i = 0; i < list->entries.size(); ++i) {
        ast::Expr& extent = list->entries[i].value;
        if (classify(extent, scope_) != ValueKind::scalar) continue;
        const auto value = bind_scalar(extent, scope_);
        if (!value || value->is_constant() || !isa::is_integer(value->kind())) continue;
        if (!depends_on_parameters(*value, extent.span)) continue;
        result.second.emplace_back(i, value->at(extent.span));
        extent.node = ast::Integer{1, "1"};
      }
    }
    return result;
  }

  void allocate(const BoundCall& bound, const ast::Identifier& name, Span span, Extents given) {
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
    std::vector<isa::Expr> extents = isa::constant_extents(*type->static_shape());
    for (auto& [i, extent] : given) {
      if (i < extents.size()) extents[i] = std::move(extent);
    }
    add_tensor({name.text, isa::PipelineTensor::Role::temporary, type->dtype, std::move(extents),
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
    isa::PipelineLaunch launch;
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

  std::optional<std::variant<int, isa::Expr>> bind_argument(const ast::Expr& expr,
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
    if (!value || !depends_on_parameters(*value, expr.span)) return std::nullopt;
    const auto* kind = std::get_if<isa::ScalarType>(&parameter);
    if (!value->is_constant()) return value->at(expr.span);
    isa::Scalar scalar = *value->constant_value();
    // An integer constant takes the kind of the parameter if it fits.
    if (kind != nullptr && scalar.is_integer() && kind->kind != isa::ScalarKind::boolean) {
      const isa::Scalar converted = isa::convert(scalar, kind->kind);
      if (isa::convert(converted, scalar.kind) == scalar) scalar = converted;
    }
    return isa::Expr::constant(scalar, expr.span);
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
