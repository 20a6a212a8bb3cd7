#include "backend/export/c_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "backend/export/c_expr.h"
#include "backend/export/c_pipeline.h"
#include "backend/select/names.h"

namespace tilevm::backend {
namespace {

using Role = CudaParameter::Role;

/// As the engine aligns workspaces, and as the end of a tensor is padded.
constexpr std::int64_t workspace_alignment = 256;

/// Names that the functions of a kernel use themselves.
constexpr auto names_of_functions =
    std::to_array<std::string_view>({"function", "stream", "grid", "result", "arguments", "fault",
                                     "x", "y", "z", "extents", "strides", "box", "steps", "made"});

/// One kernel for all targets.
class KernelHeader {
 public:
  KernelHeader(const isa::VerifiedProgram& program, const std::vector<CudaSource>& sources,
               std::size_t index, std::string prefix, std::string name)
      : kernel_(program.kernel(static_cast<int>(index))),
        emitted_(sources.front().kernels[index]),
        helpers_(std::move(prefix)),
        name_(std::move(name)) {
    for (const CudaSource& source : sources) {
      shared_bytes_ = std::max(shared_bytes_, source.kernels[index].shared_bytes);
    }
    place_workspaces(sources, index);
    for (const isa::VarId var : kernel_.parameters) {
      arguments_.push_back(argument_name(kernel_.variable(var).name));
    }
  }

  [[nodiscard]] CKernel kernel() const {
    return {name_, workspaces_.empty() ? 0 : workspace_bytes_};
  }

  [[nodiscard]] std::string text() const {
    return comment() + constants() + load_function() + grid_function() + launch_function();
  }

 private:
  struct Workspace {
    std::int64_t offset = 0, bytes = 0;
    bool zeroed = false;
  };

  /// Parameters whose names may mean something in the functions end in an underscore, which no
  /// other name does.
  std::string argument_name(const std::string& wanted) {
    const std::string name = names_.unique(wanted);
    const auto& taken = names_of_functions;
    const bool clashes = std::find(taken.begin(), taken.end(), name) != taken.end() ||
                         name.starts_with("cu") || name.starts_with("CU") ||
                         name.starts_with("workspace") || name.starts_with("map_") ||
                         name.starts_with(helpers_ + '_') || name.ends_with("_t");
    return clashes ? name + '_' : name;
  }

  /// Places the workspaces one after another in a single allocation.
  void place_workspaces(const std::vector<CudaSource>& sources, std::size_t index) {
    for (std::size_t p = 0; p < emitted_.parameters.size(); ++p) {
      if (emitted_.parameters[p].role != Role::workspace) continue;
      Workspace workspace{workspace_bytes_, 0, emitted_.parameters[p].zeroed};
      for (const CudaSource& source : sources) {
        workspace.bytes =
            std::max(workspace.bytes, source.kernels[index].parameters[p].workspace_bytes);
      }
      workspaces_.push_back(workspace);
      workspace_bytes_ +=
          (workspace.bytes / workspace_alignment + 1) * workspace_alignment;  // with padding
    }
  }

  [[nodiscard]] bool is_scalar(std::size_t parameter) const {
    return emitted_.parameters[parameter].role == Role::scalar;
  }

  [[nodiscard]] std::string comment() const {
    std::string text = fmt::format("\n// {}: {} threads a block, {} bytes of shared memory.\n",
                                   in_comment(kernel_.name), emitted_.threads, shared_bytes_);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const isa::Type& type = kernel_.variable(kernel_.parameters[i]).type;
      const auto* pointer = std::get_if<isa::PointerType>(&type);
      text +=
          fmt::format("//   {:<20}  {}\n", arguments_[i],
                      pointer != nullptr ? to_string(pointer->dtype) + "*"
                                         : std::string(to_string(emitted_.parameters[i].scalar)));
    }
    text += "// Elements of a tensor that no block stores keep what the memory held.\n";
    std::vector<std::string> extents;
    for (const isa::Expr& extent : kernel_.grid) extents.push_back(to_string(extent));
    text += fmt::format("// The grid is {}.\n",
                        in_comment(fmt::format("{}", fmt::join(extents, ", "))));
    if (!workspaces_.empty()) {
      text += fmt::format(
          "// `workspace` is device memory of {} bytes at a multiple of {}; its content does not\n"
          "// matter, and launches that may run at the same time need one each.\n",
          workspace_bytes_, workspace_alignment);
    }
    return text;
  }

