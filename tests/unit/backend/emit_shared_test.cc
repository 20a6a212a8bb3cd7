// How wide asynchronous copies are, and what that rests on.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "backend/compile/toolchain.h"
#include "backend/emit/emit.h"
#include "isa/analysis/alignment.h"
#include "tests/unit/backend/emit_support.h"

using namespace tilevm;
using namespace tilevm::backend;

namespace {

/// The text that a program of one copy adds to the prelude.
std::string text_of_copy(const std::string& type, const std::string& columns,
                         const std::string& offset, const std::string& layout = "row_major") {
  const auto program = make_program("def f<4>(" + type +
                                    "* p, i32 n):\n"
                                    "    b = BlockIndices()\n"
                                    "    g = ViewGlobal(p, shape=[100, " +
                                    columns +
                                    "])\n"
                                    "    s = AllocateShared(" +
                                    type + ", shape=[16, 64], layout=" + layout +
                                    ")\n"
                                    "    CopyAsync(s, g, offset=[b * 3:, " +
                                    offset + ":])\n");
  const CudaSource source = emit_cuda(program);
  CHECK(source.kernels[0].shared_bytes == program.info(0).shared_bytes);
  return source.text.substr(source.prelude_size);
}

/// Bytes of one asynchronous copy; 0 if ordinary moves do it.
int width_of(const std::string& text) {
  for (const int bytes : {16, 8, 4}) {
    if (text.find("cp_async<" + std::to_string(bytes) + ">") != std::string::npos) return bytes;
  }
  return 0;
}

}  // namespace

TEST_CASE("a copy is as wide as strides, offsets and layouts prove to be aligned") {
  CHECK(width_of(text_of_copy("f16", "64", "b * 64")) == 16);
  CHECK(width_of(text_of_copy("f16", "72", "b * 8")) == 16);
  CHECK(width_of(text_of_copy("f16", "72", "b * 4")) == 8);
  CHECK(width_of(text_of_copy("f16", "70", "b * 8")) == 4);
  CHECK(width_of(text_of_copy("f16", "71", "b * 8")) == 0);
  CHECK(width_of(text_of_copy("f16", "64", "b")) == 0);
  CHECK(width_of(text_of_copy("f16", "n", "b * 8")) == 0);
  CHECK(width_of(text_of_copy("f16", "n * 8", "b * 8")) == 16);
  CHECK(width_of(text_of_copy("f32", "71", "b")) == 4);
  CHECK(width_of(text_of_copy("u64", "71", "b")) == 8);
  CHECK(width_of(text_of_copy("u8", "80", "16 * b + 32")) == 16);
  CHECK(width_of(text_of_copy("u4", "96", "b * 32")) == 16);
  CHECK(width_of(text_of_copy("i6", "96", "b * 32")) == 0);
  CHECK(width_of(text_of_copy("f16", "64", "b * 64", "strides(66, 1)")) == 4);
  CHECK(width_of(text_of_copy("f16", "64", "b * 64", "column_major")) == 0);
  CHECK(width_of(text_of_copy("f16", "64", "b * 64", "row_major(16, 64).swizzle(3, 3, 3)")) == 16);
  CHECK(width_of(text_of_copy("f16", "64", "b * 64", "row_major(16, 64).swizzle(2, 3, 3)")) == 8);
}

TEST_CASE("look-ups in a table join the thread's part by OR where no bit is common") {
  // Copies of a table of 16 entries: entry e of copy c is at 32 e + c, or at 31 e + c.
  const auto text_of = [](const std::string& layout) {
    const CudaSource source = emit_cuda(make_program(
        "def f<1>(u4* p, f32* q):\n"
        "    s = AllocateShared(f32, shape=[16, 32], layout=" +
        layout +
        ")\n"
        "    StoreShared(AllocateRegister(f32, layout=local(16, 1).spatial(1, 32), init=1), s)\n"
        "    L = local(4, 1).spatial(1, 32)\n"
        "    i = LoadGlobal(ViewGlobal(p, shape=[4, 32]), layout=L)\n"
        "    StoreGlobal(Gather(s, i, dim=0), ViewGlobal(q, shape=[4, 32]))\n"));
    return source.text.substr(source.prelude_size);
  };
  CHECK(text_of("strides(32, 1)").find("s + (at_ | tv::bytes<32>(") != std::string::npos);
  CHECK(text_of("strides(33, 1)").find("(at_ | ") == std::string::npos);
}

