// Which copies are made in bulk, and what the emitter writes around them.
#include <doctest/doctest.h>

#include <string>

#include "backend/emit/emit.h"
#include "backend/select/select.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

constexpr isa::Target sm_90{90, true};

/// The kernel's own text.
std::string text_of(const std::string& program, const isa::Target& target = sm_90) {
  const CudaSource source = emit_cuda(make_program(program, target));
  return source.text.substr(source.prelude_size);
}

/// A kernel of 128 threads that copies 16 rows of `columns` elements, and does `rest`.
std::string kernel(const std::string& columns, const std::string& view, const std::string& offset,
                   const std::string& rest = "", int threads = 128) {
  return "@threads(" + std::to_string(threads) + ")\ndef f<4>(f16* p, f16* r, i32 n):\n" +
         "    i = BlockIndices()\n    g = ViewGlobal(p, shape=" + view +
         ")\n    s = AllocateShared(f16, shape=[16, " + columns +
         "])\n    CopyAsync(s, g, offset=" + offset +
         ")\n    CopyAsyncCommitGroup()\n    CopyAsyncWaitGroup(0)\n    Synchronize()\n" + rest;
}

/// A program with one of its words replaced.
std::string with(std::string program, const std::string& word, const std::string& by) {
  return program.replace(program.find(word), word.size(), by);
}

bool is_bulk(const std::string& text) {
  return text.find("tv::cp_async_bulk<") != std::string::npos;
}

/// A kernel whose threads copy 64 rows of 16 pieces.
std::string rows_of_256_bytes(int threads) {
  return with(kernel("128", "[512, 1024]", "[i * 64:, 0:]", "", threads), "shape=[16, 128]",
              "shape=[64, 128]");
}

TEST_CASE("rows of whole 16 bytes inside the view are copied in bulk") {
  CHECK(is_bulk(text_of(kernel("512", "[64, 512]", "[i * 16:, 0:]"))));
  CHECK(is_bulk(text_of(kernel("512", "[64, 1024]", "[i * 16:, 512:]"))));
  CHECK(is_bulk(text_of(kernel("512", "[16, 2048]", "[0:, i * 512:]"))));
}

TEST_CASE("other copies are not") {
  // Beyond the end, or maybe beyond it.
  CHECK_FALSE(is_bulk(text_of(kernel("512", "[60, 512]", "[i * 16:, 0:]"))));
  CHECK_FALSE(is_bulk(text_of(kernel("512", "[n, 512]", "[i * 16:, 0:]"))));
  CHECK_FALSE(is_bulk(text_of(kernel("512", "[64, 506]", "[i * 16:, 0:]"))));
  // Not at multiples of 16 bytes.
  CHECK_FALSE(is_bulk(text_of(kernel("512", "[64, 516]", "[i * 16:, 4:]"))));
  // Short rows: pieces take fewer instructions.
  CHECK_FALSE(is_bulk(text_of(kernel("128", "[64, 256]", "[i * 16:, 0:]"))));
  CHECK_FALSE(is_bulk(text_of(rows_of_256_bytes(128))));
  // A warp that is not whole, and a GPU that has no such instruction.
  CHECK_FALSE(is_bulk(text_of(kernel("512", "[64, 512]", "[i * 16:, 0:]", "", 120))));
  CHECK_FALSE(is_bulk(text_of(kernel("512", "[64, 512]", "[i * 16:, 0:]"), {80, false})));
}

