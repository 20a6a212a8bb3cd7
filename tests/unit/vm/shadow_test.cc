// `tilevm run --shadow`: what it shows, and that it changes nothing.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/vm/commands_support.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

/// A cast in each of two launches; the second one adds to what the first one lost.
const std::string two_casts = R"(def cast<2>(f32* x_ptr, f32* y_ptr):
    b = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[4]), layout=local(2), offset=[2 * b:])
    y = Cast(Cast(x, f16), f32)
    StoreGlobal(Add(y, AllocateRegister(f32, layout=local(2), init=1.0)),
                ViewGlobal(y_ptr, shape=[4]), offset=[2 * b:])

pipeline main(x: f32[4]) -> (y: f32[4]):
    t = AllocateGlobal(f32, shape=[4])
    cast(x, t)
    cast(t, y)
)";

struct Ran {
  Exit exit;
  std::string out, err;
};

Ran run_shadow(const RunOptions& options, const std::string& text) {
  Streams streams(text);
  const Exit exit = run(options, streams.io);
  return {exit, streams.out.str(), streams.err.str()};
}

RunOptions shadow_options(const std::string& file) {
  RunOptions options;
  options.program.file = file;
  options.shadow = true;
  return options;
}

/// What a run says before the errors.
std::string before_errors(const std::string& out) { return out.substr(0, out.find("shadow:")); }

}  // namespace

TEST_CASE("errors of outputs, and of statements that are not exact") {
  RunOptions options = shadow_options("-");
  options.execution.data.inputs = {"x=full:0.333251953125"};  // an f16
  const Ran ran = run_shadow(options, two_casts);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == Exit::ok);
  // 1.333251953125 lies a quarter of an ulp of f16 from 1.3330078125.
  CHECK(contains(ran.out, "[0]: 2.3330078125 instead of 2.333251953125\n"));
  CHECK(contains(ran.out, "  Cast       4:14   f16         both         8      0.25     0.125  "));
  CHECK(contains(ran.out, "  0.000183   9.16e-05              block [0] [0]\n"));
  CHECK(contains(ran.out, "  accumulated  "));
  CHECK(contains(ran.out, "block [0] [0]\n"));
  CHECK(contains(ran.out, "  1 more statement is exact\n"));
}

TEST_CASE("the same as JSON, with every statement that computes") {
  RunOptions options = shadow_options("-");
  options.json = true;
  options.execution.data.inputs = {"x=full:0.333251953125"};
  const Ran ran = run_shadow(options, two_casts);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == Exit::ok);
  CHECK(contains(ran.out, R"("shadow": {"outputs": [{"name": "y", "dtype": "f32", "errors": )"
                          R"({"elements": 4, "not_finite": 0, "ulp": {"count": 4, "max": 1024, )"
                          R"("mean": 1024, "at": {"index": [0]}})"));
  CHECK(contains(ran.out, R"("kernels": [{"kernel": "cast", "statements": [{"line": 4, )"
                          R"("column": 14, "instruction": "Cast", "dtype": "f16", )"
                          R"("own": {"elements": 8, "not_finite": 0, "ulp": {"count": 8, )"
                          R"("max": 0.25, "mean": 0.125, "at": {"block": [0], "index": [0]}})"));
  CHECK(contains(ran.out, R"("instruction": "AllocateRegister")"));
}

TEST_CASE("an exact program has nothing but exact statements") {
  RunOptions options = shadow_options("-");
  options.execution.data.inputs = {"x=full:2"};
  const Ran ran = run_shadow(options, two_casts);
  CHECK(ran.exit == Exit::ok);
  CHECK(contains(ran.out, "cast:\n  4 statements are exact\n"));
}

TEST_CASE("a GPU has no shadow values") {
  RunOptions options = shadow_options("-");
  options.backend = "cuda";
  const Ran ran = run_shadow(options, two_casts);
  CHECK(ran.exit == Exit::usage);
  CHECK(contains(ran.err, "`--shadow` needs the simulator"));
}

TEST_CASE("shadow values change no output of the programs that ship") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> programs{
      {"figure2", {"M=48", "N=24", "K=64"}},
      {"matmul_f16_i6", {"M=48", "N=24", "K=64"}},
      {"matmul_f16_pipelined", {"M=70", "N=70", "K=70"}},
      {"matmul_quantized_pipelined", {"M=70", "N=70", "K=130"}},
      {"matmul_quantized_pipelined", {"M=10", "N=20", "K=33", "Q=f8e4m3", "W=8", "ZERO=0"}},
      {"reduction", {"M=37", "N=300", "T=f16"}},
      {"transpose", {"M=50", "N=70"}},
      {"vector_add", {"N=1000"}}};
  for (const auto& [name, defines] : programs) {
    RunOptions options =
        shadow_options(std::string(TILEVM_SOURCE_DIR) + "/programs/" + name + ".tile");
    options.program.defines = defines;
    options.execution.wild = true;
    CAPTURE(name);
    const Ran shadow = run_shadow(options, "");
    options.shadow = false;
    const Ran plain = run_shadow(options, "");
    CHECK(plain.exit == Exit::ok);
    CHECK(shadow.exit == Exit::ok);
    CHECK(before_errors(shadow.out) == plain.out);
    CHECK(contains(shadow.out, "  output "));
  }
}
