// What is kept of prints: quotas, order, limits.
#include "isa/print.h"

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
PrintRecords records(std::uint64_t block, std::uint32_t site, std::uint64_t count,
                     std::uint64_t quota = max_block_print_bytes) {
  PrintRecords made;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (std::uint8_t* to = made.add(site, sites[site], quota)) {
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

constexpr std::array<std::int64_t, 3> grid{10, 5, 100};

}  // namespace

TEST_CASE("quotas follow from the number of blocks and fit their common limit") {
  CHECK(print_quota(1).block_bytes == max_block_print_bytes);
  CHECK(print_quota(1024).block_bytes == max_block_print_bytes);
  CHECK(print_quota(1025).block_bytes < max_block_print_bytes);
  CHECK(rc::check("any number of blocks", [](std::uint64_t blocks) {
    const PrintQuota quota = print_quota(blocks);
    RC_ASSERT((quota.block_bytes >= 16 && quota.block_bytes % 8 == 0));
    RC_ASSERT((quota.blocks >= 1 && quota.blocks <= std::max<std::uint64_t>(blocks, 1)));
    RC_ASSERT((quota.blocks * quota.block_bytes <= std::uint64_t{1} << 28));
    RC_ASSERT((blocks > (std::uint64_t{1} << 24) || quota.blocks == std::max(blocks, {1})));
  }));
}

TEST_CASE("what does not fit a quota is cut, and so is everything after it") {
  PrintRecords made;
  CHECK(made.add(1, sites[1], 300) != nullptr);
  CHECK(made.add(1, sites[1], 300) == nullptr);
  CHECK(made.add(0, sites[0], 300) == nullptr);  // it would fit
  CHECK(made.count() == 1);
  CHECK(made.cut() == 2);
  CHECK(made.bytes().size() == 264);
  made.clear();
  CHECK(made.empty());
  CHECK(made.add(0, sites[0], 16) != nullptr);
  CHECK(made.add(0, sites[0], 15) == nullptr);
}

TEST_CASE("records are read back, and broken ones are refused") {
  PrintRecords made = records(7, 0, 3);
  CHECK(made.add(2, sites[2], max_block_print_bytes) != nullptr);
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
  CHECK(rc::check("any order", [] {
    const auto numbers =
        *rc::gen::container<std::set<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 5000));
    std::vector<std::uint64_t> order(numbers.begin(), numbers.end());
    PrintLog sorted(0, grid, sites), shuffled(0, grid, sites);
    // Some blocks print a lot, some little, some more than their quota, some cut all.
    const auto of_block = [](std::uint64_t b) {
      if (b % 11 == 0) return records(b, 2, 3, 100);
      return b % 3 == 0 ? records(b, 2, 40) : records(b, static_cast<std::uint32_t>(b % 2), b % 50);
    };
    for (const std::uint64_t b : order) sorted.add(b, of_block(b));
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
    }
    for (const std::uint64_t b : order) shuffled.add(b, of_block(b));
    auto faulty = *rc::gen::maybe(rc::gen::inRange<std::uint64_t>(0, 5000));
    std::optional<std::uint64_t> last;
    if (faulty) last = *faulty;
    const LaunchPrints a = sorted.take(last), b = shuffled.take(last);
    RC_ASSERT((a == b));
    for (std::size_t i = 0; i + 1 < a.blocks.size(); ++i) {
      const auto [x, y, z] = a.blocks[i].block;
      const auto [u, v, w] = a.blocks[i + 1].block;
      RC_ASSERT((std::array{z, y, x} < std::array{w, v, u}));
    }
  }));
}

TEST_CASE("a launch keeps the first 4 MiB of records and counts the rest") {
  PrintLog log(3, grid, sites);
  const std::uint64_t per_block = max_block_print_bytes / 8200;  // 31 records
  for (std::uint64_t b = 0; b < 100; ++b) log.add(99 - b, records(99 - b, 2, per_block + 2));
  CHECK(log.full());
  const LaunchPrints prints = log.take(std::nullopt);
  CHECK(prints.kernel == 3);
  CHECK(count_of(prints) == max_launch_print_bytes / 8200);
  CHECK(count_of(prints) + prints.cut == 100 * (per_block + 2));
  CHECK_FALSE(prints.cut_unknown);
  CHECK(prints.blocks.front().block == std::array<std::int64_t, 3>{0, 0, 0});
  CHECK(prints.blocks[13].block == std::array<std::int64_t, 3>{3, 1, 0});
  CHECK(prints.blocks[13].records[print_header_bytes] == 13);
}

TEST_CASE("after a fault only prints of the blocks up to it are shown") {
  PrintLog log(0, grid, sites);
  for (const std::uint64_t b : {9, 2, 5, 7}) log.add(b, records(b, 0, 2));
  log.add(8, records(8, 2, 1, 8));  // cut, but behind the fault
  const LaunchPrints prints = log.take(5);
  CHECK(count_of(prints) == 4);
  CHECK(prints.cut == 0);
  CHECK_FALSE(prints.cut_unknown);
  PrintLog cut(0, grid, sites);
  cut.add(4, records(4, 2, 1, 8));
  CHECK(cut.take(5).cut_unknown);
}