  [[nodiscard]] std::string constants() const {
    return fmt::format(
        "#define {0}_entry \"{1}\"\n#define {0}_threads {2}\n#define {0}_shared {3}\n"
        "#define {0}_workspace {4}\n",
        name_, emitted_.entry, emitted_.threads, shared_bytes_, workspace_bytes_);
  }

  [[nodiscard]] std::string load_function() const {
    const std::string head = fmt::format(
        "static inline CUresult {}_load(CUfunction* function, CUmodule module) {{\n", name_);
    if (shared_bytes_ == 0) {
      return head +
             fmt::format("  return cuModuleGetFunction(function, module, {}_entry);\n}}\n", name_);
    }
    return head +
           fmt::format(
               "  CUresult result = cuModuleGetFunction(function, module, {0}_entry);\n"
               "  if (result != CUDA_SUCCESS) return result;\n"
               "  return cuFuncSetAttribute(*function,\n"
               "                            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,\n"
               "                            {0}_shared);\n}}\n",
               name_);
  }

  /// The scalars alone; their names where `values` is true, else with their types.
  [[nodiscard]] std::string scalars(bool values) const {
    std::string text;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (!is_scalar(i)) continue;
      if (!values) text += c_type(emitted_.parameters[i].scalar) + ' ';
      text += arguments_[i] + ", ";
    }
    return text;
  }

  /// The name of a parameter.
  [[nodiscard]] std::string argument_of(isa::VarId var) const {
    const auto& all = kernel_.parameters;
    return arguments_[static_cast<std::size_t>(std::find(all.begin(), all.end(), var) -
                                               all.begin())];
  }
  [[nodiscard]] std::string c_value(const isa::Expr& expr) const {
    if (const auto constant = expr.constant_int()) return fmt::format("{}", *constant);
    return c_expression(expr, helpers_, [&](isa::VarId var) { return argument_of(var); });
  }

  /// A tensor map of a view, which the driver encodes; the innermost dimension comes first.
  [[nodiscard]] std::string map_text(const MapOfView& map, std::size_t number) const {
    const std::size_t rank = map.extents.size();
    std::string extents, strides, boxes, steps;
    for (std::size_t d = rank; d-- > 0;) {
      extents += fmt::format("(cuuint64_t){}, ", c_value(map.extents[d]));
      boxes += fmt::format("{}, ", map.map.box[d]);
      steps += "1, ";
      if (d + 1 < rank) {
        strides +=
            fmt::format("(cuuint64_t){} * {}, ", c_value(map.strides[d]), map.dtype.bits / 8);
      }
    }
    return fmt::format(
        "  unsigned char map_bytes_{0}[sizeof(CUtensorMap) + 64];  // C99 does not align\n"
        "  CUtensorMap* const map_{0} =\n"
        "      (CUtensorMap*)(((uintptr_t)map_bytes_{0} + 63) / 64 * 64);\n"
        "  {{\n"
        "    int fault = 0;\n"
        "    const cuuint64_t extents[] = {{{1}}};\n"
        "    const cuuint64_t strides[] = {{{2}0}};\n"
        "    const cuuint32_t box[] = {{{3}}}, steps[] = {{{4}}};\n"
        "    if (fault) return CUDA_ERROR_INVALID_VALUE;\n"
        "    const CUresult made = cuTensorMapEncodeTiled(\n"
        "        map_{0}, {5}, {6}, (void*)(uintptr_t){7}, extents, strides, box, steps,\n"
        "        CU_TENSOR_MAP_INTERLEAVE_NONE, {8}, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,\n"
        "        {9});\n"
        "    if (made != CUDA_SUCCESS) return made;\n"
        "  }}\n",
        number, extents, strides, boxes, steps, map_type_text(map.dtype), rank,
        argument_of(map.pointer),
        map.map.swizzle_bytes == 0
            ? std::string("CU_TENSOR_MAP_SWIZZLE_NONE")
            : fmt::format("CU_TENSOR_MAP_SWIZZLE_{}B", map.map.swizzle_bytes),
        map.map.fill_nan ? "CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA"
                         : "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE");
  }
  [[nodiscard]] static std::string map_type_text(const isa::DType& dtype) {
    if (dtype == isa::f16) return "CU_TENSOR_MAP_DATA_TYPE_FLOAT16";
    if (dtype == isa::bf16) return "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
    if (dtype == isa::f32) return "CU_TENSOR_MAP_DATA_TYPE_FLOAT32";
    return fmt::format("CU_TENSOR_MAP_DATA_TYPE_UINT{}", dtype.bits);
  }

