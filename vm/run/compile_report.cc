#include "vm/run/compile_report.h"

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/code_writer.h"
#include "backend/export/compile_report.h"
#include "isa/inst/instruction_set.h"
#include "vm/text/table.h"

namespace tilevm::vm {
namespace {

using backend::CudaKernel;
using backend::CudaParameter;

/// "f16* a_ptr, i32 n, 4096 bytes of workspace".
std::string parameters(const isa::Kernel& kernel, const CudaKernel& emitted) {
  std::vector<std::string> texts;
  for (const CudaParameter& parameter : emitted.parameters) {
    if (parameter.role == CudaParameter::Role::workspace) {
      texts.push_back(fmt::format("{} bytes of workspace{}", parameter.workspace_bytes,
                                  parameter.zeroed ? " (zeroed before each launch)" : ""));
      continue;
    }
    if (parameter.role == CudaParameter::Role::tensor_map) {
      const isa::TensorMap& map = parameter.map->map;
      texts.push_back(fmt::format("a tensor map of {} with boxes of {}",
                                  kernel.variable(map.view).name, isa::to_string(map.box)));
      continue;
    }
    if (parameter.role == CudaParameter::Role::assertions) {
      texts.emplace_back("the record of a failed assertion (may be null)");
      continue;
    }
    if (parameter.role == CudaParameter::Role::prints) {
      texts.emplace_back("the print buffer");
      continue;
    }
    const isa::Variable& variable = kernel.variable(parameter.var);
    const auto* pointer = std::get_if<isa::PointerType>(&variable.type);
    texts.push_back(pointer != nullptr
                        ? fmt::format("{}* {}", isa::to_string(pointer->dtype), variable.name)
                        : fmt::format("{} {}", isa::to_string(parameter.scalar), variable.name));
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

std::optional<backend::RegisterUse> register_use(const CompileReport& report,
                                                 const CudaKernel& emitted) {
  if (!report.compiled) return std::nullopt;
  return backend::find_register_use(report.compiled->log, emitted.entry);
}

/// "53248 bytes: sa [0, 13056), sq [13056, 56064)".
std::string shared_tensors(const isa::VerifiedProgram& program, const CudaKernel& emitted) {
  if (emitted.shared_bytes == 0) return "none";
  std::vector<std::string> tensors;
  for (const auto& tile : program.info(emitted.kernel).shared) {
    tensors.push_back(fmt::format("{} [{}, {})",
                                  program.kernel(emitted.kernel).variable(tile.var).name,
                                  tile.gpu_offset, tile.gpu_offset + tile.bytes));
  }
  const isa::KernelInfo& info = program.info(emitted.kernel);
  if (info.exchange_bytes > 0) {
    tensors.push_back(fmt::format("{} x {} for exchanges between threads", info.exchange_halves,
                                  info.exchange_bytes));
  }
  return fmt::format("{} bytes: {}", emitted.shared_bytes, fmt::join(tensors, ", "));
}

std::string heading(const isa::VerifiedProgram& program, const CudaKernel& emitted,
                    const std::string& target) {
  const isa::Kernel& kernel = program.kernel(emitted.kernel);
  return fmt::format("{} ({} in the code), {}\n  threads     {}\n  parameters  {}\n", kernel.name,
                     emitted.entry, target, emitted.threads, parameters(kernel, emitted));
}

std::string shared_line(const isa::VerifiedProgram& program, const CudaKernel& emitted) {
  return fmt::format("  shared      {}\n", shared_tensors(program, emitted));
}

std::string first_lines(const CompileReport& report, const CudaKernel& emitted) {
  const auto use = register_use(report, emitted);
  std::string text = heading(report.program, emitted, report.target);
  text += use ? fmt::format("  registers   {} a thread, {} bytes spilled\n", use->registers,
                            use->spill_stores)
              : "  registers   unknown\n";
  text += shared_line(report.program, emitted);
  if (use) {
    const auto residency =
        backend::find_residency(emitted, use->registers, report.program.target());
    text += fmt::format("  resident    {} block{} a multiprocessor, limited by {}\n",
                        residency.blocks, residency.blocks == 1 ? "" : "s", residency.limit);
  }
  return text;
}

/// Where something is in the program: as a report writes it, or left out.
enum class Locations { shown, omitted };

/// Why an instruction is no wider; empty if it is the widest.
std::string missed_text(const isa::VerifiedProgram& program, const backend::Remark& remark,
                        Locations locations) {
  if (remark.culprit == Span{} || locations == Locations::omitted) return remark.missed;
  return fmt::format("{} at {}", remark.missed, location_of(program, remark.culprit));
}

/// Where a line is: its number and, in an included file, the file.
std::string line_name(const SourceFile& source, std::size_t offset) {
  const std::string location = source.location(offset);
  return location.substr(0, location.rfind(':'));
}

/// Each line of the program with what became of its instructions.
std::string remarks(const isa::VerifiedProgram& program, const CudaKernel& emitted,
                    Locations locations) {
  const bool shows = locations == Locations::shown;
  std::size_t widest = 0;
  for (const backend::Remark& remark : emitted.remarks) {
    widest = std::max(widest, isa::mnemonic(remark.stmt->inst).size());
  }
  const SourceFile& source = program.source();
  std::string text, line;
  for (const backend::Remark& remark : emitted.remarks) {
    const std::string name = line_name(source, remark.span.begin);
    if (name != line) {
      std::string_view words = source.line_at(remark.span.begin);
      words.remove_prefix(std::min(words.find_first_not_of(" \t"), words.size()));
      text += shows ? fmt::format("  {:<4}  {}\n", name, words) : fmt::format("  {}\n", words);
    }
    line = name;
    const std::string missed = missed_text(program, remark, locations);
    const LineColumn at = source.locate(remark.span.begin);
    const std::string location =
        shows ? fmt::format("{:<6}  ", fmt::format("{}:{}", at.line, at.column)) : "";
    text += fmt::format("    {}{:<{}}  {}{}{}\n", location, isa::mnemonic(remark.stmt->inst),
                        widest, remark.text, missed.empty() ? "" : "; ", missed);
  }
  return text;
}

Json remarks_json(const CompileReport& report, const CudaKernel& emitted) {
  Json list = Json::array();
  for (const backend::Remark& remark : emitted.remarks) {
    const SourceFile& source = report.program.source();
    const LineColumn at = source.locate(remark.span.begin);
    Json object = Json::object();
    const std::string& file = source.name_at(remark.span.begin);
    if (file != source.name()) object.set("file", file);
    object.set("line", at.line).set("column", at.column);
    object.set("instruction", isa::mnemonic(remark.stmt->inst)).set("chosen", remark.text);
    const std::string missed = missed_text(report.program, remark, Locations::shown);
    object.set("obstacle", missed.empty() ? Json() : Json(missed));
    list.push(std::move(object));
  }
  return list;
}

Json shared_json(const CompileReport& report, const CudaKernel& emitted) {
  Json list = Json::array();
  for (const auto& tile : report.program.info(emitted.kernel).shared) {
    list.push(Json::object()
                  .set("name", report.program.kernel(emitted.kernel).variable(tile.var).name)
                  .set("place", tile.gpu_offset)
                  .set("bytes", tile.bytes));
  }
  return list;
}

Json kernel_json(const CompileReport& report, const CudaKernel& emitted) {
  Json object = Json::object();
  object.set("name", report.program.kernel(emitted.kernel).name).set("entry", emitted.entry);
  object.set("threads", emitted.threads);
  if (const auto use = register_use(report, emitted)) {
    const auto residency =
        backend::find_residency(emitted, use->registers, report.program.target());
    object.set("registers", use->registers).set("stack_bytes", use->stack_bytes);
    object.set("spill_store_bytes", use->spill_stores).set("spill_load_bytes", use->spill_loads);
    object.set("blocks_per_multiprocessor", residency.blocks).set("limited_by", residency.limit);
  }
  object.set("shared_bytes", emitted.shared_bytes).set("shared", shared_json(report, emitted));
  object.set("exchange_bytes", report.program.info(emitted.kernel).exchange_bytes);
  std::int64_t workspace = 0;
  for (const CudaParameter& parameter : emitted.parameters) workspace += parameter.workspace_bytes;
  object.set("workspace_bytes", workspace).set("choices", remarks_json(report, emitted));
  return object;
}

}  // namespace

void warn_of_spills(const isa::Kernel& kernel, std::int64_t threads, std::int64_t bytes,
                    Diagnostics& diagnostics) {
  if (bytes == 0) return;
  const std::int64_t registers = backend::max_registers(threads);
  Diagnostic& warning = diagnostics.warning(
      Code::program_too_large, kernel.span,
      fmt::format(
          "each thread of `{}` keeps {} bytes in memory instead of registers; in a block of "
          "{} threads each can have {}",
          kernel.name, bytes, threads, registers));
  add_note(warning, backend::max_registers(1) > registers
                        ? "make the tiles smaller, or take fewer threads"
                        : "make the tiles smaller, or spread them over more threads");
}

void warn_of_long_loops(const isa::VerifiedProgram& program, Diagnostics& diagnostics) {
  for (const isa::Kernel& kernel : program.program().kernels) {
    const auto long_tile = std::find_if(
        kernel.variables.begin(), kernel.variables.end(), [](const isa::Variable& variable) {
          const auto* type = std::get_if<isa::RegisterType>(&variable.type);
          return type != nullptr && type->layout.num_locals() > backend::longest_unrolled;
        });
    if (long_tile == kernel.variables.end()) continue;
    const auto& type = *std::get_if<isa::RegisterType>(&long_tile->type);
    Diagnostic& warning = diagnostics.warning(
        Code::program_too_large, long_tile->span,
        fmt::format("`{}` has {} elements in each thread; its loops are not unrolled, so that its "
                    "elements are in memory instead of registers",
                    long_tile->name, type.layout.num_locals()));
    add_note(warning, fmt::format("spread it over more threads: loops of up to {} elements are "
                                  "unrolled, more take compilers minutes",
                                  backend::longest_unrolled));
  }
}

Diagnostics CompileReport::warnings() const {
  Diagnostics diagnostics;
  for (const CudaKernel& emitted : source.kernels) {
    if (const auto use = register_use(*this, emitted)) {
      warn_of_spills(program.kernel(emitted.kernel), emitted.threads, use->stack_bytes,
                     diagnostics);
    }
  }
  return diagnostics;
}

std::string format_report(const CompileReport& report) {
  std::string text;
  for (const CudaKernel& emitted : report.source.kernels) {
    text += first_lines(report, emitted) + remarks(report.program, emitted, Locations::shown);
  }
  const auto& compiled = report.compiled;
  return text + (compiled ? fmt::format("compiled for {} by {} {} {:.0f} ms\n", report.target,
                                        compiled->compiler,
                                        compiled->cached ? "earlier, and found in" : "in",
                                        compiled->milliseconds)
                          : fmt::format("not compiled: {}\n", compiled.error().message));
}

std::string format_decisions(const isa::VerifiedProgram& program, const backend::CudaSource& source,
                             const std::string& target) {
  std::string text;
  for (const CudaKernel& emitted : source.kernels) {
    text += heading(program, emitted, target) + shared_line(program, emitted) +
            remarks(program, emitted, Locations::omitted);
  }
  return text;
}

Json report_json(const CompileReport& report) {
  Json object = Json::object();
  object.set("target", report.target);
  object.set("compiler", report.compiled ? Json(report.compiled->compiler) : Json());
  object.set("error", report.compiled ? Json() : Json(report.compiled.error().message));
  Json kernels = Json::array();
  for (const CudaKernel& emitted : report.source.kernels) {
    kernels.push(kernel_json(report, emitted));
  }
  object.set("kernels", std::move(kernels));
  return object;
}

}  // namespace tilevm::vm
