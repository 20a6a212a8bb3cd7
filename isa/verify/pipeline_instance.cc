#include "isa/verify/pipeline_instance.h"

#include <fmt/format.h>

#include "isa/verify/verify_pipeline.h"

namespace tilevm::isa {
namespace {

class Instance {
 public:
  Instance(const VerifiedProgram& program, int pipeline, std::span<const Scalar> values)
      : program_(program),
        pipeline_(program.program().pipelines[static_cast<std::size_t>(pipeline)]),
        values_(values) {
    TILEVM_CHECK(values.size() == pipeline_.scalars.size(), "a pipeline without its scalars");
  }

  Result<PipelineInstance> make() {
    for (const PipelineTensor& tensor : pipeline_.tensors) {
      if (Status added = add_shape(tensor); !added) return added.error();
    }
    for (const PipelineLaunch& launch : pipeline_.launches) {
      if (Status added = add_launch(launch); !added) return added.error();
    }
    return std::move(result_);
  }

 private:
  Error fault(Code code, const std::string& what) const {
    std::string given;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      given += fmt::format("{}{} = {}", i == 0 ? " for " : ", ", pipeline_.scalars[i].name,
                           to_string(values_[i]));
    }
    const std::string name = to_string(code);
    return {ErrorKind::usage,
            fmt::format("pipeline `{}`{}: {} [{}]", pipeline_.name, given, what, name), name};
  }

  std::optional<Scalar> value_of(const Expr& expr) const {
    return evaluate(expr, [&](VarId var) { return values_[static_cast<std::size_t>(var.index)]; });
  }

  Status add_shape(const PipelineTensor& tensor) {
    Shape shape;
    for (const Expr& extent : tensor.extents) {
      const std::optional<Scalar> value = value_of(extent);
      if (!value) {
        return fault(Code::division_by_zero, fmt::format("extent `{}` of `{}` divides by zero",
                                                         to_string(extent), tensor.name));
      }
      shape.push_back(value->as_int());
      if (shape.back() < 1 || shape.back() > max_pipeline_extent) {
        return fault(Code::bad_shape,
                     fmt::format("extent `{}` of `{}` is {}; extents are 1 to 2^40",
                                 to_string(extent), tensor.name, shape.back()));
      }
    }
    result_.shapes.push_back(std::move(shape));
    return Done{};
  }

  Status add_launch(const PipelineLaunch& launch) {
    const Kernel& kernel = program_.kernel(launch.kernel);
    Launch made{launch.kernel, {}, launch.span, launch.argument_spans};
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      if (const auto* tensor = std::get_if<int>(&launch.arguments[i])) {
        if (Status fits = check_view(launch.kernel, kernel.parameters[i], *tensor); !fits) {
          return fits;
        }
        made.arguments.emplace_back(*tensor);
        continue;
      }
      const Expr& expr = *std::get_if<Expr>(&launch.arguments[i]);
      const std::optional<Scalar> value = value_of(expr);
      if (!value) {
        return fault(Code::division_by_zero, fmt::format("argument `{}` of `{}` divides by zero",
                                                         to_string(expr), kernel.name));
      }
      made.arguments.emplace_back(*value);
    }
    result_.launches.push_back(std::move(made));
    return Done{};
  }

  Status check_view(int kernel, VarId parameter, int tensor) const {
    const auto index = static_cast<std::size_t>(tensor);
    for (const PointerUse& use : program_.pointer_uses(kernel)) {
      if (use.parameter != parameter) continue;
      const std::string misfit = view_misfit(program_.kernel(kernel), use, pipeline_.tensors[index],
                                             result_.shapes[index]);
      if (!misfit.empty()) return fault(Code::argument_mismatch, misfit);
    }
    return Done{};
  }

  const VerifiedProgram& program_;
  const Pipeline& pipeline_;
  std::span<const Scalar> values_;
  PipelineInstance result_;
};

}  // namespace

Result<PipelineInstance> instantiate(const VerifiedProgram& program, int pipeline,
                                     std::span<const Scalar> values) {
  return Instance(program, pipeline, values).make();
}

}  // namespace tilevm::isa