TEST_CASE("dimensions without gaps on both sides are one row") {
  const auto bytes_of = [](const std::string& text) {
    const std::size_t begin = text.find("tv::cp_async_bulk<");
    return begin == std::string::npos ? "" : text.substr(begin, text.find('>', begin) - begin + 1);
  };
  const std::string whole = text_of(kernel("128", "[64, 128]", "[i * 16:, 0:]"));
  CHECK(bytes_of(whole) == "tv::cp_async_bulk<4096>");
  // A gap in global or in shared memory, or an order of elements that is another one.
  CHECK(bytes_of(text_of(kernel("512", "[64, 1024]", "[i * 16:, 0:]"))) ==
        "tv::cp_async_bulk<1024>");
  const std::string shared = kernel("512", "[64, 512]", "[i * 16:, 0:]");
  CHECK(bytes_of(
            text_of(with(shared, "512])\n    Copy", "512], layout=strides(520, 1))\n    Copy"))) ==
        "tv::cp_async_bulk<1024>");
  CHECK_FALSE(
      is_bulk(text_of(with(shared, "512])\n    Copy", "512], layout=strides(1, 16))\n    Copy"))));
  // The last two of three dimensions, or all.
  const auto three = [&](const std::string& view) {
    return text_of(
        "@threads(128)\ndef f<4>(f16* p):\n    i = BlockIndices()\n"
        "    g = ViewGlobal(p, shape=" +
        view +
        ")\n"
        "    s = AllocateShared(f16, shape=[4, 2, 256])\n"
        "    CopyAsync(s, g, offset=[i * 4:, 0:, 0:])\n    CopyAsyncCommitGroup()\n"
        "    CopyAsyncWaitGroup(0)\n    Synchronize()\n");
  };
  CHECK(bytes_of(three("[16, 3, 256]")) == "tv::cp_async_bulk<1024>");
  CHECK(bytes_of(three("[16, 2, 256]")) == "tv::cp_async_bulk<4096>");
}

TEST_CASE("rows pay where threads would have to find the places of their pieces again") {
  // 384 threads turn over 24 rows, which 64 are not multiples of.
  const std::string text = text_of(rows_of_256_bytes(384));
  CHECK(is_bulk(text));
  CHECK(text.find("if (bulk_.warp - 1u < 8 && tv::elect_sync()) {") != std::string::npos);
  CHECK(text.find("l_ < 8; ++l_") != std::string::npos);
  CHECK(text.find("break;") == std::string::npos);
  // Where warps do not divide the rows only the last turn may go beyond them.
  const std::string rest = with(rows_of_256_bytes(384), "shape=[64, 128]", "shape=[66, 128]");
  CHECK(text_of(rest).find("if (l_ == 8 && row_ >= 66) break;") != std::string::npos);
}

TEST_CASE("what the kernel writes itself is not read in bulk") {
  const std::string stores =
      "    x = LoadShared(s, layout=local(1, 4).spatial(1, 128).local(16, 1))\n";
  CHECK(is_bulk(text_of(kernel("512", "[64, 512]", "[i * 16:, 0:]",
                               stores + "    StoreGlobal(x, ViewGlobal(r, shape=[16, 512]))\n"))));
  CHECK_FALSE(is_bulk(
      text_of(kernel("512", "[64, 512]", "[i * 16:, 0:]", stores + "    StoreGlobal(x, g)\n"))));
}

TEST_CASE("a block waits for its copies before it ends, wherever that is") {
  const std::string text =
      text_of(kernel("512", "[64, 512]", "[i * 16:, 0:]", "    if n > 3:\n        Exit()\n"));
  constexpr std::string_view begin = "if (bulk_.bytes != 0) {",
                             end = "tv::wait_for_phases<0, false>(bulk_);";
  const auto exit = text.find(begin);
  REQUIRE(exit != std::string::npos);
  const auto last = text.find(begin, exit + 1);
  REQUIRE(last != std::string::npos);
  CHECK(text.find(end, exit) < text.find("return;", exit));
  CHECK(text.find("return;", exit) < last);
  CHECK(text.find(end, last) != std::string::npos);
  CHECK(text.find("tv::cp_async_commit_group") == std::string::npos);
}