TEST_CASE("what keeps together is consecutive and aligned") {
  CHECK(rc::check("runs", [] {
    const auto factor = rc::gen::element<std::int64_t>(1, 2, 3, 4, 8);
    const auto stride = rc::gen::element<std::int64_t>(0, 1, 2, 4, 6, 8, 16, 24, 64);
    std::vector<std::int64_t> modes, strides;
    isa::Shape shape{1, 1};
    for (std::size_t m = 0; m < 4; ++m) {
      modes.push_back(*factor);
      strides.push_back(*stride);
      shape[m / 2] *= modes.back();
    }
    std::optional<isa::Swizzle> swizzle;
    if (*rc::gen::arbitrary<bool>()) swizzle = isa::Swizzle{*rc::gen::inRange(0, 4), 2, 3};
    const auto layout = isa::MemoryLayout::make(shape, modes, strides, swizzle);
    RC_PRE(layout.ok());
    const int dim = *rc::gen::inRange(0, 2);
    const auto at = static_cast<std::size_t>(dim);
    const auto count = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
    if (!isa::keeps_together(*layout, dim, count)) return;
    isa::Index index(2);
    for (index[1 - at] = 0; index[1 - at] < shape[1 - at]; ++index[1 - at]) {
      for (index[at] = 0; index[at] < shape[at]; ++index[at]) {
        isa::Index first = index;
        first[at] -= index[at] % count;
        RC_ASSERT((layout->offset(first) % count == 0));
        RC_ASSERT((layout->offset(index) == layout->offset(first) + index[at] % count));
      }
    }
  }));
}

TEST_CASE("a variable that is written again says nothing of its divisibility") {
  const auto program = make_program(
      "def f<1>(f16* p, i32 n):\n"
      "    g = ViewGlobal(p, shape=[64, 64])\n"
      "    s = AllocateShared(f16, shape=[16, 64])\n"
      "    once = n * 16\n"
      "    twice = n * 16\n"
      "    if n > 3:\n"
      "        twice = 1\n"
      "    for i in range(0, 64, 8):\n"
      "        CopyAsync(s, g, offset=[0:, once + i:])\n"
      "    CopyAsync(s, g, offset=[0:, twice:])\n");
  const std::string text = emit_cuda(program).text;
  CHECK(text.find("tv::cp_async<16>(to_at_") != std::string::npos);
  CHECK(text.find("tv::store<16>(s") != std::string::npos);
}

TEST_CASE("a longer loop finds the places in shared memory that it loads from in registers") {
  const auto loads = [](const std::string& range, const std::string& layout) {
    const auto program = make_program(
        "def f<1>(f16* p, i32 n):\n"
        "    s = AllocateShared(f16, shape=[4, 64, 64]" +
        layout +
        ")\n"
        "    for i in range(" +
        range +
        "):\n"
        "        x = LoadShared(s, layout=spatial(8, 4).local(1, 4), offset=[i % 4, 0:, 0:])\n"
        "        y = LoadShared(s, layout=spatial(8, 4).local(1, 4), offset=[i % 4, 8:, 16:])\n");
    return emit_cuda(program).text;
  };
  const auto keeps = [](const std::string& text) {
    return text.find("place0_ = tv::hoisted_address(shared_ + 0,") != std::string::npos;
  };
  const std::string kept = loads("n", "");
  CHECK(keeps(kept));
  CHECK(kept.find("place1_") == std::string::npos);  // both loads have the same share of the thread
  CHECK(keeps(loads("8", "")));
  CHECK_FALSE(keeps(loads("7", "")));
  CHECK(keeps(loads("n", ", layout=strides(4352, 68, 1)")));
  CHECK_FALSE(keeps(loads("n", ", layout=row_major(4, 64, 64).swizzle(3, 3, 3)")));
}
