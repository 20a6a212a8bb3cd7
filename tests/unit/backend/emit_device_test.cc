// Emitted programs on a GPU against isa. Skips without one.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backend/engine/engine.h"
#include "backend/host/subprocess.h"
#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

std::optional<CudaEngine> open_device() {
  Result<CudaEngine> engine = CudaEngine::create();
  if (engine) return *std::move(engine);
  MESSAGE("skipped: " << engine.error().message);
  return std::nullopt;
}

void run(CudaEngine& engine, const isa::VerifiedProgram& program,
         const std::vector<Argument>& arguments, HostBuffers& buffers) {
  const Status status =
      engine.run_kernel(program, 0, arguments, buffers, std::chrono::milliseconds{20'000});
  const std::string problem = status ? "" : status.error().message;
  REQUIRE_MESSAGE(status.ok(), problem);
}

std::vector<std::uint8_t> bytes_of(const isa::DType& type, std::size_t count) {
  return std::vector<std::uint8_t>(isa::bytes_for_bits(count * type.bits));
}

/// The low codes of a type: all if it has 16 bits or fewer.
std::vector<std::uint8_t> low_codes(const isa::DType& type, std::size_t count) {
  auto bytes = bytes_of(type, count);
  for (std::size_t i = 0; i < count; ++i) {
    isa::put_bits(bytes.data(), i * type.bits, type.bits, i);
  }
  return bytes;
}

/// Casts the codes 0 .. count-1 of one type to several others, a pointer each.
std::string cast_program(const isa::DType& from, std::span<const isa::DType> to,
                         std::size_t count) {
  std::string parameters, body;
  for (std::size_t i = 0; i < to.size(); ++i) {
    parameters += fmt::format(", {}* q{}", to_string(to[i]), i);
    body +=
        fmt::format("    StoreGlobal(Cast(a, {}), ViewGlobal(q{}, shape=[{}]), offset=[t * 32:])\n",
                    to_string(to[i]), i, count);
  }
  return fmt::format(
      "def casts<{}>({}* p{}):\n    t = BlockIndices()\n    g = ViewGlobal(p, shape=[{}])\n"
      "    a = LoadGlobal(g, layout=spatial(32), offset=[t * 32:])\n{}",
      (count + 31) / 32, to_string(from), parameters, count, body);
}

void check_casts(CudaEngine& engine, const isa::DType& from, std::span<const isa::DType> to) {
  const std::size_t count = std::size_t{1} << std::min<int>(from.bits, 16);
  const auto program = make_program(cast_program(from, to, count));
  HostBuffers buffers{low_codes(from, count)};
  std::vector<Argument> arguments{0};
  for (const isa::DType& type : to) {
    arguments.emplace_back(static_cast<int>(buffers.size()));
    buffers.push_back(bytes_of(type, count));
  }
  run(engine, program, arguments, buffers);
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::size_t wrong = 0, first = 0;
    for (std::size_t code = 0; code < count; ++code) {
      const auto got = isa::get_bits(buffers[i + 1].data(), code * to[i].bits, to[i].bits);
      if (got == isa::cast(from, to[i], code)) continue;
      if (wrong++ == 0) first = code;
    }
    const std::string pair = to_string(from) + " -> " + to_string(to[i]);
    CHECK_MESSAGE(wrong == 0, pair << ": " << wrong << " codes, the first is " << first);
  }
}

TEST_CASE("the GPU casts every code as isa does") {
  auto engine = open_device();
  if (!engine) return;
  const bool everything = std::getenv("TILEVM_EXHAUSTIVE") != nullptr;
  const std::vector<isa::DType>& all = isa::all_dtypes();
  const std::vector<isa::DType> some{
      isa::i8,     isa::signed_int(6), isa::unsigned_int(3),   isa::f16,  isa::bf16, isa::f8e4m3,
      isa::f8e5m2, isa::bipolar(2),    isa::small_float(3, 2), isa::tf32, isa::f32,  isa::f64};
  for (const isa::DType& from : everything ? all : some)
    check_casts(*engine, from, everything ? all : some);
}

TEST_CASE("stores of narrow elements spare what other threads write") {
  auto engine = open_device();
  if (!engine) return;
  const auto program = make_program(R"(
def stripes<64>(u3* p):
    t = BlockIndices()
    g = ViewGlobal(p, shape=[32, 64])
    x = AllocateRegister(u3, layout=spatial(32, 1), init=t)
    StoreGlobal(x, g, offset=[0:, t:])
)");
  HostBuffers buffers{std::vector<std::uint8_t>(768, 0xff)};
  run(*engine, program, {0}, buffers);
  for (std::size_t i = 0; i < 2048; ++i) {
    REQUIRE(isa::get_bits(buffers[0].data(), i * 3, 3) == i % 64 % 8);
  }
}

TEST_CASE("loads outside of the view are zero and stores outside are skipped") {
  auto engine = open_device();
  if (!engine) return;
  const auto program = make_program(R"(
def copy<2>(u16* p, u16* q, i32 n):
    t = BlockIndices()
    a = LoadGlobal(ViewGlobal(p, shape=[n]), layout=spatial(32), offset=[t * 32 - 3:])
    StoreGlobal(a, ViewGlobal(q, shape=[n]), offset=[t * 32:])
)");
  const std::size_t n = 41;
  HostBuffers buffers{low_codes(isa::u16, n), std::vector<std::uint8_t>(2 * 64, 0xaa)};
  run(*engine, program, {0, 1, isa::Scalar::i32(static_cast<std::int32_t>(n))}, buffers);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint64_t wanted = i >= n ? 0xaaaa : i < 3 ? 0 : i - 3;
    CHECK(isa::get_bits(buffers[1].data(), i * 16, 16) == wanted);
  }
}

