// The kernels whose times the notes of docs/results show, as the compiler makes them.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "tests/unit/vm/commands_support.h"

namespace tilevm::vm {
namespace {

/// The report of a program with these constants, as `compile --explain --json` prints it.
boost::json::object report_of(const std::string& file, const boost::json::array& defines) {
  CompileOptions options;
  options.program.file = std::string(TILEVM_SOURCE_DIR) + "/" + file;
  for (const auto& define : defines) {
    options.program.defines.emplace_back(std::string_view(define.as_string()));
  }
  options.program.target = "sm_90a";
  options.explain = true;
  options.json = true;
  Streams streams;
  const Exit exit = compile(options, streams.io);
  REQUIRE_MESSAGE((exit == Exit::ok || exit == Exit::unavailable), streams.err.str());
  return boost::json::parse(streams.out.str()).as_object();
}

struct Program {
  std::string file;
  std::string kernel;
  boost::json::array defines;
};

/// Kernels whose pages in docs/ say that nothing is spilled.
std::vector<Program> programs_of_systems() {
  return {
      {"attention/decode", "decode", {"Q=u4", "R=8"}},
      {"attention/decode", "decode", {"Q=u8", "R=8"}},
      {"attention/decode", "decode", {"Q=f16", "R=8"}},
      {"attention/prefill", "prefill", {}},
      {"apt_llm/matmul", "matmul", {"W=2", "A=2"}},
      {"apt_llm/matmul", "matmul", {"W=4", "A=8"}},
      {"flute/matmul", "matmul", {"W=3"}},
      {"flute/matmul", "matmul", {"W=4"}},
      {"flute/matmul", "matmul", {"W=4", "COPIES=32"}},
      {"marlin/matmul", "matmul", {"BM=64"}},
      {"marlin/sparse_matmul", "matmul", {}},
      {"turbomind/gemm", "gemm", {"Q=u4", "BM=64", "BN=256"}},
      {"turbomind/gemm", "gemm", {"Q=f4e2m1", "MX=1", "T=bf16", "GROUP=32", "ZEROS=0", "S=bf16"}},
      {"moe/moe", "grouped", {}},
  };
}

/// It is the CUDA compiler that takes long: every second row here, none with sanitizers, which see
/// nothing of it. tests/revisions/machine_code.py compiles all.
constexpr int every = 2;

TEST_CASE("no kernel of a measured program keeps registers in memory") {
  std::ifstream results(std::string(TILEVM_SOURCE_DIR) +
                        "/tests/bench/results/quantized_matmul.jsonl");
  int rows = 0, seen = 0;
  for (std::string line; std::getline(results, line);) {
    const boost::json::object row = boost::json::parse(line).as_object();
    const boost::json::array& defines = row.at("defines").as_array();
    if (seen++ % every != 0) continue;
    const std::string file(row.at("file").as_string());
    INFO(file << " " << boost::json::serialize(defines));
    const boost::json::object report = report_of(file, defines);
    const auto& target = report.at("targets").as_array().at(0).as_object();
    if (!target.at("error").is_null()) {
      MESSAGE("skipped: " << boost::json::serialize(target.at("error")));
      return;
    }
    for (const auto& kernel : target.at("kernels").as_array()) {
      INFO(kernel.at("name"));
      CHECK(kernel.at("stack_bytes").as_int64() == 0);
      CHECK(kernel.at("spill_store_bytes").as_int64() == 0);
    }
    ++rows;
  }
  CHECK(rows >= 60 / every);

  for (const auto& [name, kernel_name, defines] : programs_of_systems()) {
    INFO(name << " " << boost::json::serialize(defines));
    const boost::json::object report = report_of("programs/" + name + ".tile", defines);
    int found = 0;
    for (const auto& kernel : report.at("targets").as_array().at(0).at("kernels").as_array()) {
      if (kernel.at("name").as_string() != kernel_name) continue;
      CHECK(kernel.at("stack_bytes").as_int64() == 0);
      CHECK(kernel.at("spill_store_bytes").as_int64() == 0);
      ++found;
    }
    CHECK(found == 1);
  }
}

}  // namespace
}  // namespace tilevm::vm
