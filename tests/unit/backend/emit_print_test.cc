// Print on the GPU: the emitted text, and the prelude's records against those of the simulator.
#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "backend/emit/emit.h"
#include "backend/emit/prelude.h"
#include "isa/program/print.h"
#include "tests/unit/backend/emit_host_prelude.h"
#include "tests/unit/backend/emit_support.h"
#include "tests/unit/contains.h"

namespace tilevm::backend {
namespace {

constexpr const char* printing = R"(
def quiet<1>(f32* p):
    x = LoadGlobal(ViewGlobal(p, shape=[4]), layout=spatial(4))

def loud<2>(f32* p, i64 n):
    w = AllocateGlobal(f32, shape=[4])
    x = LoadGlobal(ViewGlobal(p, shape=[4]), layout=replicated(2).spatial(4))
    Print(x, "with */ and \\")
    Print(n)
    Print(AllocateRegister(u3, layout=spatial(8, 1).local(64, 64), init=1))
)";

TEST_CASE("only kernels that print have a print buffer, behind all other parameters") {
  const CudaSource source = emit_cuda(make_program(printing));
  REQUIRE(source.kernels.size() == 2);
  CHECK(source.kernels[0].parameters.size() == 1);
  REQUIRE(source.kernels[1].parameters.size() == 4);
  CHECK(source.kernels[1].parameters[2].role == CudaParameter::Role::workspace);
  CHECK(source.kernels[1].parameters[3].role == CudaParameter::Role::prints);
  CHECK(source.kernels[1].parameters[3].bytes() == 8);
  CHECK(contains(source.text, prelude_print));
}

TEST_CASE("programs that print nothing carry nothing of it") {
  const CudaSource source = emit_cuda(load_program("vector_add.tile"));
  CHECK_FALSE(contains(source.text, prelude_print));
  CHECK_FALSE(contains(source.text, "print_"));
}

TEST_CASE("one replica records a tile, and of a large tile only what is shown") {
  const std::string text = emit_cuda(make_program(printing)).text;
  CHECK(contains(text, "tv::print_record(print_, 0, 24)"));
  CHECK(contains(text, "if (tv::thread() / 4 % 2 == 0) tv::store<32>(record_, p0_, "));
  CHECK(contains(text, "const tv::u64 code_ = static_cast<tv::u64>(n);"));
  CHECK(contains(text, "tv::shown_place<512, 8>("));
  CHECK(contains(text, "if (p0_ < 8 && p1_ < 8) tv::store<8>(record_, p0_ * 8 + p1_,"));
  CHECK(contains(text, "tv::get<3>(AllocateRegister_u3, l_)"));
}

TEST_CASE("the shown places are those of the simulator") {
  isa::PrintSite site;
  site.shape = {100};
  site.shown = {8};
  for (tv::u32 i = 0; i < 100; ++i) {
    const tv::u32 place = tv::shown_place<100, 8>(i);
    const bool shown = i < 4 || i >= 96;
    CHECK((place < 8) == shown);
    if (shown) CHECK(site.tile_index(0, place) == i);
    CHECK(tv::shown_place<100, 100>(i) == i);
  }
  CHECK(tv::shown_place<3, 2>(0) == 0);
  CHECK(tv::shown_place<3, 2>(1) == 2);
  CHECK(tv::shown_place<3, 2>(2) == 1);
}

/// A launch's buffer in host memory, for few blocks.
struct HostBuffer {
  isa::PrintShares shares;
  std::vector<std::uint64_t> words;

