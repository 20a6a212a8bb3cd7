// The verifier on programs that no frontend would build.
#include "isa/verify/verify.h"

#include <doctest/doctest.h>

#include "isa/analysis/definitions.h"
#include "isa/layout/register_layout.h"

namespace {

using namespace tilevm;
using namespace tilevm::isa;

const Target sm_90{90, false};

Variable tile(const std::string& name, const DType& dtype, std::int64_t threads) {
  return {name, RegisterType{dtype, *spatial({threads})}, {}};
}

Stmt statement(Instruction inst, std::vector<VarId> results, bool declares = true) {
  return {InstStmt{std::move(inst), std::move(results), declares, {}}, {}};
}

AllocateRegister allocate(const DType& dtype, std::int64_t threads) {
  return {dtype, std::nullopt, *spatial({threads}), ElementValues{{Expr::constant(0)}}};
}

Kernel kernel_of(std::vector<Variable> variables, Block body) {
  Kernel kernel;
  kernel.name = "k";
  kernel.grid = {Expr::constant(1)};
  kernel.variables = std::move(variables);
  kernel.body = std::move(body);
  return kernel;
}

/// The codes that verify reports for a program of one kernel.
std::vector<Code> codes_of(Kernel kernel) {
  Program program;
  program.kernels.push_back(std::move(kernel));
  Diagnostics diagnostics;
  const auto verified = verify(std::move(program), sm_90, diagnostics);
  CHECK(verified.has_value() == !diagnostics.has_errors());
  std::vector<Code> codes;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) codes.push_back(diagnostic.code);
  return codes;
}

constexpr VarId first{0}, second{1};

}  // namespace

TEST_CASE("a good kernel verifies and its threads are known") {
  Program program;
  program.kernels.push_back(
      kernel_of({tile("x", f32, 64)}, {statement(allocate(f32, 64), {first})}));
  Diagnostics diagnostics;
  const auto verified = verify(std::move(program), sm_90, diagnostics);
  REQUIRE(verified);
  CHECK(verified->info(0).num_threads == 64);
  CHECK(Definitions(verified->kernel(0)).written_once(first));
}

TEST_CASE("a variable that is used before it exists") {
  CHECK(codes_of(kernel_of({tile("x", f32, 32), tile("y", f32, 32)},
                           {statement(Neg{{first}}, {second})})) ==
        std::vector<Code>{Code::unknown_name});
}

TEST_CASE("a variable that is declared twice") {
  CHECK(codes_of(kernel_of({tile("x", f32, 32)}, {statement(allocate(f32, 32), {first}),
                                                  statement(allocate(f32, 32), {first})})) ==
        std::vector<Code>{Code::duplicate_name});
}

TEST_CASE("a variable does not outlive its block") {
  Stmt branch{
      IfStmt{{{Expr::constant(Scalar::of(true)), {statement(allocate(f32, 32), {first})}}}, {}},
      {}};
  CHECK(codes_of(kernel_of({tile("x", f32, 32), tile("y", f32, 32)},
                           {branch, statement(Neg{{first}}, {second})})) ==
        std::vector<Code>{Code::unknown_name});
}

TEST_CASE("a result of another type than the rule gives") {
  CHECK(codes_of(kernel_of({tile("x", f16, 32)}, {statement(allocate(f32, 32), {first})})) ==
        std::vector<Code>{Code::out_type_mismatch});
}

TEST_CASE("an operand of another kind than the slot asks for") {
  CHECK(codes_of(kernel_of({{"n", ScalarType{ScalarKind::i32}, {}}, tile("x", f32, 32)},
                           {{ScalarStmt{first, Expr::constant(1), true}, {}},
                            statement(Neg{{first}}, {second})})) ==
        std::vector<Code>{Code::wrong_operand_kind});
}

TEST_CASE("too few results, and results of an instruction that gives none") {
  CHECK(codes_of(kernel_of({}, {statement(allocate(f32, 32), {})})) ==
        std::vector<Code>{Code::result_count});
  CHECK(codes_of(kernel_of({tile("x", f32, 32)}, {statement(BlockIndices{}, {})})) ==
        std::vector<Code>{Code::result_count});
}

TEST_CASE("conditions are bool, ranges integers of one kind, grids positive") {
  CHECK(codes_of(kernel_of({}, {{WhileStmt{Expr::constant(1), {}}, {}}})) ==
        std::vector<Code>{Code::scalar_type});
  Kernel kernel = kernel_of({}, {});
  kernel.grid = {Expr::constant(0)};
  CHECK(codes_of(kernel) == std::vector<Code>{Code::bad_grid});
  kernel.grid = {};
  CHECK(codes_of(kernel) == std::vector<Code>{Code::bad_grid});
  kernel.grid = {Expr::constant(Scalar::f32(2))};
  CHECK(codes_of(kernel) == std::vector<Code>{Code::bad_grid});
}

TEST_CASE("break stands in a loop") {
  CHECK(codes_of(kernel_of({}, {{BreakStmt{}, {}}})) == std::vector<Code>{Code::misplaced});
}

TEST_CASE("one thread count in a kernel") {
  CHECK(codes_of(kernel_of(
            {tile("x", f32, 32), tile("y", f32, 64)},
            {statement(allocate(f32, 32), {first}), statement(allocate(f32, 64), {second})})) ==
        std::vector<Code>{Code::thread_count_mismatch});
}