// A fault costs the whole process its GPU, so it happens in a process of its own.
TEST_CASE("child: division by zero" * doctest::skip()) {
  const auto program = make_program(R"(
def divide<1>(i32* p, i32 n):
    x = AllocateRegister(i32, layout=spatial(32), init=7 / n)
    StoreGlobal(x, ViewGlobal(p, shape=[32]))
)");
  auto engine = open_device();
  REQUIRE(engine);
  HostBuffers buffers{std::vector<std::uint8_t>(128)};
  run(*engine, program, {0, isa::Scalar::i32(-7)}, buffers);
  CHECK(isa::get_bits(buffers[0].data(), 31 * 32, 32) == 0xffffffff);
  const Status status = engine->run_kernel(program, 0, {0, isa::Scalar::i32(0)}, buffers);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().kind == ErrorKind::program);
}

TEST_CASE("a division by zero ends the launch with an error") {
  if (!open_device()) return;
  const Result<ProcessResult> child =
      run_process({.program = std::filesystem::canonical("/proc/self/exe").string(),
                   .arguments = {"--no-skip", "--test-case=child: division by zero"},
                   .folder = "/tmp",
                   .dropped_variables = {},
                   .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60)});
  REQUIRE(child.ok());
  CHECK_MESSAGE(child->exit_status == 0, child->output);
  CHECK(child->output.find(" 1 passed") != std::string::npos);
}

/// Random codes; many are powers of two, small, or near the largest, Inf and NaN.
std::vector<std::uint8_t> random_codes(const isa::DType& type, std::size_t count,
                                       std::uint64_t seed) {
  auto bytes = bytes_of(type, count);
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t code = random();
    if (random() % 4 == 0) code = ~std::uint64_t{0} << random() % 64;
    if (random() % 4 == 0) code &= isa::low_mask(type.bits) >> 1;
    isa::put_bits(bytes.data(), i * type.bits, type.bits, code);
  }
  return bytes;
}

/// Puts 1 for 0, which integers cannot be divided by.
void replace_zeros(const isa::DType& type, std::size_t count, std::vector<std::uint8_t>& codes) {
  for (std::size_t i = 0; i < count; ++i) {
    if (isa::get_bits(codes.data(), i * type.bits, type.bits) != 0) continue;
    isa::put_bits(codes.data(), i * type.bits, type.bits, 1);
  }
}

