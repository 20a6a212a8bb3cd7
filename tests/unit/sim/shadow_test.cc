// Shadow values: errors that are known by hand, and that they go wherever elements go.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "isa/inst/instruction_set.h"
#include "isa/type/number.h"
#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

/// Errors of the statements that compute, in the order of the text, and of the last buffer.
struct Seen {
  std::vector<StatementErrors> statements;
  ErrorStats output;
};

/// The errors of a buffer of elements that have shadow values.
ErrorStats errors_of(const Buffer& buffer, const isa::DType& type) {
  ErrorStats errors;
  const std::size_t bytes = type.bits / 8U;
  for (std::size_t k = 0; k < buffer.bytes.size() / bytes; ++k) {
    std::uint64_t code = 0;
    std::memcpy(&code, buffer.bytes.data() + k * bytes, bytes);
    if (const auto shadow = buffer.shadow->load(type, k * type.bits).value()) {
      ErrorMeter(type).add(isa::to_double(isa::decode(type, code)), *shadow, {{}, k}, errors);
    }
  }
  return errors;
}

/// Runs kernel 0 of a program on x and on a buffer of `outputs` elements of a type.
template <class T>
Seen errors_in(const std::string& text, const std::vector<T>& x, const isa::DType& type,
               std::size_t outputs, Options options = {.threads = 1}) {
  const auto program = load(text);
  std::vector<Buffer> memory{buffer("x", x),
                             buffer("y", std::vector<std::uint8_t>(outputs * type.bits / 8))};
  memory[1].shadow = *make_shadow("y", type, memory[1].bytes.size());
  options.keep_shadow = true;
  Report report = run(program, {0, 1}, memory, options);
  if (report.fault) FAIL(render(report.fault->diagnostic, program.source(), false));
  return {std::move(report.errors), errors_of(memory[1], type)};
}

/// y = what `body` makes of x, with one thread that holds n elements of x.
template <class T>
Seen errors_of_body(const std::string& from, const std::vector<T>& x, const std::string& to,
                    const std::string& body) {
  const std::string n = std::to_string(x.size());
  return errors_in("def f<1>(" + from + "* x_ptr, " + to +
                       "* y_ptr):\n    x = LoadGlobal(ViewGlobal(x_ptr, shape=[" + n +
                       "]), layout=local(" + n + "))\n" + body +
                       "    StoreGlobal(y, ViewGlobal(y_ptr, shape=[" + n + "]))\n",
                   x, *isa::parse_dtype(to), x.size());
}

constexpr float third = 1.0F / 3;                      // 0x3eaaaaab
constexpr double third_f16 = 1365.0 / 4096;            // 0x3555, the nearest f16
const double third_error = double{third} - third_f16;  // it lies above

}  // namespace

TEST_CASE("a cast costs what its rounding costs") {
  const Seen seen = errors_of_body<float>("f32", {1, third}, "f16", "    y = Cast(x, f16)\n");
  REQUIRE(seen.statements.size() == 1);
  const StatementErrors& cast = seen.statements[0];
  CHECK(cast.dtype == isa::f16);
  CHECK(cast.own.elements == 2);
  CHECK(cast.own.ulp.max == third_error / 0x1p-12);
  CHECK(cast.own.ulp.mean() == third_error / 0x1p-12 / 2);
  CHECK(cast.own.relative.max == third_error / double{third});
  CHECK(cast.own.ulp.worst == ErrorLocation{{0, 0, 0}, 1});
  CHECK(cast.accumulated == cast.own);
  CHECK(seen.output == cast.own);
}

TEST_CASE("a later statement inherits errors, but makes none of them") {
  const Seen seen = errors_of_body<float>(
      "f32", {third}, "f32", "    h = Cast(x, f16)\n    w = Cast(h, f32)\n    y = Add(w, w)\n");
  REQUIRE(seen.statements.size() == 3);
  for (const std::size_t i : {1, 2}) {
    CHECK(seen.statements[i].own.exact());
    CHECK(seen.statements[i].accumulated.relative.max == third_error / double{third});
  }
  CHECK(seen.output.ulp.max == 2 * third_error / 0x1p-24);
}

TEST_CASE("integers that wrap are off by a power of two") {
  const Seen add = errors_of_body<std::uint8_t>("u8", {200, 100}, "u8", "    y = Add(x, x)\n");
  CHECK(add.statements[0].own.ulp.max == 256);
  CHECK(add.statements[0].own.ulp.mean() == 128);
  CHECK(add.statements[0].own.relative.max == 256.0 / 400);
  const Seen least = errors_of_body<std::int8_t>("i8", {-128, 5}, "i8", "    y = Neg(x)\n");
  CHECK(least.output.ulp.max == 256);
  CHECK(least.output.ulp.worst.element == 0);
  const Seen wide = errors_of_body<std::int32_t>("i32", {1 << 30}, "i32", "    y = Add(x, x)\n");
  CHECK(wide.output.ulp.max == 0x1p32);
}