  explicit HostBuffer(isa::PrintShares wanted)
      : shares(wanted),
        words(8 + wanted.blocks * (1 + wanted.bytes / 8) + isa::print_pool_bytes / 8) {
    words[1] = shares.bytes;
    words[2] = shares.blocks;
  }
  tv::u8* data() { return reinterpret_cast<tv::u8*>(words.data()); }
  tv::u8* share(std::uint64_t block) {
    return data() + 64 + shares.blocks * 8 + block * shares.bytes;
  }
  tv::u8* pool() { return share(shares.blocks); }
  /// Records that a block has in its share.
  std::vector<std::uint8_t> in_share(std::uint64_t block) {
    if (block >= shares.blocks) return {};
    return {share(block), share(block) + (words[8 + block] & 0xffffffff)};
  }
};

/// Sites with records of 16, 264 and 1032 bytes.
std::vector<isa::PrintSite> small_sites() {
  std::vector<isa::PrintSite> sites(3);
  sites[0].record_bytes = 16;
  sites[1].record_bytes = 264;
  sites[2].record_bytes = 1032;
  return sites;
}

/// One block prints `count` records through the prelude; gives those that the simulator makes.
isa::PrintRecords print_block(HostBuffer& buffer, std::uint64_t block, std::uint32_t count) {
  const std::vector<isa::PrintSite> sites = small_sites();
  set_test_block(static_cast<unsigned>(block));
  isa::PrintRecords wanted;
  tv::Printer printer = tv::printer(buffer.data());
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t site = (i * 7 + static_cast<std::uint32_t>(block)) % 3;
    const auto bytes = static_cast<tv::u32>(sites[site].record_bytes);
    std::uint8_t* const expected = wanted.add(site, sites[site]);
    tv::u8* const got = tv::print_record(printer, site, bytes);
    REQUIRE((expected != nullptr) == (got != nullptr));
    if (got == nullptr) continue;
    expected[0] = got[0] = static_cast<std::uint8_t>(i);
    expected[bytes - 9] = got[bytes - 9] = 0xee;
  }
  return wanted;
}

TEST_CASE("the prelude has the limits of the simulator") {
  CHECK(tv::max_print_bytes == isa::max_block_print_bytes);
  CHECK(tv::print_pool_bytes == isa::print_pool_bytes);
}

TEST_CASE("the prelude records, cuts and counts as the simulator does") {
  HostBuffer buffer({2000, 4});
  const std::vector<isa::PrintSite> sites = small_sites();
  std::map<std::uint64_t, std::vector<std::uint8_t>> wanted, got;
  std::uint64_t dropped = 0;
  for (const std::uint64_t block : {3, 0, 5, 4, 2}) {
    const isa::PrintRecords records =
        print_block(buffer, block, block == 5 ? 1500 : static_cast<std::uint32_t>(12 * block));
    wanted[block] = records.bytes();
    got[block] = buffer.in_share(block);
    CHECK(got[block].size() <= 2000);
    dropped += records.dropped();
  }
  std::uint64_t in_pool = 0;
  for (std::uint64_t at = 0; at < buffer.words[3]; ++in_pool) {
    const auto block = tv::load_as<tv::u64>(buffer.pool() + at);
    const auto* const record = buffer.pool() + at + 8;
    const std::size_t bytes = sites.at(tv::load_as<tv::u32>(record)).record_bytes;
    got[block].insert(got[block].end(), record, record + bytes);
    at += 8 + bytes;
  }
  CHECK(got == wanted);
  CHECK(got[5].size() > 250000);
  CHECK(buffer.words[4] == in_pool);
  CHECK(buffer.words[0] == dropped);
  CHECK(dropped > 0);
}

TEST_CASE("what no longer fits the pool is asked for all the same") {
  HostBuffer buffer({16, 2});
  buffer.words[3] = isa::print_pool_bytes - 40;
  set_test_block(1);
  tv::Printer printer = tv::printer(buffer.data());
  CHECK(tv::print_record(printer, 0, 16) == buffer.share(1) + 8);
  CHECK(tv::print_record(printer, 0, 32) == buffer.pool() + isa::print_pool_bytes - 40 + 16);
  CHECK(tv::print_record(printer, 0, 16) == nullptr);
  CHECK(buffer.words[3] > isa::print_pool_bytes);
  CHECK(buffer.words[4] == 2);
  CHECK(buffer.words[0] == 0);
}

}  // namespace
}  // namespace tilevm::backend
