// What is emitted for operands of smaller shapes.
#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "backend/compile/toolchain.h"
#include "backend/emit/emit.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

constexpr const char* bias_program = R"(
def f<1>(f16* x_ptr, f16* bias_ptr):
    g = ViewGlobal(x_ptr, shape=[16, 8])
    h = ViewGlobal(bias_ptr, shape=[8])
    x = LoadGlobal(g, layout=local(2, 1).spatial(8, 4).local(1, 2))
    bias = LoadGlobal(h, layout=replicated(8).spatial(4).local(2))
    StoreGlobal(Add(x, bias), g)
    StoreGlobal(Mod(bias, x), g)
    StoreGlobal(Div(x, x), g)
)";

TEST_CASE("an operand of a smaller shape is read through a table of places") {
  // Long lines are broken: any white space counts as one space.
  std::istringstream words(emit_cuda(make_program(bias_program)).text);
  std::string text;
  for (std::string word; words >> word;) text += word + " ";
  const auto contains = [&](const char* part) { return text.find(part) != std::string::npos; };
  CHECK(contains("constexpr int bias_at_[4] = {0, 1, 0, 1};"));
  CHECK(contains("x[w_], tv::halves(bias, bias_at_[2 * w_], bias_at_[2 * w_ + 1]))"));
  CHECK(contains("tv::binary_halves<tv::Add, tile::f16>("));
  CHECK(
      contains("tv::binary<tv::Mod, tile::f16>(tv::get<16>(bias, bias_at_[l_]), "
               "tv::get<16>(x, l_))"));
  CHECK(contains("tv::binary_tile<tv::Div, tile::f16, 4>("));
  CHECK_FALSE(contains("x_at_"));
}

TEST_CASE("tables of places compile to registers") {
  CompileRequest request;
  request.source = emit_cuda(make_program(bias_program)).text;
  request.target = "sm_80";
  request.extra_options = {"-Xptxas", "-v"};
  const Result<Compiled> compiled = compile_cuda(request);
  if (!compiled && compiled.error().kind == ErrorKind::unavailable) {
    MESSAGE("skipped: " << compiled.error().message);
    return;
  }
  const std::string problem = compiled ? "" : compiled.error().message;
  REQUIRE_MESSAGE(compiled.ok(), problem);
  CHECK_MESSAGE(compiled->log.find("warning") == std::string::npos, compiled->log);
  CHECK_MESSAGE(compiled->log.find("0 bytes spill stores") != std::string::npos, compiled->log);
}

}  // namespace
}  // namespace tilevm::backend
