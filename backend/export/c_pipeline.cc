#include "backend/export/c_pipeline.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/export/c_expr.h"
#include "backend/select/names.h"

namespace tilevm::backend {
namespace {

class PipelineHeader {
 public:
  PipelineHeader(const isa::Pipeline& pipeline, const std::vector<CKernel>& kernels,
                 const std::string& name, const std::string& prefix)
      : pipeline_(pipeline), kernels_(kernels), name_(name), prefix_(prefix) {
    for (const isa::PipelineScalar& scalar : pipeline.scalars) {
      scalar_names_.push_back(argument_name(scalar.name));
    }
    for (const isa::PipelineTensor& tensor : pipeline.tensors) {
      tensor_names_.push_back(argument_name(tensor.name));
    }
    for (const isa::PipelineLaunch& launch : pipeline.launches) {
      const bool known = std::find(used_.begin(), used_.end(), launch.kernel) != used_.end();
      if (!known) used_.push_back(launch.kernel);
      workspace_bytes_ = std::max(workspace_bytes_, kernel(launch).workspace_bytes);
    }
  }

  [[nodiscard]] std::string text() const {
    return comment() + load_function() + memory_function() + launch_function();
  }

  /// Nothing if every expression can be written.
  [[nodiscard]] std::optional<Error> fault() const {
    for (const isa::PipelineLaunch& launch : pipeline_.launches) {
      for (const auto& argument : launch.arguments) {
        const auto* expr = std::get_if<isa::Expr>(&argument);
        if (expr == nullptr || is_plain(*expr) || !has_floats(*expr)) continue;
        return refuse(*expr);
      }
    }
    for (const isa::PipelineTensor& tensor : pipeline_.tensors) {
      const auto wrong = std::find_if(tensor.extents.begin(), tensor.extents.end(), has_floats);
      if (wrong != tensor.extents.end()) return refuse(*wrong);
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] const CKernel& kernel(const isa::PipelineLaunch& launch) const {
    return kernels_[static_cast<std::size_t>(launch.kernel)];
  }

  [[nodiscard]] Error refuse(const isa::Expr& expr) const {
    return {
        ErrorKind::program,
        fmt::format("there is no header for pipeline `{}`: it computes `{}` with f32; compute it "
                    "before the call, and pass it as a parameter",
                    pipeline_.name, to_string(expr))};
  }

  /// A parameter or a constant, also of f32.
  [[nodiscard]] static bool is_plain(const isa::Expr& expr) {
    return expr.is_constant() || std::holds_alternative<isa::Expr::Variable>(expr.node());
  }

  /// An underscore at the end keeps the names of the program apart from those of the functions.
  std::string argument_name(const std::string& wanted) { return names_.unique(wanted) + '_'; }

  [[nodiscard]] std::string value(const isa::Expr& expr) const {
    const auto constant = expr.constant_value();
    if (constant && expr.kind() == isa::ScalarKind::f32) {
      return fmt::format("{}_f32({:#x}u)", prefix_, constant->bits);
    }
    return c_expression(expr, prefix_, [&](isa::VarId var) {
      return scalar_names_[static_cast<std::size_t>(var.index)];
    });
  }

  [[nodiscard]] std::string comment() const {
    std::string text = fmt::format("\n// Pipeline {}:\n", in_comment(pipeline_.name));
    std::size_t scalar = 0, tensors = 0;
    const auto add_scalars = [&](bool all) {
      for (; scalar < pipeline_.scalars.size(); ++scalar) {
        if (!all && pipeline_.scalars[scalar].tensors_before > tensors) return;
        text += fmt::format("//   {:<20}  {}\n", scalar_names_[scalar],
                            to_string(pipeline_.scalars[scalar].kind));
      }
    };
    for (std::size_t i = 0; i < pipeline_.tensors.size(); ++i) {
      const isa::PipelineTensor& tensor = pipeline_.tensors[i];
      if (!tensor.is_parameter()) continue;
      add_scalars(false);
      ++tensors;
      std::vector<std::string> extents;
      for (const isa::Expr& extent : tensor.extents) extents.push_back(to_string(extent));
      const bool changes = tensor.role == isa::PipelineTensor::Role::inout;
      text += fmt::format("//   {:<20}  {}[{}]{}\n", tensor_names_[i], to_string(tensor.dtype),
                          in_comment(fmt::format("{}", fmt::join(extents, ", "))),
                          changes              ? ", changed in place"
                          : tensor.is_output() ? ", written"
                                               : "");
    }
    add_scalars(true);
    return text;
  }

  [[nodiscard]] std::string load_function() const {
    std::string text = fmt::format("typedef struct {}_functions {{\n", name_);
    for (const int used : used_) text += fmt::format("  CUfunction kernel_{};\n", used);
    if (used_.empty()) text += "  CUfunction none;\n";
    text += fmt::format(
        "}} {0}_functions;\nstatic inline CUresult {0}_load({0}_functions* functions, CUmodule "
        "module) {{\n  CUresult result = CUDA_SUCCESS;\n  (void)functions;\n  (void)module;\n",
        name_);
    for (const int used : used_) {
      text += fmt::format(
          "  if (result == CUDA_SUCCESS) result = {}_load(&functions->kernel_{}, module);\n",
          kernels_[static_cast<std::size_t>(used)].name, used);
    }
    return text + "  return result;\n}\n";
  }

  /// The scalars, each after a comma, with their types or without.
  [[nodiscard]] std::string scalars(bool with_types) const {
    std::string text;
    for (std::size_t i = 0; i < scalar_names_.size(); ++i) {
      if (with_types) text += c_type(pipeline_.scalars[i].kind) + ' ';
      text += scalar_names_[i] + ", ";
    }
    return text;
  }

  /// The places of temporary tensors, and the end of them all.
  [[nodiscard]] std::string places(bool keep) const {
    std::string text = "  int fault = 0;\n  int64_t end = 0;\n";
    for (const std::string& scalar : scalar_names_) text += fmt::format("  (void){};\n", scalar);
    for (std::size_t i = 0; i < pipeline_.tensors.size(); ++i) {
      const isa::PipelineTensor& tensor = pipeline_.tensors[i];
      std::string extents;
      for (const isa::Expr& extent : tensor.extents) {
        extents += fmt::format("(int64_t){}, ", value(extent));
      }
      const bool is_temporary = !tensor.is_parameter();
      text += fmt::format("  {{\n    const int64_t extents[] = {{{}1}};\n", extents);
      const std::string bytes = fmt::format("{}_bytes({}, extents, {}, &fault)", prefix_,
                                            tensor.dtype.bits, tensor.extents.size());
      if (is_temporary && keep) {
        text += fmt::format("    {} = memory + (CUdeviceptr)end;\n", tensor_names_[i]);
      }
      text += is_temporary ? fmt::format("    end += ({} / 256 + 1) * 256;\n", bytes)
                           : fmt::format("    (void){};\n", bytes);
      text += "  }\n";
    }
    return text;
  }

  [[nodiscard]] std::string memory_function() const {
    return fmt::format(
               "// How much device memory, at a multiple of 256, a launch needs besides its "
               "tensors: "
               "launches\n// that may run at the same time need it each. INVALID_VALUE: an extent "
               "is "
               "not from 1 to 2^40.\nstatic inline CUresult {}_memory({}size_t* bytes) {{\n",
               name_, scalars(true)) +
           places(false) + fmt::format("  *bytes = (size_t)(end + {});\n", workspace_bytes_) +
           "  return fault ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;\n}\n";
  }

  [[nodiscard]] std::string launch_signature() const {
    std::string text = fmt::format(
        "static inline CUresult {0}_launch(const {0}_functions* functions, CUstream stream", name_);
    std::size_t scalar = 0, tensors = 0;
    const auto add_scalars = [&](bool all) {
      for (; scalar < pipeline_.scalars.size(); ++scalar) {
        if (!all && pipeline_.scalars[scalar].tensors_before > tensors) return;
        text +=
            fmt::format(", {} {}", c_type(pipeline_.scalars[scalar].kind), scalar_names_[scalar]);
      }
    };
    for (std::size_t i = 0; i < pipeline_.tensors.size(); ++i) {
      if (!pipeline_.tensors[i].is_parameter()) continue;
      add_scalars(false);
      ++tensors;
      text += ", CUdeviceptr " + tensor_names_[i];
    }
    add_scalars(true);
    return text + ", CUdeviceptr memory) {\n";
  }

  [[nodiscard]] std::string launch_function() const {
    std::string text = launch_signature();
    for (std::size_t i = 0; i < pipeline_.tensors.size(); ++i) {
      if (pipeline_.tensors[i].is_parameter()) continue;
      text += fmt::format("  CUdeviceptr {} = 0;\n", tensor_names_[i]);
    }
    text +=
        "  CUresult result = CUDA_SUCCESS;\n  (void)functions;\n  (void)memory;\n" + places(true);
    text += "  if (fault) return CUDA_ERROR_INVALID_VALUE;\n";
    for (const isa::PipelineLaunch& launch : pipeline_.launches) {
      std::string arguments, values;
      for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
        if (const auto* tensor = std::get_if<int>(&launch.arguments[i])) {
          arguments += ", " + tensor_names_[static_cast<std::size_t>(*tensor)];
          continue;
        }
        const isa::Expr& expr = *std::get_if<isa::Expr>(&launch.arguments[i]);
        values +=
            fmt::format("    const {} argument_{} = {};\n", c_type(expr.kind()), i, value(expr));
        arguments += fmt::format(", argument_{}", i);
      }
      if (kernel(launch).workspace_bytes > 0) arguments += ", memory + (CUdeviceptr)end";
      text += fmt::format(
          "  if (result == CUDA_SUCCESS) {{\n{}    if (fault) return CUDA_ERROR_INVALID_VALUE;\n"
          "    result = {}_launch(functions->kernel_{}, stream{});\n  }}\n",
          values, kernel(launch).name, launch.kernel, arguments);
    }
    return text + "  return result;\n}\n";
  }

