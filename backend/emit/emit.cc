#include "backend/emit/emit.h"

#include <fmt/format.h>
#include <algorithm>

#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_scalar.h"
#include "backend/emit/prelude.h"
#include "backend/ptx/emit_mma.h"
#include "isa/analysis/assertion.h"

namespace tilevm::backend {
namespace {

std::string special_codes(isa::Specials specials) {
  switch (specials) {
    case isa::Specials::ieee:
      return "";
    case isa::Specials::nan:
      return ", tv::nan_only";
    case isa::Specials::finite:
      break;
  }
  return ", tv::all_finite";
}

/// The prelude's type for an element type.
std::string prelude_type(const isa::DType& type) {
  switch (type.kind) {
    case isa::TypeKind::signed_int:
      return fmt::format("tv::Int<{}>", type.bits);
    case isa::TypeKind::unsigned_int:
      return fmt::format("tv::Uint<{}>", type.bits);
    case isa::TypeKind::bipolar:
      return fmt::format("tv::Bipolar<{}>", type.bits);
    case isa::TypeKind::floating:
      break;
  }
  return fmt::format("tv::Float<{}, {}, {}{}>", type.bits, type.exponent_bits, type.mantissa_bits,
                     special_codes(type.specials()));
}

std::string definitions(const UsedDefinitions& used, const std::vector<const isa::MmaShape*>& mma,
                        MachineKind machine) {
  const bool is_gpu = machine == MachineKind::gpu;
  std::string text;
  if (!used.types.empty()) {
    text += "\nnamespace tile {\n";
    for (const auto& [name, type] : used.types) {
      text += fmt::format("typedef {} {};\n", prelude_type(type), name);
    }
    text += "}  // namespace tile\n";
  }
  if (!mma.empty()) {
    text += "\nnamespace tv {\n";
    for (std::size_t i = 0; i < mma.size(); ++i) {
      text += is_gpu ? mma_function(*mma[i]) : emulated_mma_function(*mma[i], i);
    }
    text += "}  // namespace tv\n";
  }
  if (!used.wgmma.empty()) {
    text += "\nnamespace tv {\n";
    std::size_t number = 0;
    for (const auto& [name, use] : used.wgmma) {
      text += is_gpu ? wgmma_function(use) : emulated_wgmma_function(use, number);
      ++number;
    }
    text += "}  // namespace tv\n";
  }
  return text;
}

std::string prelude(MachineKind machine, bool prints, bool asserts, bool probes) {
  std::string text;
  const auto append = [&](std::string_view name, std::string_view part) {
    text += fmt::format("#line 1 \"prelude/{}.cuh\"\n{}", name, part);
  };
  if (machine == MachineKind::gpu) {
    append("device", prelude_device);
  } else {
    append("lane", prelude_lane);
    append("emulated", prelude_emulated);
  }
  append("bulk", prelude_bulk);
  append("memory", prelude_memory);
  append("element", prelude_element);
  append("arithmetic", prelude_arithmetic);
  append("sequences", prelude_sequences);
  append("function", prelude_function);
  append("dot", prelude_dot);
  append("scalar", prelude_scalar);
  append("reduce", prelude_reduce);
  append("lookup", prelude_lookup);
  if (prints) append("print", prelude_print);
  if (asserts) append("assert", prelude_assert);
  if (probes) append("probe", prelude_probe);
  return text;
}

/// Loops of an emulated kernel count their iterations, so that one without end is a fault.
constexpr std::string_view counted_loops =
    "#line 1 \"definitions\"\n"
    "#define for(...) for (__VA_ARGS__) if (tv::step())\n"
    "#define while(...) while ((__VA_ARGS__) && tv::step())\n";
constexpr std::string_view plain_loops = "#undef for\n#undef while\n";

/// A function that unpacks a kernel's arguments.
std::string entry_function(const CudaKernel& kernel) {
  std::string arguments;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const CudaParameter& parameter = kernel.parameters[i];
    std::string type = "tv::u8*";
    if (parameter.role == CudaParameter::Role::scalar) type = scalar_type(parameter.scalar);
    if (parameter.role == CudaParameter::Role::tensor_map) type = "tv::TensorMap";
    arguments += fmt::format("{}tv::argument<{}>(arguments + {})", i == 0 ? "" : ", ", type, i);
  }
  return fmt::format("extern \"C\" void {}(const tv::u64* arguments) {{ {}({}); }}\n",
                     emulated_entry(kernel), kernel.entry, arguments);
}

}  // namespace

std::string emulated_entry(const CudaKernel& kernel) { return "emulated_" + kernel.entry; }

CudaSource emit_cuda(const isa::VerifiedProgram& program) { return emit_cuda(select(program)); }

CudaSource emit_cuda(const SelectedProgram& selected) {
  return emit_together({&selected, 1}, MachineKind::gpu);
}

CudaSource emit_together(std::span<const SelectedProgram> programs, MachineKind machine) {
  CudaSource source;
  UsedDefinitions used;
  NameTable entries;
  std::string kernels;
  bool prints = false, asserts = false, probes = false;
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const isa::VerifiedProgram& program = programs[p].program;
    const std::string& file = program.source().name();
    probes = probes || programs[p].options.probes;
    CodeWriter writer(file.empty() ? "program.tile" : file);
    for (int i = 0; i < static_cast<int>(program.program().kernels.size()); ++i) {
      KernelEmission kernel(programs[p], i, entries, writer, used);
      kernel.run();
      source.kernels.push_back(kernel.kernel());
      source.kernels.back().program = p;
      prints = prints || !program.info(i).prints.empty();
      asserts = asserts || isa::has_assertions(program.kernel(i));
    }
    kernels += writer.text();
  }
  for (const auto& [name, shape] : used.mma) source.mma.push_back(shape);
  for (const auto& [name, use] : used.wgmma) source.wgmma.push_back(use.shape);
  const std::string parts = prelude(machine, prints, asserts, probes);
  source.text = fmt::format(
      "// Made by tilevm. First the device prelude, then the program, from line {} on.\n",
      std::ranges::count(parts, '\n') + 2);
  source.text += parts;
  source.prelude_size = source.text.size();
  source.text += "#line 1 \"definitions\"\n" + definitions(used, source.mma, machine);
  if (machine == MachineKind::gpu) {
    source.text += kernels;
    return source;
  }
  source.text.append(counted_loops).append(kernels).append(plain_loops);
  source.text += "#line 1 \"entries\"\n";
  for (const CudaKernel& kernel : source.kernels) source.text += entry_function(kernel);
  return source;
}

}  // namespace tilevm::backend
