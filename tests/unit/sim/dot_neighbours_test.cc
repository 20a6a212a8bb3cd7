// Every target gives its own bits: operands on which neighbours differ, and targets that are the
// same, on those and on random ones. What is expected is the table of docs/reference/products.md,
// Dot, not the rules in isa/numeric/mma_rules.cc.
#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/render.h"
#include "tests/unit/sim/dot_running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

constexpr std::array targets{80, 86, 89, 90, 100, 120};
/// Something for each target, in that order.
template <class T>
using PerTarget = std::array<T, targets.size()>;

struct Class {
  DType a, b, accumulator;
};

std::string name_of(const Class& type) {
  return to_string(type.a) + " x " + to_string(type.b) + " + " + to_string(type.accumulator);
}

/// The instructions of a class, the largest first.
std::vector<const isa::MmaShape*> shapes_of(const Class& type) {
  return isa::mma_shapes({120, false}, type.a, type.b, type.accumulator);
}

/// One instruction on one fragment.
std::string one_instruction(const isa::MmaShape& shape) {
  return dot_text(shape.a, shape.b, shape.accumulator,
                  {std::size_t(shape.m), std::size_t(shape.n), std::size_t(shape.k)},
                  to_string(shape.a_layout), to_string(shape.b_layout), to_string(shape.c_layout));
}

/// a * b at k.
struct Term {
  std::size_t k;
  std::uint64_t a, b;
};

/// Terms that add up differently, and the sum on each target; nothing where it has no instruction.
struct Vector {
  std::string name;
  Class type;
  std::vector<Term> terms;
  std::uint64_t c;
  PerTarget<std::optional<std::uint64_t>> result;
};

std::vector<Vector> vectors() {
  using isa::bf16, isa::f16, isa::f32, isa::f8e4m3, isa::f8e5m2, isa::tf32;
  constexpr auto none = std::nullopt;
  const auto before_hopper_and_after = [](std::uint64_t before, std::uint64_t after) {
    return PerTarget<std::optional<std::uint64_t>>{before, before, before, after, after, after};
  };
  return {
      {"2^24 - 2^24 + 2^-2, the last at k = 8: blocks of 8, or of 16",
       {f16, f16, f32},
       {{0, 0x6c00, 0x6c00}, {1, 0xec00, 0x6c00}, {8, 0x3800, 0x3800}},
       0,
       before_hopper_and_after(0x3e800000, 0)},
      {"the same with an f16 result",
       {f16, f16, f16},
       {{0, 0x6c00, 0x6c00}, {1, 0xec00, 0x6c00}, {8, 0x3800, 0x3800}},
       0,
       before_hopper_and_after(0x3400, 0)},
      {"the same of bf16",
       {bf16, bf16, f32},
       {{0, 0x4580, 0x4580}, {1, 0xc580, 0x4580}, {8, 0x3f00, 0x3f00}},
       0,
       before_hopper_and_after(0x3e800000, 0)},
      {"the same of tf32, the last at k = 4: blocks of 4, or of 8",
       {tf32, tf32, f32},
       {{0, 0x45800000, 0x45800000}, {1, 0xc5800000, 0x45800000}, {4, 0x3f000000, 0x3f000000}},
       0,
       before_hopper_and_after(0x3e800000, 0)},
      {"1 - 1 + 2^-25: F = 24, or 25",
       {f16, f16, f32},
       {{0, 0xbc00, 0x3c00}, {1, 0x0800, 0x0c00}},
       0x3f800000,
       before_hopper_and_after(0, 0x33000000)},
      {"1 - 1 + 2^-25 of tf32",
       {tf32, tf32, f32},
       {{0, 0xbf800000, 0x3f800000}, {1, 0x33000000, 0x3f800000}},
       0x3f800000,
       before_hopper_and_after(0, 0x33000000)},
      {"1 - 1 + 2^-26 is lost everywhere",
       {f16, f16, f32},
       {{0, 0xbc00, 0x3c00}, {1, 0x0800, 0x0800}},
       0x3f800000,
       before_hopper_and_after(0, 0)},
      {"1 + (1 + 3 * 2^-23): 13 fraction bits, an addition to nearest at the end, or truncation",
       {f8e4m3, f8e4m3, f32},
       {{0, 0x38, 0x38}},
       0x3f800003,
       {none, none, 0x40000000, 0x40000002, 0x40000002, 0x40000001}},
      {"the same of f8e5m2",
       {f8e5m2, f8e5m2, f32},
       {{0, 0x3c, 0x3c}},
       0x3f800003,
       {none, none, 0x40000000, 0x40000002, 0x40000002, 0x40000001}},
      {"-1 + 1 + 2^-14 with an f16 result: 13 fraction bits, or 25",
       {f8e4m3, f8e4m3, f16},
       {{0, 0xb8, 0x38}, {1, 0x38, 0x38}, {4, 0x08, 0x02}},
       0,
       {none, none, 0, 0x0400, 0x0400, 0x0400}},
      {"1 - 1 + 2^-14 with the first 1 as accumulator: added at the end, or with the products",
       {f8e4m3, f8e4m3, f16},
       {{0, 0xb8, 0x38}, {4, 0x08, 0x02}},
       0x3c00,
       {none, none, 0, 0, 0, 0x0400}},
      {"2^15 - 2^15 + 2^-12, the last at k = 2: blocks of k % 4 in {0, 1}, or of 16 or 32 in order",
       {f8e5m2, f8e5m2, f32},
       {{0, 0x78, 0x3c}, {1, 0xf8, 0x3c}, {2, 0x24, 0x24}},
       0,
       {none, none, 0, 0x39800000, 0x39800000, 0}},
  };
}