  const isa::Pipeline& pipeline_;
  const std::vector<CKernel>& kernels_;
  const std::string &name_, &prefix_;
  NameTable names_;
  std::vector<std::string> scalar_names_, tensor_names_;
  std::vector<int> used_;  ///< kernels, in the order of their first launch
  std::int64_t workspace_bytes_ = 0;
};

constexpr const char* pipeline_helpers =
    R"(static inline int64_t @_bytes(int64_t bits, const int64_t* extents, int rank, int* fault) {
  int64_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    if (extents[i] < 1 || extents[i] > ((int64_t)1 << 40) ||
        elements > ((int64_t)1 << 46) / extents[i]) {
      *fault = 1;
      return 0;
    }
    elements *= extents[i];
  }
  return (elements * bits + 7) / 8;
}
static inline float @_f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
)";

}  // namespace

std::string in_comment(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c == '\\' || c > '~'; }, '?');
  return text;
}

Result<std::string> c_pipeline(const isa::VerifiedProgram& program, const isa::Pipeline& pipeline,
                               const std::vector<CKernel>& kernels, const std::string& name,
                               const std::string& prefix) {
  TILEVM_CHECK(kernels.size() == program.program().kernels.size(), "a header without its kernels");
  const PipelineHeader header(pipeline, kernels, name, prefix);
  if (auto fault = header.fault()) return *std::move(fault);
  return header.text();
}

std::string c_pipeline_helpers(const std::string& prefix) {
  std::string text = pipeline_helpers;
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos;) {
    text.replace(at, 1, prefix);
  }
  return text;
}

}  // namespace tilevm::backend
