#include "backend/print_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tilevm::backend {
namespace {

/// The words at the beginning of the buffer.
struct Head {
  std::uint64_t cut = 0, quota = 0, blocks = 0, zero = 0;
};

/// What a block used.
struct Used {
  std::uint32_t bytes = 0, records = 0;
};

constexpr std::size_t max_piece = std::size_t{1} << 23;

std::size_t records_offset(const isa::PrintQuota& quota) {
  return sizeof(Head) + quota.blocks * sizeof(Used);
}

Error damaged() {
  return {ErrorKind::program,
          "the records of Print statements are damaged: a block wrote to memory that is not its "
          "own; the simulator finds where"};
}

/// Reads the records of blocks in order, several at a time.
class Reader {
 public:
  Reader(const DeviceBuffer& buffer, const isa::PrintQuota& quota,
         const std::vector<isa::PrintSite>& sites, isa::PrintLog& log)
      : buffer_(buffer), quota_(quota), sites_(sites), log_(log) {}

  Status read() {
    used_.resize(quota_.blocks);
    Status status = buffer_.read(used_.data(), used_.size() * sizeof(Used), sizeof(Head));
    const std::uint64_t step = std::max<std::uint64_t>(max_piece / quota_.block_bytes, 1);
    for (std::uint64_t first = 0; status && first < used_.size(); first += step) {
      status = read_blocks(first, std::min<std::uint64_t>(first + step, used_.size()));
    }
    return status;
  }

 private:
  Status read_blocks(std::uint64_t begin, std::uint64_t end) {
    while (begin < end && used_[begin].bytes == 0) ++begin;
    while (begin < end && used_[end - 1].bytes == 0) --end;
    std::vector<std::uint8_t> piece;
    if (begin < end && !log_.full()) {
      piece.resize((end - begin) * quota_.block_bytes);
      const std::size_t offset = records_offset(quota_) + begin * quota_.block_bytes;
      if (Status s = buffer_.read(piece.data(), piece.size(), offset); !s) return s;
    }
    for (std::uint64_t block = begin; block < end; ++block) {
      if (log_.full()) {
        log_.add_cut(block, used_[block].records);
        continue;
      }
      if (used_[block].bytes > quota_.block_bytes) return damaged();
      const auto* at = piece.data() + (block - begin) * quota_.block_bytes;
      auto records = isa::PrintRecords::read({at, at + used_[block].bytes}, sites_);
      if (!records || records->count() != used_[block].records) return damaged();
      if (!records->empty()) log_.add(block, *std::move(records));
    }
    return Done{};
  }

  const DeviceBuffer& buffer_;
  const isa::PrintQuota quota_;
  const std::vector<isa::PrintSite>& sites_;
  isa::PrintLog& log_;
  std::vector<Used> used_;
};

}  // namespace

Status clear_print_buffer(const Device& device, std::uint64_t blocks, DeviceBuffer& buffer) {
  const isa::PrintQuota quota = isa::print_quota(blocks);
  const std::size_t bytes = records_offset(quota) + quota.blocks * quota.block_bytes;
  if (buffer.size() < bytes) {
    Result<DeviceBuffer> larger = device.allocate(bytes);
    if (!larger) return larger.error();
    buffer = *std::move(larger);
  }
  if (Status status = buffer.fill(0); !status) return status;
  const Head head{0, quota.block_bytes, quota.blocks, 0};
  return buffer.write(&head, sizeof head);
}

Result<isa::LaunchPrints> read_print_buffer(const DeviceBuffer& buffer, int kernel,
                                            const std::array<std::int64_t, 3>& grid,
                                            const std::vector<isa::PrintSite>& sites) {
  std::uint64_t blocks = 1;
  for (const std::int64_t extent : grid) blocks *= static_cast<std::uint64_t>(extent);
  const isa::PrintQuota quota = isa::print_quota(blocks);
  isa::PrintLog log(kernel, grid, sites);
  Head head;
  if (Status status = buffer.read(&head, sizeof head); !status) return status.error();
  if (head.quota != quota.block_bytes || head.blocks != quota.blocks) return damaged();
  if (Status status = Reader(buffer, quota, sites, log).read(); !status) return status.error();
  log.add_cut(0, head.cut);
  return log.take(std::nullopt);
}

}  // namespace tilevm::backend