  [[nodiscard]] std::string grid_function() const {
    const auto name_of = [&](isa::VarId var) { return argument_of(var); };
    std::string text =
        fmt::format("static inline CUresult {}_grid({}unsigned grid[3]) {{\n  int fault = 0;\n",
                    name_, scalars(false));
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (is_scalar(i)) text += fmt::format("  (void){};\n", arguments_[i]);
    }
    for (std::size_t d = 0; d < 3; ++d) {
      const bool given = d < kernel_.grid.size();
      const auto constant = given ? kernel_.grid[d].constant_int() : std::optional<std::int64_t>(1);
      text += fmt::format("  const int64_t {} = {};\n", "xyz"[d],
                          constant ? fmt::format("{}", *constant)
                                   : c_expression(kernel_.grid[d], helpers_, name_of));
      if (constant || d >= kernel_.cluster.size()) continue;
      text += fmt::format("  if ({} % {} != 0) fault = 1;\n", "xyz"[d], kernel_.cluster[d]);
    }
    return text + fmt::format("  return {}_extents(fault, x, y, z, grid);\n}}\n", helpers_);
  }

  [[nodiscard]] std::string launch_signature() const {
    std::string text =
        fmt::format("static inline CUresult {}_launch(CUfunction function, CUstream stream", name_);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      text += fmt::format(", {} {}",
                          is_scalar(i) ? c_type(emitted_.parameters[i].scalar) : "CUdeviceptr",
                          arguments_[i]);
    }
    return text + (workspaces_.empty() ? "" : ", CUdeviceptr workspace") + ") {\n";
  }

  [[nodiscard]] std::string launch_function() const {
    std::string text = launch_signature(), clears, maps, pointers;
    for (const std::string& argument : arguments_) pointers += fmt::format("&{}, ", argument);
    for (std::size_t i = 0; i < workspaces_.size(); ++i) {
      const Workspace& workspace = workspaces_[i];
      text += fmt::format("  CUdeviceptr workspace_{} = workspace + {};\n", i, workspace.offset);
      pointers += fmt::format("&workspace_{}, ", i);
      if (!workspace.zeroed) continue;
      clears += fmt::format(
          "  if (result == CUDA_SUCCESS) result = cuMemsetD8Async(workspace_{}, 0, {}, stream);\n",
          i, workspace.bytes);
    }
    for (std::size_t p = 0, number = 0; p < emitted_.parameters.size(); ++p) {
      if (!emitted_.parameters[p].map) continue;
      maps += map_text(*emitted_.parameters[p].map, number);
      pointers += fmt::format("map_{}, ", number++);
    }
    if (emitted_.has_assertions()) {  // which find no memory to say what failed
      text += "  CUdeviceptr workspace_record = 0;\n";
      pointers += "&workspace_record, ";
    }
    text += maps;
    // C has no arrays of zero elements.
    text += fmt::format("  void* arguments[] = {{{}NULL}};\n  unsigned grid[3];\n", pointers);
    text += fmt::format("  CUresult result = {}_grid({}grid);\n", name_, scalars(true)) + clears;
    return text +
           fmt::format(
               "  if (result != CUDA_SUCCESS) return result;\n"
               "  return cuLaunchKernel(function, grid[0], grid[1], grid[2], {0}_threads, 1, "
               "1, {0}_shared,\n                        stream, arguments, NULL);\n}}\n",
               name_);
  }

  const isa::Kernel& kernel_;
  const CudaKernel& emitted_;
  std::string helpers_, name_;
  NameTable names_;
  std::vector<std::string> arguments_;  // parallel to the kernel's parameters
  std::vector<Workspace> workspaces_;
  std::int64_t shared_bytes_ = 0, workspace_bytes_ = 0;
};

/// What every grid ends with; the limits are CUDA's.
constexpr const char* extents_function =
    R"(static inline CUresult {}_extents(int fault, int64_t x, int64_t y, int64_t z, unsigned grid[3]) {{
  if (fault || x < 1 || x > 0x7fffffff || y < 1 || y > 0xffff || z < 1 || z > 0xffff) {{
    return CUDA_ERROR_INVALID_VALUE;
  }}
  grid[0] = (unsigned)x;
  grid[1] = (unsigned)y;
  grid[2] = (unsigned)z;
  return CUDA_SUCCESS;
}}
)";