TEST_CASE("quotients of integers truncate by definition, a cast to integers does not") {
  CHECK(
      errors_of_body<std::int32_t>(
          "i32", {-7, 2}, "i32", "    y = Div(x, AllocateRegister(i32, layout=local(2), init=4))\n")
          .output.exact());
  const Seen cast = errors_of_body<float>("f32", {-2.75F, 5}, "i32", "    y = Cast(x, i32)\n");
  CHECK(cast.output.ulp.max == 0.75);
  CHECK(cast.output.relative.max == 0.75 / 2.75);
}

TEST_CASE("a narrow accumulator loses what a wide one keeps") {
  const auto dot = [](const std::string& accumulator) {
    return errors_in("def f<1>(f16* x_ptr, " + accumulator +
                         "* y_ptr):\n"
                         "    a = LoadGlobal(ViewGlobal(x_ptr, shape=[1, 2]), layout=local(1, 2))\n"
                         "    b = AllocateRegister(f16, layout=local(2, 1), init=1.0)\n"
                         "    c = AllocateRegister(" +
                         accumulator +
                         ", layout=local(1, 1), init=0.0)\n"
                         "    Dot(a, b, c, out=c)\n"
                         "    StoreGlobal(c, ViewGlobal(y_ptr, shape=[1, 1]))\n",
                     std::vector<std::uint16_t>{0x6800, 0x3c00},  // 2048 and 1
                     *isa::parse_dtype(accumulator), 1);
  };
  const Seen narrow = dot("f16");  // 2049 lies between 2048 and 2050
  REQUIRE(narrow.statements.size() == 3);
  CHECK(narrow.statements[2].own.ulp.max == 0.5);
  CHECK(narrow.output.relative.max == 1.0 / 2049);
  CHECK(dot("f32").output.exact());
}

TEST_CASE("the shadow of an accumulator is not that of its register") {
  // 2048 + 1 + 1: each step of f16 loses the 1, and is half an ulp off; both together are one.
  const Seen seen =
      errors_of_body<std::uint16_t>("f16", {0x6800}, "f16",
                                    "    one = AllocateRegister(f16, layout=local(1), init=1.0)\n"
                                    "    y = Add(x, one)\n"
                                    "    Add(y, one, out=y)\n");
  CHECK(seen.statements[1].own.ulp.max == 0.5);
  CHECK(seen.statements[2].own.ulp.max == 0.5);
  CHECK(seen.statements[2].accumulated.ulp.max == 1);
}

TEST_CASE("overflow and NaN are counted, not measured") {
  const Seen seen = errors_of_body<float>(
      "f32", {60000, 70000, 1, std::numeric_limits<float>::infinity(), -std::nanf("")}, "f16",
      "    y = Cast(x, f16)\n");
  CHECK(seen.output.elements == 5);
  CHECK(seen.output.not_finite == 1);
  CHECK(seen.output.ulp.count == 4);
  CHECK(seen.output.ulp.max == 0);
}

TEST_CASE("the real condition chooses, bits and other types begin again") {
  // The f16 of 1/3 is less than a third, so the condition holds; without rounding it would not.
  const std::string less =
      "    h = Cast(x, f16)\n    w = Cast(h, f32)\n    y = Where(Lt(w, x), w, Add(x, x))\n";
  CHECK(errors_of_body<float>("f32", {third}, "f32", less).output.relative.max ==
        third_error / double{third});
  CHECK(errors_of_body<float>("f32", {third}, "f16",
                              "    y = View(View(Cast(x, f16), dtype=u16), dtype=f16)\n")
            .output.exact());
  const Seen same = errors_of_body<float>("f32", {third, 1}, "f16",
                                          "    h = View(Cast(x, f16), layout=local(2, 1))\n"
                                          "    y = View(h, layout=local(2))\n");
  CHECK(same.output.relative.max == third_error / double{third});
  const Seen bits =
      errors_of_body<std::uint8_t>("u8", {200}, "u8", "    s = Add(x, x)\n    y = And(s, s)\n");
  CHECK(bits.statements[0].own.ulp.max == 256);
  CHECK(bits.output.exact());
}

