#include "backend/launch/print_buffer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "isa/type/bits.h"

namespace tilevm::backend {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// The words at the beginning of the buffer.
struct Head {
  std::uint64_t dropped = 0, share = 0, blocks = 0, pool_bytes = 0, pool_count = 0, zeros[3] = {};
};

/// What a block has in its share.
struct Used {
  std::uint32_t bytes = 0, count = 0;
};

/// Shares are read in pieces of about this many bytes.
constexpr std::size_t piece_bytes = std::size_t{1} << 23;

std::size_t shares_offset(const isa::PrintShares& shares) {
  return sizeof(Head) + shares.blocks * sizeof(Used);
}
std::size_t pool_offset(const isa::PrintShares& shares) {
  return shares_offset(shares) + shares.blocks * shares.bytes;
}

Error damaged() {
  return {ErrorKind::program,
          "the records of Print statements are damaged: a block wrote to memory that is not its "
          "own; the simulator finds where"};
}

class Reader {
 public:
  Reader(const PrintBufferReader& buffer, std::uint64_t blocks,
         const std::vector<isa::PrintSite>& sites, isa::PrintLog& log)
      : buffer_(buffer), blocks_(blocks), sites_(sites), log_(log), shares_(log.shares()) {}

  Status read() {
    if (Status status = buffer_(&head_, sizeof head_, 0); !status) return status;
    if (head_.share != shares_.bytes || head_.blocks != shares_.blocks) return damaged();
    log_.add_dropped(0, head_.dropped);
    if (Status status = read_pool(); !status) return status;
    if (Status status = read_shares(); !status) return status;
    for (auto& [block, records] : pool_) {
      if (Status status = add(block, std::move(records)); !status) return status;
    }
    return Done{};
  }

 private:
  /// Fills pool_, if all that asked for memory got it.
  Status read_pool() {
    if (head_.pool_bytes > isa::print_pool_bytes) {
      log_.add_dropped(0, head_.pool_count);
      return Done{};
    }
    Bytes pool(head_.pool_bytes);
    const std::size_t offset = pool_offset(shares_);
    if (Status status = buffer_(pool.data(), pool.size(), offset); !status) return status;
    for (std::size_t at = 0; at < pool.size();) {
      if (pool.size() - at < 16) return damaged();
      const std::uint64_t block = isa::get_bits(pool.data() + at, 0, 64);
      const std::uint64_t site = isa::get_bits(pool.data() + at + 8, 0, 32);
      at += isa::print_pool_header_bytes;
      const bool known = block < blocks_ && site < sites_.size();
      if (!known || sites_[site].record_bytes > pool.size() - at) return damaged();
      const auto* record = pool.data() + at;
      Bytes& of_block = pool_[block];
      of_block.insert(of_block.end(), record, record + sites_[site].record_bytes);
      at += sites_[site].record_bytes;
    }
    return Done{};
  }

  /// In the order of the blocks; takes their parts of pool_ along.
  Status read_shares() {
    used_.resize(shares_.blocks);
    Status status = buffer_(used_.data(), used_.size() * sizeof(Used), sizeof(Head));
    const std::uint64_t step = std::max<std::uint64_t>(piece_bytes / shares_.bytes, 1);
    for (std::uint64_t first = 0; status && first < used_.size(); first += step) {
      status = read_piece(first, std::min<std::uint64_t>(first + step, used_.size()));
    }
    return status;
  }

  Status read_piece(std::uint64_t first, std::uint64_t end) {
    while (first < end && used_[first].bytes == 0) ++first;
    while (first < end && used_[end - 1].bytes == 0) --end;
    Bytes piece;
    if (!log_.full()) piece.resize((end - first) * shares_.bytes);
    const std::size_t offset = shares_offset(shares_) + first * shares_.bytes;
    if (Status s = buffer_(piece.data(), piece.size(), offset); !s) return s;
    for (std::uint64_t block = first; block < end; ++block) {
      if (piece.empty()) {
        log_.add_dropped(block, used_[block].count);
        continue;
      }
      if (used_[block].bytes > shares_.bytes) return damaged();
      if (used_[block].bytes == 0) continue;
      const auto* at = piece.data() + (block - first) * shares_.bytes;
      Bytes records(at, at + used_[block].bytes);
      if (const auto more = pool_.extract(block)) {
        records.insert(records.end(), more.mapped().begin(), more.mapped().end());
      }
      if (Status s = add(block, std::move(records)); !s) return s;
    }
    return Done{};
  }

  Status add(std::uint64_t block, Bytes bytes) {
    auto records = isa::PrintRecords::read(std::move(bytes), sites_);
    if (!records) return damaged();
    log_.add(block, *std::move(records));
    return Done{};
  }

  const PrintBufferReader& buffer_;
  const std::uint64_t blocks_;  ///< number of blocks of the launch
  const std::vector<isa::PrintSite>& sites_;
  isa::PrintLog& log_;
  const isa::PrintShares shares_;
  Head head_;
  std::vector<Used> used_;
  std::map<std::uint64_t, Bytes> pool_;
};

}  // namespace

std::vector<std::uint8_t> make_print_buffer(std::uint64_t blocks) {
  std::vector<std::uint8_t> buffer = print_buffer_head(blocks);
  buffer.resize(print_buffer_bytes(blocks));
  return buffer;
}

std::size_t print_buffer_bytes(std::uint64_t blocks) {
  return pool_offset(isa::print_shares(blocks)) + isa::print_pool_bytes;
}

std::vector<std::uint8_t> print_buffer_head(std::uint64_t blocks) {
  const isa::PrintShares shares = isa::print_shares(blocks);
  const Head head{.share = shares.bytes, .blocks = shares.blocks};
  std::vector<std::uint8_t> bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

Result<isa::LaunchPrints> read_print_buffer(const PrintBufferReader& buffer, int kernel,
                                            const std::array<std::int64_t, 3>& grid,
                                            const std::vector<isa::PrintSite>& sites) {
  std::uint64_t blocks = 1;
  for (const std::int64_t extent : grid) blocks *= static_cast<std::uint64_t>(extent);
  isa::PrintLog log(kernel, grid, sites);
  if (Status status = Reader(buffer, blocks, sites, log).read(); !status) return status.error();
  return log.take(std::nullopt);
}

}  // namespace tilevm::backend
