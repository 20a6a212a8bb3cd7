// What a browser has no place for: processes, libraries, GPUs, terminals. Each says so, and where
// it is.
#include <utility>

#include <fmt/format.h>

#include "backend/compile/fatbin.h"
#include "backend/compile/kernel_cache.h"
#include "backend/host/subprocess.h"
#include "backend/host/tool_search.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/debug/compare.h"
#include "vm/diff/bundle.h"
#include "vm/diff/differ.h"
#include "vm/run/engine_cuda.h"
#include "vm/run/engine_emu.h"
#include "vm/text/large_stack.h"

namespace tilevm {

namespace {

Error absent(std::string_view what) {
  return {ErrorKind::unavailable,
          fmt::format("{} in the browser; the installed command has it", what)};
}

vm::Exit absent_command(std::string_view name, vm::Io& io) {
  return vm::fail(io, absent(fmt::format("`tilevm {}` is not", name)));
}

}  // namespace

namespace vm {

Exit bench(const BenchOptions&, Io& io) { return absent_command("bench", io); }
Exit cache(const CacheOptions&, Io& io) { return absent_command("cache", io); }
Exit complete(const CompletionOptions&, Io& io) { return absent_command("completion", io); }
Exit examples(const ExamplesOptions&, Io& io) { return absent_command("examples", io); }
Exit new_program(const NewOptions&, Io& io) { return absent_command("new", io); }
Exit pack(const PackOptions&, Io& io) { return absent_command("pack", io); }
Exit demo(const DemoOptions&, Io& io) { return absent_command("demo", io); }
Exit triton(const TritonOptions&, Io& io) { return absent_command("triton", io); }
Exit diff(const DiffOptions&, Io& io) { return absent_command("diff", io); }
Exit diff_formulas(const DiffOptions&, Io& io) { return absent_command("diff", io); }
Status check_modulus(const std::string&) { return absent("`--ring` is not"); }
Status deliver_formulas(const isa::VerifiedProgram&, const Entry&, std::vector<HostTensor>,
                        const std::string&, OutputStream&, Reporter&) {
  return absent("`--ring` is not");
}
Exit fidelity_tables(const FidelityOptions&, Io& io) { return absent_command("fidelity", io); }
Exit doctor(const DoctorOptions&, Io& io) { return absent_command("doctor", io); }
Exit fuzz_programs(const FuzzOptions&, Io& io) { return absent_command("fuzz", io); }
Exit lsp(const LspOptions&, Io& io) { return absent_command("lsp", io); }
Exit manual(const ManualOptions&, Io& io) { return absent_command("man", io); }
Exit prove(const ProveOptions&, Io& io) { return absent_command("prove", io); }
Exit record(const RecordOptions&, Io& io) { return absent_command("record", io); }
Exit serve_dap(const DapOptions&, Io& io) { return absent_command("dap", io); }
Exit tune(const TuneOptions&, Io& io) { return absent_command("tune", io); }

Result<std::unique_ptr<Engine>> make_cuda_engine(const EngineOptions&) {
  return absent("the engine `cuda` is not");
}
Result<std::unique_ptr<Engine>> make_emu_engine(const EngineOptions&) {
  return absent("the engine `emu` is not");
}

Result<std::string> compare_with(const TargetRequest&, const std::string&) {
  return absent("other engines to compare with are not");
}

Result<SeedRun> run_seed(const DiffCase&, const Engines&, const Seeding&, DataReader&) {
  return absent("other engines to compare with are not");
}

bool is_bundle(const std::string&) { return false; }
Result<Bundle> read_bundle(const std::string&) { return absent("bundles are not"); }
Result<DiffCase> load_bundle(const Bundle&) { return absent("bundles are not"); }

/// The module has one stack, which is large.
void run_on_large_stack(const std::function<void()>& work) { work(); }

}  // namespace vm

namespace backend {

Result<Compiled> compile_cached(const CompileRequest&) { return absent("a CUDA compiler is not"); }
Result<std::string> pack_fatbin(const std::vector<FatbinPart>&) {
  return absent("a CUDA compiler is not");
}
void on_cache_warning(std::function<void(const std::string&)>) {}
Result<std::string> find_tool(const std::string&) { return absent("tools of CUDA are not"); }
Result<ProcessResult> run_process(const ProcessRequest&) { return absent("processes are not"); }
Result<TemporaryFolder> TemporaryFolder::make() { return absent("temporary folders are not"); }
TemporaryFolder::~TemporaryFolder() = default;
Status write_whole_file(const std::string&, const std::string&) {
  return absent("temporary folders are not");
}

}  // namespace backend

}  // namespace tilevm