TEST_CASE("shadow values go through shared memory, copies, workspaces and replicas") {
  const auto moved = [](const std::string& body) {
    return errors_in(
        "def f<1>(f32* x_ptr, f32* y_ptr):\n"
        "    w = AllocateGlobal(f16, shape=[16, 8])\n"
        "    s = AllocateShared(f16, shape=[16, 8], layout=row_major(16, 8).swizzle(1, 3, 3))\n"
        "    t = AllocateShared(u8, shape=[7])\n"
        "    s2 = AllocateShared(f16, shape=[2, 16, 8])\n"
        "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[16, 8]), layout=spatial(16, 2).local(1, 4))\n"
        "    h = Cast(x, f16)\n" +
            body + "    StoreGlobal(Cast(y, f32), ViewGlobal(y_ptr, shape=[16, 8]))\n",
        std::vector<float>(128, third), isa::f32, 128);
  };
  const auto check = [](const Seen& seen) {
    CHECK(seen.output.elements == 128);
    CHECK(seen.output.relative.max == third_error / double{third});
    CHECK(seen.output.relative.mean() == doctest::Approx(third_error / double{third}));
    CHECK(seen.statements.back().own.exact());
    CHECK(seen.statements.back().accumulated.elements == 128);
  };
  check(
      moved("    StoreShared(h, s)\n    Synchronize()\n"
            "    y = LoadShared(s, layout=column_spatial(16, 2).local(1, 4))\n"));
  check(
      moved("    StoreShared(h, s)\n    Synchronize()\n"
            "    y = LoadShared(s, layout=replicated(2).spatial(4, 4).local(4, 2))\n"));
  check(
      moved("    StoreGlobal(h, w)\n    Synchronize()\n"
            "    y = LoadGlobal(w, layout=column_spatial(16, 2).local(1, 4))\n"));
  check(
      moved("    StoreGlobal(h, w)\n    Synchronize()\n"
            "    CopyAsync(s2, w, offset=[0:, 0:], shared_offset=[1, 0:, 0:])\n"
            "    CopyAsyncCommitGroup()\n    CopyAsyncWaitGroup(0)\n    Synchronize()\n"
            "    y = LoadShared(s2, layout=spatial(16, 2).local(1, 4), offset=[1, 0:, 0:])\n"));
}

TEST_CASE("a copy that replaces elements replaces their shadow values") {
  const Seen seen = errors_in(
      "def f<1>(f16* x_ptr, f16* y_ptr):\n"
      "    gx = ViewGlobal(x_ptr, shape=[8])\n"
      "    s = AllocateShared(f16, shape=[8])\n"
      "    x = LoadGlobal(gx, layout=local(8))\n"
      "    StoreShared(Add(x, x), s)\n    Synchronize()\n"
      "    CopyAsync(s, gx)\n"
      "    CopyAsyncCommitGroup()\n    CopyAsyncWaitGroup(0)\n    Synchronize()\n"
      "    StoreGlobal(LoadShared(s, layout=local(8)), ViewGlobal(y_ptr, shape=[8]))\n",
      std::vector<std::uint16_t>(8, 0x7bff), isa::f16, 8);
  CHECK(seen.statements[0].own.not_finite == 8);
  CHECK(seen.output.elements == 8);
  CHECK(seen.output.exact());
}

TEST_CASE("elements that are stored as another type have no shadow values") {
  const auto stored = [](const std::string& type) {
    return errors_in(
        "def f<1>(f32* x_ptr, f16* y_ptr):\n"
        "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[2]), layout=local(2))\n"
        "    h = Cast(x, f16)\n"
        "    gy = ViewGlobal(y_ptr, shape=[2])\n"
        "    StoreGlobal(h, gy)\n"
        "    StoreGlobal(View(h, dtype=" +
            type +
            ", layout=local(1)), "
            "ViewGlobal(y_ptr, dtype=" +
            type + ", shape=[1]))\n",
        std::vector<float>{third, third}, isa::f16, 2);
  };
  CHECK(stored("u32").output.elements == 0);
}

TEST_CASE("elements without a defined value have no errors") {
  const Seen seen = errors_in(
      "def f<1>(f32* x_ptr, f16* y_ptr):\n"
      "    s = AllocateShared(f32, shape=[2, 4])\n"
      "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[4]), layout=local(4))\n"
      "    StoreShared(x, s, offset=[0, 0:])\n"
      "    both = LoadShared(s, layout=local(2, 4))\n"
      "    h = Cast(both, f16)\n"
      "    StoreGlobal(Cast(x, f16), ViewGlobal(y_ptr, shape=[4]))\n",
      std::vector<float>(4, third), isa::f16, 4);
  CHECK(seen.statements[0].own.elements == 4);
  CHECK(seen.statements[0].own.relative.max == third_error / double{third});
}