std::uint64_t sum_on(const isa::Target& target, const Vector& vector) {
  const isa::MmaShape& shape = *shapes_of(vector.type).front();
  const Extents size{std::size_t(shape.m), std::size_t(shape.n), std::size_t(shape.k)};
  Operands in{Codes(size.m * size.k, 0), Codes(size.k * size.n, 0), Codes(size.m * size.n, 0)};
  for (const Term& term : vector.terms) in.a[term.k] = term.a, in.b[term.k * size.n] = term.b;
  in.c[0] = vector.c;
  const auto dot = load(one_instruction(shape), {}, target);
  return run_dot(dot, shape.a, shape.b, shape.accumulator, size, in)[0];
}

/// What is said of a program that does not load.
std::string refusal(const std::string& text, const isa::Target& target) {
  const auto source = std::make_shared<const SourceFile>("test.tile", text);
  Diagnostics diagnostics;
  if (auto program = frontend::load(source, {{}, target}, diagnostics)) {
    CHECK_FALSE(isa::verify(*std::move(program), target, diagnostics).has_value());
  }
  return render(diagnostics, *source, false);
}

}  // namespace

TEST_CASE("operands on which neighbours differ, or do not") {
  for (const Vector& vector : vectors()) {
    CAPTURE(vector.name);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      CAPTURE(targets[i]);
      if (vector.result[i]) CHECK(sum_on({targets[i], false}, vector) == *vector.result[i]);
    }
  }
}

TEST_CASE("8-bit floats on a target without them are an error that names it") {
  for (const int sm : {80, 86}) {
    const auto& shape = *shapes_of({isa::f8e4m3, isa::f8e4m3, isa::f32}).front();
    const std::string message = refusal(one_instruction(shape), {sm, false});
    CAPTURE(message);
    CHECK(message.find("sm_" + std::to_string(sm)) != std::string::npos);
    CHECK(message.find("sm_89 and later do") != std::string::npos);
  }
}

namespace {

/// Targets with the same letter give the same bits; those with a blank have no such instruction.
struct Family {
  Class type;
  const char* letters;
};

std::vector<Family> families() {
  using isa::bf16, isa::f16, isa::f32, isa::f64, isa::i32, isa::i8, isa::tf32, isa::u1, isa::u8;
  const DType i4 = isa::signed_int(4), u4 = isa::unsigned_int(4);
  std::vector<Family> all{{{f16, f16, f32}, "aaabbb"},   {{f16, f16, f16}, "aaabbb"},
                          {{bf16, bf16, f32}, "aaabbb"}, {{tf32, tf32, f32}, "aaabbb"},
                          {{i8, u8, i32}, "aaaaaa"},     {{i4, u4, i32}, "aaaaaa"},
                          {{u1, u1, i32}, "aaaaaa"},     {{f64, f64, f64}, "aaaaaa"}};
  for (const DType& a : {isa::f8e4m3, isa::f8e5m2}) {
    for (const DType& b : {isa::f8e4m3, isa::f8e5m2}) {
      for (const DType& c : {f32, f16}) all.push_back({{a, b, c}, "  abbc"});
    }
  }
  return all;
}

/// The results of many random Dots of a class by each target that has them.
PerTarget<Codes> random_results(const Family& family) {
  PerTarget<Codes> results;
  for (const isa::MmaShape* shape : shapes_of(family.type)) {
    const Extents size = extents_of(*shape);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (family.letters[i] == ' ') continue;
      const isa::Target target{targets[i], false};
      const auto dot = program_of(*shape, shape->a, shape->b, size, target);
      Random random(static_cast<std::uint64_t>(shape->k));
      for (int round = 0; round < 12; ++round) {
        const Operands in = random_operands(random, shape->a, shape->b, shape->accumulator, size);
        const Codes codes = run_dot(dot, shape->a, shape->b, shape->accumulator, size, in);
        results[i].insert(results[i].end(), codes.begin(), codes.end());
      }
    }
  }
  return results;
}

}  // namespace

TEST_CASE("random operands tell exactly those targets apart that the table tells apart") {
  for (const Family& family : families()) {
    const std::string name = name_of(family.type);
    CAPTURE(name);
    const PerTarget<Codes> results = random_results(family);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (results[i].empty() || results[j].empty()) continue;
        CAPTURE(targets[i]);
        CAPTURE(targets[j]);
        CHECK((results[i] == results[j]) == (family.letters[i] == family.letters[j]));
      }
    }
  }
}
