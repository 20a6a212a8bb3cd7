// What is kept of prints: quotas, order, limits.
#include "isa/program/print.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

namespace {

using namespace tilevm;
using namespace tilevm::isa;

PrintSite site_of_size(std::size_t elements) {
  PrintSite site;
  site.dtype = i32;
  site.element_bytes = 4;
  site.shape = site.shown = {static_cast<std::int64_t>(elements)};
  site.record_bytes = print_header_bytes + (elements * 4 + 7) / 8 * 8;
  return site;
}

/// Sites with records of 16, 264 and 8200 bytes.
const std::vector<PrintSite> sites{site_of_size(1), site_of_size(64), site_of_size(2048)};

/// A block that prints `count` records of a site; their elements begin with the block's number.
PrintRecords records(std::uint64_t block, std::uint32_t site, std::uint64_t count) {
  PrintRecords made;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (std::uint8_t* to = made.add(site, sites[site])) {
      to[0] = static_cast<std::uint8_t>(block);
    }
  }
  return made;
}

std::uint64_t count_of(const LaunchPrints& prints) {
  std::uint64_t count = 0;
  for (const auto& block : prints.blocks) {
    for_each_record(block.records, sites, [&](const PrintSite&, const std::uint8_t*) { ++count; });
  }
  return count;
}

}  // namespace

TEST_CASE("shares follow from the number of blocks and fit their common limit") {
  CHECK(print_shares(1).bytes == max_block_print_bytes);
  CHECK(print_shares(1024).bytes == max_block_print_bytes);
  CHECK(print_shares(1025).bytes < max_block_print_bytes);
  CHECK(rc::check("any number of blocks", [](std::uint64_t blocks) {
    const PrintShares shares = print_shares(blocks);
    RC_ASSERT((shares.bytes >= 16 && shares.bytes % 8 == 0));
    RC_ASSERT((shares.blocks >= 1 && shares.blocks <= std::max<std::uint64_t>(blocks, 1)));
    RC_ASSERT((shares.blocks * shares.bytes <= std::uint64_t{1} << 28));
    RC_ASSERT((blocks > (std::uint64_t{1} << 24) || shares.blocks == std::max(blocks, {1})));
    RC_ASSERT((shares.of(shares.blocks - 1) == shares.bytes && shares.of(shares.blocks) == 0));
  }));
}

TEST_CASE("what does not fit a block's limit is dropped, and so is everything after it") {
  PrintRecords made = records(0, 2, 31);  // 7944 bytes are left
  CHECK(made.add(2, sites[2]) == nullptr);
  CHECK(made.add(0, sites[0]) == nullptr);  // it would fit
  CHECK(made.count() == 31);
  CHECK(made.dropped() == 2);
  CHECK(made.bytes().size() == std::size_t{31} * 8200);
  made.clear();
  CHECK(made.empty());
  for (std::uint64_t i = 0; i < max_block_print_bytes / 16; ++i) {
    REQUIRE(made.add(0, sites[0]) != nullptr);
  }
  CHECK(made.add(0, sites[0]) == nullptr);
}

TEST_CASE("records are read back, and broken ones are refused") {
  PrintRecords made = records(7, 0, 3);
  CHECK(made.add(2, sites[2]) != nullptr);
  const auto back = PrintRecords::read(made.bytes(), sites);
  REQUIRE(back);
  CHECK(back->count() == 4);
  CHECK(back->bytes() == made.bytes());
  for (std::size_t size = 0; size < made.bytes().size(); ++size) {
    const bool whole = size <= 48 && size % 16 == 0;
    const std::vector<std::uint8_t> part(made.bytes().begin(),
                                         made.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(PrintRecords::read(part, sites).has_value() == whole);
  }
  auto wrong = made.bytes();
  wrong[3] = 0xff;
  CHECK_FALSE(PrintRecords::read(wrong, sites));
  wrong[3] = 0;
  wrong[0] = 3;
  CHECK_FALSE(PrintRecords::read(wrong, sites));
}

TEST_CASE("prints come in the order of the blocks, whatever the order in which blocks end") {
  // Shares of 256 KiB, of 5368 bytes, and of 16 bytes, with blocks that have none.
  for (const std::int64_t blocks : {5000, 50000, 20000000}) {
    const std::array<std::int64_t, 3> grid{10, 5, blocks / 50};
    const bool uses_pool = blocks > 5000;
    CHECK(rc::check("any order", [&] {
      const auto end = static_cast<std::uint64_t>(blocks);
      const auto numbers =
          *rc::gen::container<std::set<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, end));
      const auto most = *rc::gen::element<std::uint64_t>(3, 20, 60);
      const auto of_block = [&](std::uint64_t b) {
        if (b % 8 != 0) return records(b, 2, most);
        return records(b, static_cast<std::uint32_t>(b % 2), b % 50);
      };
      std::vector<std::uint64_t> order(numbers.begin(), numbers.end());
      PrintLog sorted(0, grid, sites), shuffled(0, grid, sites);
      for (const std::uint64_t b : order) sorted.add(b, of_block(b));
      for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
      }
      for (const std::uint64_t b : order) shuffled.add(b, of_block(b));
      std::optional<std::uint64_t> last;
      if (*rc::gen::arbitrary<bool>()) last = *rc::gen::inRange<std::uint64_t>(0, end);
      const LaunchPrints a = sorted.take(last), b = shuffled.take(last);
      RC_ASSERT((a == b));
      RC_CLASSIFY((a.dropped > 0), "some are dropped");
      RC_CLASSIFY((uses_pool && a.dropped == 0 && count_of(a) > 50), "the pool serves");
      for (std::size_t i = 0; i + 1 < a.blocks.size(); ++i) {
        const auto [x, y, z] = a.blocks[i].block;
        const auto [u, v, w] = a.blocks[i + 1].block;
        RC_ASSERT((std::array{z, y, x} < std::array{w, v, u}));
      }
    }));
  }
}

