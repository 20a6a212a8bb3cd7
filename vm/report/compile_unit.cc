#include "vm/report/compile_unit.h"

#include "backend/compile/kernel_cache.h"
#include "backend/export/compile_report.h"

namespace tilevm::vm {

CompileUnit make_compile_unit(const isa::VerifiedProgram& program, bool explain) {
  CompileUnit unit{program, backend::emit_cuda(program), {}};
  unit.request.source = unit.source.text;
  unit.request.name = program.source().name() + ".cu";
  unit.request.target = isa::to_string(isa::compile_target(program.target()));
  if (explain) unit.request.extra_options.emplace_back(backend::report_option);
  return unit;
}

CompileReport CompileUnit::compile_and_report() const {
  return {program, source, request.target, backend::compile_cached(request)};
}

}  // namespace tilevm::vm