std::string banner(const isa::VerifiedProgram& program, const CHeaderOptions& options) {
  return fmt::format(
      "// Made by tilevm from {} for {}.\n"
      "//\n"
      "// For each kernel K of the program: {}_K_load finds it in a loaded module, {}_K_grid "
      "gives\n"
      "// the grid, {}_K_launch puts a launch into a stream. None of them allocates or waits, so "
      "a\n"
      "// launch can be captured in a CUDA graph. CUDA_ERROR_INVALID_VALUE: the scalars give a "
      "grid\n"
      "// that is empty, too large or divides by zero.\n"
      "//\n"
      "// For each pipeline P likewise: {}_P_load finds its kernels, {}_P_memory says how much "
      "memory "
      "it\n// needs, {}_P_launch puts its launches into a stream.\n"
      "//\n"
      "// Pointers must be multiples of 16 bytes. A kernel may read and rewrite unchanged what "
      "stands\n"
      "// behind a tensor's last byte up to the next multiple of 16.\n",
      in_comment(program.source().name()), fmt::join(options.targets, ", "), options.prefix,
      options.prefix, options.prefix, options.prefix, options.prefix, options.prefix);
}

/// Words of eight bytes, which also align the image as the driver wants it.
std::string image_text(const std::string& image, const std::string& prefix) {
  std::string text =
      fmt::format("\n// The code of all kernels.\nstatic const uint64_t {}_image[] = {{", prefix);
  for (std::size_t at = 0; at < image.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, image.data() + at, std::min<std::size_t>(8, image.size() - at));
    text += fmt::format("{}{:#x}u,", at % 32 == 0 ? "\n  " : " ", word);
  }
  return text + fmt::format(
                    "\n}};\nstatic inline CUresult {0}_load(CUmodule* module) {{\n"
                    "  return cuModuleLoadData(module, {0}_image);\n}}\n",
                    prefix);
}

bool has_floats_in(const MapOfView& map) {
  return std::any_of(map.extents.begin(), map.extents.end(), has_floats) ||
         std::any_of(map.strides.begin(), map.strides.end(), has_floats);
}

Status check(const isa::VerifiedProgram& program, const CudaSource& source) {
  const std::vector<isa::Kernel>& kernels = program.program().kernels;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto refuse = [&](const char* why) {
      return Error{ErrorKind::program,
                   fmt::format("there is no header for `{}`: {}", kernels[i].name, why)};
    };
    if (!program.info(static_cast<int>(i)).prints.empty()) {
      return refuse("it prints; take its Print out");
    }
    if (std::any_of(kernels[i].grid.begin(), kernels[i].grid.end(), has_floats)) {
      return refuse("its grid computes with f32; give it an integer parameter instead");
    }
    for (const CudaParameter& parameter : source.kernels[i].parameters) {
      if (!parameter.map || !has_floats_in(*parameter.map)) continue;
      return refuse(
          "the extents of a tensor map compute with f32; give it an integer parameter instead");
    }
  }
  return Done{};
}

}  // namespace

Result<std::string> c_header(const isa::VerifiedProgram& program,
                             const std::vector<CudaSource>& sources,
                             const CHeaderOptions& options) {
  if (const Status fine = check(program, sources.front()); !fine) return fine.error();
  CHeaderOptions named = options;
  named.prefix = NameTable().unique(options.prefix);
  const std::string& prefix = named.prefix;
  std::string text = banner(program, named);
  text += fmt::format(
      "#ifndef TILEVM_{0}_H\n#define TILEVM_{0}_H\n\n#include <cuda.h>\n#include <stdbool.h>\n"
      "#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n",
      prefix);
  text += c_expression_helpers(prefix) + fmt::format(extents_function, prefix);
  NameTable names;
  std::vector<CKernel> kernels;
  for (std::size_t i = 0; i < program.program().kernels.size(); ++i) {
    const std::string name = prefix + '_' + names.unique(program.kernel(static_cast<int>(i)).name);
    const KernelHeader header(program, sources, i, prefix, name);
    text += header.text();
    kernels.push_back(header.kernel());
  }
  if (!program.program().pipelines.empty()) text += '\n' + c_pipeline_helpers(prefix);
  for (const isa::Pipeline& pipeline : program.program().pipelines) {
    const std::string name = prefix + '_' + names.unique(pipeline.name);
    const Result<std::string> functions = c_pipeline(program, pipeline, kernels, name, prefix);
    if (!functions) return functions.error();
    text += *functions;
  }
  if (!options.image.empty()) text += image_text(options.image, prefix);
  return text + "\n#endif\n";
}

}  // namespace tilevm::backend
