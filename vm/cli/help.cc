#include "vm/cli/help.h"

#include <map>

namespace tilevm::vm {

namespace {

const std::map<std::string, std::string>& examples() {
  static const std::map<std::string, std::string> all = {
      {"tilevm",
       "  tilevm demo                              see it work\n"
       "  tilevm new first.tile                    begin a kernel of your own\n"
       "  tilevm examples                          list the programs that come with tilevm\n"
       "  tilevm run programs/figure2.tile         run one of them in the simulator\n"
       "  tilevm diff programs/figure2.tile -D K=64 --engines sim,emu\n"},
      {"examples",
       "  tilevm examples                          the programs, with what each shows\n"
       "  tilevm examples programs/transpose.tile  the text of one\n"
       "  tilevm run programs/transpose.tile       runs wherever tilevm is installed\n"},
      {"new",
       "  tilevm new first.tile                    a kernel that runs\n"
       "  tilevm new mine.tile --from programs/transpose.tile\n"
       "  tilevm run first.tile\n"},
      {"check",
       "  tilevm check programs/figure2.tile\n"
       "  tilevm check programs/figure2.tile -D K=128 --target sm_80\n"
       "  tilevm check programs/matmul_f16_pipelined.tile --machine\n"
       "  tilevm examples programs/figure2.tile | tilevm check -\n"},
      {"run",
       "  tilevm run programs/figure2.tile\n"
       "  tilevm run programs/figure2.tile -D M=64 -D N=64 --in a=rand:7 --out c=c.npy\n"
       "  tilevm run programs/figure2.tile --json | jq .outputs\n"
       "  tilevm run programs/transpose.tile --report transpose.html\n"
       "  tilevm run programs/figure2.tile -D M=64 -D N=64 -D K=256 --shadow\n"
       "  tilevm run programs/softmax.tile -D M=8 -D N=128 --ring default\n"},
      {"trace",
       "  tilevm trace programs/figure2.tile -D K=32\n"
       "  tilevm trace programs/figure2.tile --block 1,2 --limit 20\n"
       "  tilevm trace programs/figure2.tile --json | jq '.events[0]'\n"
       "  tilevm trace programs/matmul_f16_pipelined.tile -D K=256 -o timeline.json\n"},
      {"debug",
       "  tilevm debug programs/figure2.tile -D K=64\n"
       "  tilevm debug programs/transpose.tile -x session.dbg --batch\n"
       "  tilevm debug BUNDLE\n"},
      {"dap",
       "  tilevm dap                              an editor starts it so\n"
       "  tilevm dap --port 4711\n"},
      {"diff",
       "  tilevm diff programs/figure2.tile\n"
       "  tilevm diff programs/figure2.tile -D K=64 --engines sim,emu\n"
       "  tilevm diff programs/figure2.tile -D K=64 --seeds 0..19 --wild\n"
       "  tilevm diff programs/figure2.tile --engines sim,cuda:O0,cuda --json\n"
       "  tilevm diff programs/softmax.tile -D M=8 -D N=128 --ring default --against reference\n"},
      {"prove", "  tilevm prove programs/softmax.tile -D N=100 --batch-invariant M=1..9\n"},
      {"record",
       "  tilevm record --size full -o records.jsonl\n"
       "  tilevm record --size exhaustive -o records.jsonl --time-limit 600\n"
       "  tilevm record --only 'Dot f16'\n"},
      {"fuzz",
       "  tilevm fuzz --seeds 0..9999\n"
       "  tilevm fuzz --seeds 0..199999 --corpus fuzz --resume --time 3600\n"
       "  tilevm fuzz --judge fuzz/emu_differs_at_Cast_i6_f16-17.tile\n"
       "  tilevm fuzz merge fuzz.0 fuzz.1 --corpus fuzz\n"},
      {"bench",
       "  tilevm bench programs/matmul_quantized_pipelined.tile -D M=16 -D N=8192 -D K=8192\n"
       "  tilevm bench FILE --kernel matmul --baseline cublas -o results.jsonl\n"
       "  tilevm bench FILE --verify-against plain --json | jq '.kernels[].us.median'\n"},
      {"tune",
       "  tilevm tune FILE --kernel matmul --reduce N=256 --reduce K=512\n"
       "  tilevm tune FILE -D BM=16 --time-limit 300 -o tune.jsonl\n"
       "  tilevm tune FILE -D M=16 --jobs 16 --points 2000\n"},
      {"compile",
       "  tilevm compile programs/figure2.tile --target sm_90a --emit cuda\n"
       "  tilevm compile programs/figure2.tile --no-prelude --no-lines\n"
       "  tilevm compile programs/figure2.tile --emit ptx -o figure2.ptx --explain\n"
       "  tilevm compile programs/figure2.tile --target sm_80,sm_90a --emit fatbin --header "
       "f2.h\n"},
      {"layout",
       "  tilevm layout 'local(2, 1).spatial(8, 4).local(1, 2)'\n"
       "  tilevm layout 'u8 local(3).spatial(32)' 'i6 local(2, 1).column_spatial(4, 8).local(2, "
       "1)' "
       "-o view.html\n"
       "  tilevm layout 'f16 row_major(64, 64).swizzle(3, 3, 3)' --access "
       "'local(8, 1).spatial(4, 8).local(1, 8)'\n"},
      {"isa",
       "  tilevm isa\n"
       "  tilevm isa Dot\n"
       "  tilevm isa --markdown > isa.md\n"
       "  tilevm isa --words | jq .keywords\n"},
      {"lsp",
       "  tilevm lsp                               started by an editor: see "
       "docs/guides/editors.md\n"},
      {"explain",
       "  tilevm explain TV0104\n"
       "  tilevm explain 104\n"
       "  tilevm explain                           every code in one line\n"},
      {"completion",
       "  tilevm completion bash > /etc/bash_completion.d/tilevm\n"
       "  tilevm completion zsh > ~/.zfunc/_tilevm\n"
       "  tilevm completion fish > ~/.config/fish/completions/tilevm.fish\n"},
      {"man",
       "  tilevm man run | man -l -\n"
       "  tilevm man -o share/man/man1\n"},
      {"cache",
       "  tilevm cache                             each compiled kernel that is kept\n"
       "  tilevm cache clear\n"
       "  TILEVM_CACHE=off tilevm run prog.tile --engine cuda\n"},
      {"fidelity",
       "  tilevm fidelity Dot f16 --arch sm_90\n"
       "  tilevm fidelity Ex2Approx\n"
       "  tilevm fidelity --json\n"},
      {"doctor",
       "  tilevm doctor\n"
       "  tilevm doctor --json\n"
       "  TILEVM_LIBCUDA=/opt/lib/libcuda.so.1 tilevm doctor\n"},
      {"fmt",
       "  tilevm fmt prog.tile                     canonical text to standard output\n"
       "  tilevm fmt -i prog.tile                  rewrite the file\n"
       "  tilevm fmt --check programs/*.tile       exit 1 if a file would change\n"},
      {"triton",
       "  tilevm triton kernel.ttgir -o kernel.tile\n"
       "  tilevm triton add.py:add -s x=*fp32 -s y=*fp32 -s n=i32 -c BLOCK=128 -o add.tile\n"
       "  TILEVM_PYTHON=venv/bin/python tilevm triton matmul.py:matmul --target sm_90 ..\n"},
      {"pack",
       "  tilevm pack Llama-GPTQ                   list the quantised weights\n"
       "  tilevm pack Llama-GPTQ Llama-packed\n"
       "  TILEVM_PYTHON=venv/bin/python tilevm pack model.Q4_K_M.gguf packed --quiet\n"},
      {"demo",
       "  tilevm demo\n"
       "  tilevm demo --threads 1\n"
       "  tilevm demo --color never > demo.txt\n"},
  };
  return all;
}

}  // namespace

std::string help_statuses(const std::string& command) {
  static const std::map<std::string, std::string> faults = {
      {"fmt", "a file has an error or, with --check, would change"},
      {"diff", "results differ, or the program or its data is wrong"},
      {"fuzz", "a program failed that should not"},
      {"prove", "it does not hold, or the program or its data is wrong"},
      {"record", "a case differs from the GPU"},
      {"tune", "the program or its data is wrong, or no point runs"}};
  const auto own = faults.find(command);
  const std::string fault = own == faults.end() ? "the program or its data is wrong" : own->second;
  return "Exit status:\n"
         "  0  done\n"
         "  1  " +
         fault +
         "\n"
         "  2  the command line is wrong\n"
         "  3  a GPU, a driver or a compiler is missing\n"
         "  4  a limit was reached: steps, memory or time\n"
         "  70 an error of tilevm itself; please report it\n";
}

std::string help_examples(const std::string& command) {
  const auto found = examples().find(command);
  return found == examples().end() ? std::string() : found->second;
}

}  // namespace tilevm::vm