TEST_CASE("a launch keeps the first 4 MiB of records and counts the rest") {
  PrintLog log(3, {10, 5, 20}, sites);
  const std::uint64_t per_block = max_block_print_bytes / 8200;  // 31 records
  for (std::uint64_t b = 0; b < 100; ++b) log.add(99 - b, records(99 - b, 2, per_block + 2));
  CHECK(log.full());
  const LaunchPrints prints = log.take(std::nullopt);
  CHECK(prints.kernel == 3);
  CHECK(count_of(prints) == max_launch_print_bytes / 8200);
  CHECK(count_of(prints) + prints.dropped == 100 * (per_block + 2));
  CHECK_FALSE(prints.dropped_unknown);
  CHECK(prints.blocks.front().block == std::array<std::int64_t, 3>{0, 0, 0});
  CHECK(prints.blocks[13].block == std::array<std::int64_t, 3>{3, 1, 0});
  CHECK(prints.blocks[13].records[print_header_bytes] == 13);
}

constexpr std::array<std::int64_t, 3> million{1000, 1000, 1};  // shares of 264 bytes

TEST_CASE("few blocks of many print as much as if they were few") {
  PrintLog log(0, million, sites);
  for (const std::uint64_t b : {999999, 7, 500000}) log.add(b, records(b, 2, 20));
  const LaunchPrints prints = log.take(std::nullopt);
  CHECK(count_of(prints) == 60);
  CHECK(prints.dropped == 0);
  CHECK(prints.blocks[2].block == std::array<std::int64_t, 3>{999, 999, 0});
}

TEST_CASE("if the pool is too small for all, every block keeps its share only") {
  // 2043 records of 8200 + 8 bytes fit the pool; each block has one of 264 bytes in its share.
  const auto prints_of = [](std::uint64_t blocks, std::optional<std::uint64_t> faulty = {}) {
    PrintLog log(0, million, sites);
    for (std::uint64_t i = 0; i < blocks; ++i) {
      PrintRecords made;
      for (const std::uint32_t site : {1, 2, 0}) made.add(site, sites[site]);
      log.add(blocks - 1 - i, made);
    }
    return log.take(faulty);
  };
  const std::uint64_t most = print_pool_bytes / (8200 + 8 + 16 + 8);
  CHECK(prints_of(300).dropped == 0);
  CHECK(count_of(prints_of(300)) == 900);
  const LaunchPrints all = prints_of(most), share = prints_of(most + 1);
  CHECK(count_of(all) + all.dropped == 3 * most);
  CHECK(all.blocks.front().records.size() == 264 + 8200 + 16);
  CHECK(count_of(share) == most + 1);
  CHECK(share.dropped == 2 * (most + 1));
  CHECK(share.blocks.front().records.size() == 264);
  // After a fault only the blocks up to it are asked.
  CHECK(prints_of(most + 500, most - 1).blocks == all.blocks);
  CHECK(prints_of(most + 500, most).blocks == share.blocks);
  CHECK(prints_of(most + 500, most).dropped_unknown);
  CHECK_FALSE(prints_of(most + 500, 200).dropped_unknown);
}

TEST_CASE("after a fault only prints of the blocks up to it are shown") {
  PrintLog log(0, {10, 1, 1}, sites);
  for (const std::uint64_t b : {9, 2, 5, 7}) log.add(b, records(b, 0, 2));
  log.add(8, records(8, 2, 40));  // some are dropped, but after the fault
  const LaunchPrints prints = log.take(5);
  CHECK(count_of(prints) == 4);
  CHECK(prints.dropped == 0);
  CHECK_FALSE(prints.dropped_unknown);
  PrintLog dropping(0, {10, 1, 1}, sites);
  dropping.add(4, records(4, 2, 40));
  CHECK(dropping.take(5).dropped_unknown);
}