void check_arithmetic(CudaEngine& engine, const isa::DType& type) {
  constexpr std::size_t count = 8192;
  const std::string name = to_string(type);
  const auto program = make_program(fmt::format(R"(
def arithmetic<256>({0}* p, {0}* q, {0}* add, {0}* sub, {0}* mul, {0}* div, {0}* mod, {0}* neg):
    t = BlockIndices()
    a = LoadGlobal(ViewGlobal(p, shape=[8192]), layout=spatial(32), offset=[t * 32:])
    b = LoadGlobal(ViewGlobal(q, shape=[8192]), layout=spatial(32), offset=[t * 32:])
    StoreGlobal(Add(a, b), ViewGlobal(add, shape=[8192]), offset=[t * 32:])
    StoreGlobal(Sub(a, b), ViewGlobal(sub, shape=[8192]), offset=[t * 32:])
    StoreGlobal(Mul(a, b), ViewGlobal(mul, shape=[8192]), offset=[t * 32:])
    StoreGlobal(Div(a, b), ViewGlobal(div, shape=[8192]), offset=[t * 32:])
    StoreGlobal(Mod(a, b), ViewGlobal(mod, shape=[8192]), offset=[t * 32:])
    StoreGlobal(Neg(a), ViewGlobal(neg, shape=[8192]), offset=[t * 32:])
)",
                                                name));
  HostBuffers buffers{random_codes(type, count, 1), random_codes(type, count, 2)};
  if (type.is_integer()) replace_zeros(type, count, buffers[1]);
  buffers.resize(8, bytes_of(type, count));
  run(engine, program, {0, 1, 2, 3, 4, 5, 6, 7}, buffers);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](std::size_t buffer) {
      return isa::get_bits(buffers[buffer].data(), i * type.bits, type.bits);
    };
    const std::uint64_t a = at(0), b = at(1);
    std::size_t buffer = 2;
    for (const auto op : {isa::BinaryOp::add, isa::BinaryOp::sub, isa::BinaryOp::mul,
                          isa::BinaryOp::div, isa::BinaryOp::mod}) {
      wrong += at(buffer++) != isa::apply(op, type, a, b) ? 1 : 0;
    }
    wrong += at(buffer) != isa::apply(isa::UnaryOp::neg, type, a) ? 1 : 0;
  }
  CHECK_MESSAGE(wrong == 0, name << ": " << wrong << " results");
}

TEST_CASE("the GPU adds, subtracts, multiplies, divides and negates as isa does") {
  auto engine = open_device();
  if (!engine) return;
  for (const isa::DType& type : isa::all_dtypes()) {
    if (!type.is_bipolar()) check_arithmetic(*engine, type);  // bipolar tiles have no arithmetic
  }
}

TEST_CASE("arguments that do not fit are refused") {
  auto engine = open_device();
  if (!engine) return;
  const auto program = make_program(R"(
def fill<n>(i32* p, i32 n):
    StoreGlobal(AllocateRegister(i32, layout=spatial(32), init=n), ViewGlobal(p, shape=[32]))
)");
  HostBuffers buffers{std::vector<std::uint8_t>(128)};
  CHECK_FALSE(engine->run_kernel(program, 0, {0}, buffers).ok());
  CHECK_FALSE(engine->run_kernel(program, 0, {1, isa::Scalar::i32(1)}, buffers).ok());
  CHECK_FALSE(engine->run_kernel(program, 0, {0, isa::Scalar::i64(1)}, buffers).ok());
  CHECK_FALSE(engine->run_kernel(program, 0, {0, isa::Scalar::i32(0)}, buffers).ok());
  CHECK(engine->run_kernel(program, 0, {0, isa::Scalar::i32(1)}, buffers).ok());
}

}  // namespace
}  // namespace tilevm::backend
