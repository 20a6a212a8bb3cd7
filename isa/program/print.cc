#include "isa/program/print.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tilevm::isa {
namespace {

/// Bytes of all shares together, and of the smallest: one scalar.
constexpr std::uint64_t all_shares = std::uint64_t{1} << 28, least_share = 16;

}  // namespace

std::int64_t PrintSite::tile_index(std::size_t dim, std::int64_t i) const {
  return 2 * i < shown[dim] ? i : shape[dim] - shown[dim] + i;
}

PrintShares print_shares(std::uint64_t blocks) {
  blocks = std::clamp<std::uint64_t>(blocks, 1, all_shares / least_share);
  return {std::min(max_block_print_bytes, all_shares / blocks / 8 * 8), blocks};
}

std::uint8_t* PrintRecords::add(std::uint32_t site, const PrintSite& shown) {
  if (dropped_ > 0 || bytes_.size() + shown.record_bytes > max_block_print_bytes) {
    ++dropped_;
    return nullptr;
  }
  const std::size_t at = bytes_.size();
  bytes_.resize(at + shown.record_bytes, 0);
  for (std::size_t i = 0; i < 4; ++i) bytes_[at + i] = static_cast<std::uint8_t>(site >> 8 * i);
  ++count_;
  return bytes_.data() + at + print_header_bytes;
}

std::optional<PrintRecords> PrintRecords::read(std::vector<std::uint8_t> bytes,
                                               const std::vector<PrintSite>& sites) {
  PrintRecords records;
  for (std::size_t at = 0; at < bytes.size();) {
    if (bytes.size() - at < print_header_bytes) return std::nullopt;
    std::size_t site = 0;
    for (std::size_t i = 0; i < 4; ++i) site |= static_cast<std::size_t>(bytes[at + i]) << 8 * i;
    if (site >= sites.size() || bytes.size() - at < sites[site].record_bytes) return std::nullopt;
    at += sites[site].record_bytes;
    ++records.count_;
  }
  records.bytes_ = std::move(bytes);
  return records;
}

void PrintRecords::clear() {
  bytes_.clear();
  count_ = dropped_ = 0;
}

void PrintRecords::truncate(std::uint64_t bytes, const std::vector<PrintSite>& sites) {
  std::uint64_t kept = 0, count = 0;
  bool open = true;
  for_each_record(bytes_, sites, [&](const PrintSite& site, const std::uint8_t*) {
    open = open && kept + site.record_bytes <= bytes;
    if (!open) return;
    kept += site.record_bytes;
    ++count;
  });
  bytes_.resize(kept);
  bytes_.shrink_to_fit();  // many blocks may be held
  dropped_ += std::exchange(count_, count) - count;
}

PrintLog::PrintLog(int kernel, const std::array<std::int64_t, 3>& grid,
                   const std::vector<PrintSite>& sites)
    : kernel_(kernel),
      grid_(grid),
      shares_(
          print_shares(static_cast<std::uint64_t>(grid[0]) * static_cast<std::uint64_t>(grid[1]) *
                       static_cast<std::uint64_t>(grid[2]))),
      sites_(sites) {}

/// Records go to the share until one does not fit.
PrintLog::Kept PrintLog::split(std::uint64_t block, PrintRecords records) const {
  Kept kept;
  const std::uint64_t share = shares_.of(block);
  for_each_record(records.bytes(), sites_, [&](const PrintSite& site, const std::uint8_t*) {
    const bool fits = kept.pool_bytes == 0 && kept.share_bytes + site.record_bytes <= share;
    if (fits) kept.share_bytes += site.record_bytes;
    if (!fits) kept.pool_bytes += site.record_bytes + print_pool_header_bytes;
  });
  kept.records = std::move(records);
  return kept;
}

void PrintLog::add(std::uint64_t block, PrintRecords records) {
  if (records.count() == 0) return add_dropped(block, records.dropped());
  Kept kept = split(block, std::move(records));
  bytes_ += kept.share_bytes;
  if (kept.pool_bytes > 0) pool_.emplace(block, kept.pool_bytes);
  pool_bytes_ += kept.pool_bytes;
  kept_.emplace(block, std::move(kept));
  drop_what_has_no_chance();
}

void PrintLog::add_dropped(std::uint64_t block, std::uint64_t count) {
  if (count == 0) return;
  dropped_ += count;
  first_dropped_ = std::min(first_dropped_.value_or(block), block);
}

/// Drops the records of the last blocks for which the blocks before them leave no room.
void PrintLog::drop_what_has_no_chance() {
  while (pool_bytes_ > print_pool_bytes) {
    const auto [block, bytes] = *pool_.rbegin();
    if (pool_bytes_ - bytes <= print_pool_bytes) break;
    pool_bytes_ -= bytes;
    pool_.erase(block);
    leave_pool(block);
  }
  while (bytes_ > max_launch_print_bytes) {
    const auto& [block, kept] = *kept_.rbegin();
    if (bytes_ - kept.share_bytes <= max_launch_print_bytes) break;
    bytes_ -= kept.share_bytes;
    add_dropped(block, kept.records.count() + kept.records.dropped());
    kept_.erase(block);
  }
}

void PrintLog::leave_pool(std::uint64_t block) {
  const auto found = kept_.find(block);
  if (found == kept_.end()) return;
  PrintRecords& records = found->second.records;
  records.truncate(found->second.share_bytes, sites_);
  if (records.count() > 0) return;
  add_dropped(block, records.dropped());
  kept_.erase(found);
}

bool PrintLog::pool_suffices(std::uint64_t last_block) const {
  std::uint64_t sum = 0;
  for (const auto& [block, bytes] : pool_) sum += block <= last_block ? bytes : 0;
  return sum <= print_pool_bytes;
}

LaunchPrints PrintLog::take(std::optional<std::uint64_t> faulty) {
  constexpr auto all = std::numeric_limits<std::uint64_t>::max();
  const bool has_pool = pool_suffices(faulty.value_or(all));
  LaunchPrints prints;
  prints.kernel = kernel_;
  std::uint64_t left = max_launch_print_bytes;
  for (auto& [block, kept] : kept_) {
    if (block > faulty.value_or(all)) break;
    PrintRecords& records = kept.records;
    const std::uint64_t wanted = has_pool ? records.bytes().size() : kept.share_bytes;
    records.truncate(std::min(left, wanted), sites_);
    left = records.bytes().size() < wanted ? 0 : left - wanted;
    add_dropped(block, records.dropped());
    if (records.bytes().empty()) continue;
    const auto x = static_cast<std::uint64_t>(grid_[0]), y = static_cast<std::uint64_t>(grid_[1]);
    prints.blocks.push_back(
        {{static_cast<std::int64_t>(block % x), static_cast<std::int64_t>(block / x % y),
          static_cast<std::int64_t>(block / x / y)},
         records.bytes()});
  }
  prints.dropped_unknown = faulty && first_dropped_ && *first_dropped_ <= *faulty;
  if (!faulty) prints.dropped = dropped_;
  return prints;
}

}  // namespace tilevm::isa