TEST_CASE("a fence stands behind stores to memory that is copied to later") {
  const std::string store = R"(
@threads(128)
def f<1>(f16* p):
    g = ViewGlobal(p, shape=[64, 512])
    s = AllocateShared(f16, shape=[16, 512])
    t = AllocateShared(f16, shape=[16, 512])
    x = AllocateRegister(f16, layout=local(16, 4).spatial(1, 128), init=0)
    for i in range(4):
        CopyAsync(s, g, offset=[i * 16:, 0:])
        CopyAsyncCommitGroup()
        CopyAsyncWaitGroup(0)
        Synchronize()
        StoreShared(x, TENSOR)
        Synchronize()
    LAST
)";
  const auto fences = [&](const std::string& tensor, const std::string& last) {
    const std::string text = text_of(with(with(store, "TENSOR", tensor), "LAST", last));
    return text.find("tv::fence_proxy_async_shared();") != std::string::npos;
  };
  CHECK(fences("s", "Synchronize()"));
  CHECK_FALSE(fences("t", "Synchronize()"));
  CHECK_FALSE(fences("t", "StoreShared(x, s)"));
}

TEST_CASE("there is a memory barrier for each group that a kernel leaves under way, and two more") {
  std::string program = kernel("512", "[64, 512]", "[i * 16:, 0:]");
  CHECK(text_of(program).find("TV_BARRIERS(barriers_, 2);") != std::string::npos);
  program += "    CopyAsyncWaitGroup(3)\n";
  CHECK(text_of(program).find("TV_BARRIERS(barriers_, 8);") != std::string::npos);
}

TEST_CASE("where memory barriers have no room copies are made in pieces") {
  const auto text_with = [](int bytes) {
    const std::string shape = "shape=[" + std::to_string(bytes) + "])\n";
    return text_of("@threads(128)\ndef f<1>(u8* p):\n    g = ViewGlobal(p, " + shape +
                   "    s = AllocateShared(u8, " + shape + "    CopyAsync(s, g)\n");
  };
  constexpr int most = 227 * 1024;
  CHECK(is_bulk(text_with(most - 128)));
  CHECK_FALSE(is_bulk(text_with(most - 64)));
  CHECK_FALSE(is_bulk(text_with(most)));
}

TEST_CASE("copies that follow one another stand behind one test of the warp") {
  const std::string copies = R"(
@threads(384)
def f<1>(f16* p):
    g = ViewGlobal(p, shape=[64, 1024])
    s = AllocateShared(f16, shape=[16, 512])
    t = AllocateShared(f16, shape=[16, 512])
    CopyAsync(s, g, offset=[0:, 0:])
    BETWEEN
    CopyAsync(t, g, offset=[16:, 0:])
    CopyAsyncCommitGroup()
    CopyAsyncWaitGroup(0)
)";
  // Warp 0 commits; each copy has four warps of its own.
  const std::string run = text_of(with(copies, "BETWEEN", "pass"));
  CHECK(run.find("if (bulk_.warp - 1u < 8) {") != std::string::npos);
  CHECK(run.find("if (bulk_.warp - 1u < 4 && tv::elect_sync()) {") != std::string::npos);
  CHECK(run.find("if (bulk_.warp - 5u < 4 && tv::elect_sync()) {") != std::string::npos);
  CHECK(run.find("bulk_.bytes += 32768;") != std::string::npos);
  // What a constant condition leaves stands in place of the branch.
  const std::string decided = text_of(
      with(with(copies, "BETWEEN", "pass"), "CopyAsync(s", "if 1 == 1:\n        CopyAsync(s"));
  CHECK(decided.find("if (bulk_.warp - 1u < 8) {") != std::string::npos);
  const std::string apart = text_of(with(copies, "BETWEEN", "CopyAsyncCommitGroup()"));
  CHECK(apart.find("< 8) {") == std::string::npos);
  CHECK(apart.find("bulk_.bytes += 16384;") != std::string::npos);
}

}  // namespace
}  // namespace tilevm::backend