TEST_CASE("errors do not depend on the number of host threads") {
  std::vector<float> x(4096);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sqrt(static_cast<float>(i));
  const std::string text =
      "def f<64>(f32* x_ptr, f32* y_ptr):\n"
      "    b = BlockIndices()\n"
      "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[4096]), layout=spatial(64), offset=[64 * b:])\n"
      "    y = Exp(Neg(Cast(Sin(x), bf16)))\n"
      "    StoreGlobal(Cast(y, f32), ViewGlobal(y_ptr, shape=[4096]), offset=[64 * b:])\n";
  const Seen one = errors_in(text, x, isa::f32, 4096);
  const Seen many = errors_in(text, x, isa::f32, 4096, {.threads = 7});
  REQUIRE(one.statements.size() == many.statements.size());
  for (std::size_t i = 0; i < one.statements.size(); ++i) {
    CHECK(one.statements[i].own == many.statements[i].own);
    CHECK(one.statements[i].accumulated == many.statements[i].accumulated);
  }
  CHECK(one.output == many.output);
  CHECK(one.output.ulp.max > 1000);  // bf16 has 16 bits less
}

TEST_CASE("what is rounded once is off by half an ulp at most") {
  rc::check([](std::array<std::uint32_t, 16> codes) {
    std::vector<float> x;
    for (const std::uint32_t code : codes) x.push_back(std::bit_cast<float>(code));
    const Seen seen =
        errors_of_body("f32", x, "f16",
                       "    g = ViewGlobal(x_ptr, shape=[4, 4], layout=column_major)\n"
                       "    z = View(LoadGlobal(g, layout=local(4, 4)), layout=local(16))\n"
                       "    a = Div(Add(x, z), Mul(x, z))\n"
                       "    b = Rsqrt(Abs(a))\n"
                       "    h = Cast(Sqrt(x), f16)\n"
                       "    y = Mul(Sub(h, Rcp(h)), h)\n");
    RC_ASSERT(seen.statements.size() == 10);
    for (const StatementErrors& statement : seen.statements) {
      RC_ASSERT(statement.own.ulp.max <= 0.5001);
      RC_ASSERT(statement.own.elements == 16);
    }
  });
}

TEST_CASE("functions are as far off as documented") {
  std::vector<float> x;
  for (int i = 1; i < 64; ++i) x.push_back(static_cast<float>(i) * 0.173F);
  const std::vector<std::pair<std::string, double>> largest{
      {"Exp2", 0.96}, {"Exp", 1.07}, {"Log2", 1.23}, {"Log", 0.97},
      {"Sin", 1.51},  {"Cos", 1.51}, {"Tanh", 1.38}, {"Sigmoid", 2.42}};
  for (const auto& [function, most] : largest) {
    const Seen seen = errors_of_body("f32", x, "f32", "    y = " + function + "(x)\n");
    CAPTURE(function);
    CHECK(seen.output.ulp.max > 0.25);  // some are close to the middle
    CHECK(seen.output.ulp.max <= most);
  }
}

TEST_CASE("memory that is too large for shadow values is a limit") {
  const auto large = make_shadow("c", isa::u1, max_shadow_bytes / 64 + 1);
  REQUIRE_FALSE(large.ok());
  CHECK(large.error().kind == ErrorKind::limit);
  CHECK(large.error().message.find("`c`") != std::string::npos);
  const auto program = load(
      "def f<1>(i32* x_ptr):\n"
      "    w = AllocateGlobal(u1, shape=[1073741824])\n"
      "    StoreGlobal(AllocateRegister(u1, layout=local(8), init=1), w, offset=[0:])\n");
  std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(1))};
  CHECK(run_kernel(program, 0, {0}, memory, {.threads = 1}).ok());
  const auto report = run_kernel(program, 0, {0}, memory, {.threads = 1, .keep_shadow = true});
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().kind == ErrorKind::limit);
}

TEST_CASE("an ordinary run has no errors to report") {
  const auto program = load(
      "def f<1>(f32* x_ptr):\n"
      "    gx = ViewGlobal(x_ptr, shape=[4])\n"
      "    StoreGlobal(Add(LoadGlobal(gx, layout=local(4)), LoadGlobal(gx, layout=local(4))), "
      "gx)\n");
  std::vector<Buffer> memory{buffer("x", std::vector<float>(4, third))};
  CHECK(run(program, {0}, memory).errors.empty());
}
