#include "isa/verify/verify_pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/base/check.h"

namespace tilevm::isa {
namespace {

class PipelineVerifier {
 public:
  PipelineVerifier(const Program& program, const Pipeline& pipeline,
                   const std::vector<std::vector<PointerUse>>& uses, Diagnostics& diagnostics)
      : program_(program), pipeline_(pipeline), uses_(uses), diagnostics_(diagnostics) {
    for (const PipelineTensor& tensor : pipeline.tensors) {
      written_.push_back(tensor.is_input());
      stored_.push_back(false);
    }
  }

  void run() {
    for (const PipelineLaunch& launch : pipeline_.launches) check(launch);
    for (std::size_t i = 0; i < pipeline_.tensors.size(); ++i) {
      const PipelineTensor& tensor = pipeline_.tensors[i];
      if (stored_[i] || !tensor.is_output()) continue;
      diagnostics_.error(Code::unset_output, tensor.span,
                         fmt::format("output `{}` of pipeline `{}` is never written", tensor.name,
                                     pipeline_.name));
    }
  }

 private:
  void check(const PipelineLaunch& launch) {
    TILEVM_CHECK(
        launch.kernel >= 0 && static_cast<std::size_t>(launch.kernel) < program_.kernels.size(),
        "a launch of an unknown kernel");
    const Kernel& kernel = program_.kernels[static_cast<std::size_t>(launch.kernel)];
    if (launch.arguments.size() != kernel.parameters.size()) {
      add_note(diagnostics_.error(Code::argument_mismatch, launch.span,
                                  fmt::format("`{}` takes {} arguments, {} are given", kernel.name,
                                              kernel.parameters.size(), launch.arguments.size())),
               "the kernel is defined here", kernel.span);
      return;
    }
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) check_argument(launch, kernel, i);
  }

  Span argument_span(const PipelineLaunch& launch, std::size_t i) const {
    return i < launch.argument_spans.size() ? launch.argument_spans[i] : launch.span;
  }

  void check_argument(const PipelineLaunch& launch, const Kernel& kernel, std::size_t i) {
    const Variable& parameter = kernel.variable(kernel.parameters[i]);
    const Span span = argument_span(launch, i);
    if (const auto* scalar = std::get_if<Expr>(&launch.arguments[i])) {
      if (parameter.type == Type{ScalarType{scalar->kind()}}) return;
      mismatch(span, kernel, parameter,
               fmt::format("`{}` of `{}` is {}, a scalar of kind {} is given", parameter.name,
                           kernel.name, to_string(parameter.type), to_string(scalar->kind())));
      return;
    }
    const auto index = static_cast<std::size_t>(*std::get_if<int>(&launch.arguments[i]));
    TILEVM_CHECK(index < pipeline_.tensors.size(), "an argument that the pipeline does not have");
    const PipelineTensor& tensor = pipeline_.tensors[index];
    if (parameter.type != Type{PointerType{tensor.dtype}}) {
      mismatch(
          span, kernel, parameter,
          fmt::format("`{}` of `{}` is {}, but tensor `{}` holds {}", parameter.name, kernel.name,
                      to_string(parameter.type), tensor.name, to_string(tensor.dtype)));
      return;
    }
    check_use(launch, kernel, i, index, span);
  }

  void check_use(const PipelineLaunch& launch, const Kernel& kernel, std::size_t i,
                 std::size_t index, Span span) {
    const PipelineTensor& tensor = pipeline_.tensors[index];
    for (const PointerUse& use : uses_[static_cast<std::size_t>(launch.kernel)]) {
      if (use.parameter != kernel.parameters[i]) continue;
      // A kernel that stores as well may store first: whether it does is for the run to find.
      if (use.read && !use.written && !written_[index]) {
        diagnostics_.error(Code::never_written, span,
                           fmt::format("`{}` reads `{}`, which nothing has written yet",
                                       kernel.name, tensor.name));
      }
      if (use.written) written_[index] = stored_[index] = true;
      check_size(kernel, use, tensor, span);
    }
  }

  /// A view of constant shape must fit its tensor, if that has constant extents.
  void check_size(const Kernel& kernel, const PointerUse& use, const PipelineTensor& tensor,
                  Span span) {
    const std::optional<Shape> shape = tensor.static_shape();
    if (!shape) return;
    const std::string misfit = view_misfit(kernel, use, tensor, *shape);
    if (misfit.empty()) return;
    mismatch(span, kernel, kernel.variable(use.parameter), misfit);
  }

  void mismatch(Span span, const Kernel& kernel, const Variable& parameter, std::string message) {
    add_note(diagnostics_.error(Code::argument_mismatch, span, std::move(message)),
             fmt::format("parameter `{}` of `{}` is declared here", parameter.name, kernel.name),
             parameter.span);
  }

  const Program& program_;
  const Pipeline& pipeline_;
  const std::vector<std::vector<PointerUse>>& uses_;
  Diagnostics& diagnostics_;
  std::vector<bool> written_;  ///< whether the tensor is written, or an input
  std::vector<bool> stored_;   ///< whether a kernel stores to the tensor
};

}  // namespace

std::string view_misfit(const Kernel& kernel, const PointerUse& use, const PipelineTensor& tensor,
                        const Shape& shape) {
  if (!use.dtype || !use.shape) return {};
  const std::int64_t elements = element_count(*use.shape);
  const std::int64_t viewed =
      saturating_product(std::min(use.elements.value_or(elements), elements), use.dtype->bits);
  const std::int64_t given = saturating_product(element_count(shape), tensor.dtype.bits);
  if (viewed <= given) return {};
  return fmt::format("`{}` views `{}` as {}{} ({} bits), but tensor `{}` is {}{} ({} bits)",
                     kernel.name, kernel.variable(use.parameter).name, to_string(*use.dtype),
                     to_string(*use.shape), viewed, tensor.name, to_string(tensor.dtype),
                     to_string(shape), given);
}

void verify_pipeline(const Program& program, const Pipeline& pipeline,
                     const std::vector<std::vector<PointerUse>>& uses, Diagnostics& diagnostics) {
  PipelineVerifier(program, pipeline, uses, diagnostics).run();
}

}  // namespace tilevm::isa
