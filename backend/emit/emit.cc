#include "backend/emit/emit.h"

#include <fmt/format.h>

#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_mma.h"
#include "backend/emit/prelude.h"

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

std::string definitions(const UsedDefinitions& used) {
  std::string text;
  if (!used.types.empty()) {
    text += "\nnamespace tile {\n";
    for (const auto& [name, type] : used.types) {
      text += fmt::format("typedef {} {};\n", prelude_type(type), name);
    }
    text += "}  // namespace tile\n";
  }
  if (!used.mma.empty()) {
    text += "\nnamespace tv {\n";
    for (const auto& [name, shape] : used.mma) text += mma_function(*shape);
    text += "}  // namespace tv\n";
  }
  return text;
}

std::string prelude(bool prints) {
  std::string text;
  const auto append = [&](std::string_view name, std::string_view part) {
    text += fmt::format("#line 1 \"prelude/{}.cuh\"\n{}", name, part);
  };
  append("device", prelude_device);
  append("bulk", prelude_bulk);
  append("memory", prelude_memory);
  append("element", prelude_element);
  append("arithmetic", prelude_arithmetic);
  append("sequences", prelude_sequences);
  append("function", prelude_function);
  append("dot", prelude_dot);
  append("scalar", prelude_scalar);
  if (prints) append("print", prelude_print);
  return text;
}

}  // namespace

CudaSource emit_cuda(const isa::VerifiedProgram& program) { return emit_cuda(select(program)); }

CudaSource emit_cuda(const SelectedProgram& selected) {
  const isa::VerifiedProgram& program = selected.program;
  CudaSource source;
  const std::string& file = program.source().name();
  CodeWriter writer(file.empty() ? "program.tile" : file);
  UsedDefinitions used;
  NameTable entries;
  bool prints = false;
  for (int i = 0; i < static_cast<int>(program.program().kernels.size()); ++i) {
    KernelEmission kernel(selected, i, entries, writer, used);
    kernel.run();
    source.kernels.push_back(kernel.kernel());
    prints = prints || !program.info(i).prints.empty();
  }
  source.text =
      "// Made by tilevm. Above: the device prelude; below: the program.\n" + prelude(prints);
  source.prelude_size = source.text.size();
  source.text += "#line 1 \"definitions\"\n" + definitions(used) + writer.text();
  return source;
}

}  // namespace tilevm::backend
