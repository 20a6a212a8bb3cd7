// Prints: what a Print statement records, how much of it is kept, and in which order.
//
// Engines record raw bits and never text, so that only vm/run/prints.h makes the text.
// A record is
//
//   site (32 bits), 0 (32 bits)     which Print statement of the kernel made it (PrintSite)
//   the shown elements, row-major   each in 1, 2, 4 or 8 bytes, little-endian
//   zeros                           up to a multiple of 8 bytes
//
// What is kept does not depend on how blocks were scheduled. Each block has a share of memory that
// follows from the number of blocks alone. The block's records go to the share until one does not
// fit, and from then on to a pool that all blocks use. If the pool overflows, none of its records
// are kept. The first bytes of the other records are kept, in the order of the blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/source.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Tiles of more elements are shown by the first and last indices of each dimension.
inline constexpr std::int64_t max_shown_elements = 1024;
/// Bytes of records that one block may make, and that are kept of a launch.
inline constexpr std::uint64_t max_block_print_bytes = std::uint64_t{1} << 18;
inline constexpr std::uint64_t max_launch_print_bytes = std::uint64_t{1} << 22;
/// Bytes of the pool; a record takes its own bytes and 8 more.
inline constexpr std::uint64_t print_pool_bytes = std::uint64_t{1} << 24;
inline constexpr std::uint64_t print_pool_header_bytes = 8;

/// A Print statement of a kernel.
struct PrintSite {
  const InstStmt* stmt = nullptr;
  Span span{};
  std::string name;                  ///< name of what is shown, as the program writes it
  std::string label;                 ///< label, or empty
  DType dtype;                       ///< element type; of a scalar the one that holds its bits
  std::optional<ScalarKind> scalar;  ///< nothing for a tile
  Shape shape;                       ///< shape of the tile
  Shape shown;                       ///< the extents that are shown
  std::size_t element_bytes = 1;     ///< bytes of an element in a record: 1, 2, 4 or 8
  std::size_t record_bytes = 0;

  /// The tile's index that is shown at index `i` of dimension `dim`.
  [[nodiscard]] std::int64_t tile_index(std::size_t dim, std::int64_t i) const;
};

/// The bytes before a record's elements.
inline constexpr std::size_t print_header_bytes = 8;

/// The shares of blocks.
struct PrintShares {
  std::uint64_t bytes;   ///< bytes of each block below `blocks`, a multiple of 8
  std::uint64_t blocks;  ///< later blocks have none
  [[nodiscard]] std::uint64_t of(std::uint64_t block) const { return block < blocks ? bytes : 0; }
};
[[nodiscard]] PrintShares print_shares(std::uint64_t blocks);

/// The records of one block. What does not fit max_block_print_bytes, and everything after it, is
/// counted.
class PrintRecords {
 public:
  /// Room for the elements of one more record, all zero; null if it is dropped.
  std::uint8_t* add(std::uint32_t site, const PrintSite& shown);
  /// The records that another machine left; nothing if they are not well formed.
  [[nodiscard]] static std::optional<PrintRecords> read(std::vector<std::uint8_t> bytes,
                                                        const std::vector<PrintSite>& sites);

  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] bool empty() const { return count_ == 0 && dropped_ == 0; }
  void clear();
  /// Cuts all records from the first that does not fit `bytes`.
  void truncate(std::uint64_t bytes, const std::vector<PrintSite>& sites);

 private:
  std::vector<std::uint8_t> bytes_;
  std::uint64_t count_ = 0, dropped_ = 0;
};

/// Calls f(site, elements) for every record.
template <class F>
void for_each_record(const std::vector<std::uint8_t>& bytes, const std::vector<PrintSite>& sites,
                     F&& f) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t site = bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 |
                             static_cast<std::size_t>(bytes[at + 3]) << 24;
    f(sites[site], bytes.data() + at + print_header_bytes);
    at += sites[site].record_bytes;
  }
}

/// What a launch printed.
struct LaunchPrints {
  struct OfBlock {
    std::array<std::int64_t, 3> block;  ///< x, y, z
    std::vector<std::uint8_t> records;
    friend bool operator==(const OfBlock&, const OfBlock&) = default;
  };
  int kernel = 0;
  std::vector<OfBlock> blocks;  ///< blocks that printed, in order
  std::uint64_t dropped = 0;    ///< prints that were made but not kept
  /// Prints were dropped, but how many is not known: the launch was stopped by a fault.
  bool dropped_unknown = false;

  [[nodiscard]] bool empty() const { return blocks.empty() && dropped == 0 && !dropped_unknown; }
  friend bool operator==(const LaunchPrints&, const LaunchPrints&) = default;
};

/// Collects the records of a launch's blocks, which may come in any order; each block once. Holds
/// little more than max_launch_print_bytes and print_pool_bytes.
class PrintLog {
 public:
  PrintLog(int kernel, const std::array<std::int64_t, 3>& grid,
           const std::vector<PrintSite>& sites);

  void add(std::uint64_t block, PrintRecords records);
  /// Counts records of a block of which none is kept.
  void add_dropped(std::uint64_t block, std::uint64_t count);
  /// Whether no block after the latest kept one can be kept.
  [[nodiscard]] bool full() const { return bytes_ > max_launch_print_bytes; }
  [[nodiscard]] const PrintShares& shares() const { return shares_; }

  /// What is shown; of the blocks up to `faulty` only, if one faulted.
  [[nodiscard]] LaunchPrints take(std::optional<std::uint64_t> faulty);

 private:
  struct Kept {
    PrintRecords records;
    std::uint64_t share_bytes = 0;  ///< bytes of the blocks' own shares
    std::uint64_t pool_bytes = 0;   ///< bytes of the pool, for the other blocks
  };
  [[nodiscard]] Kept split(std::uint64_t block, PrintRecords records) const;
  void drop_what_has_no_chance();
  void leave_pool(std::uint64_t block);
  [[nodiscard]] bool pool_suffices(std::uint64_t last_block) const;

  int kernel_;
  std::array<std::int64_t, 3> grid_;
  PrintShares shares_;
  const std::vector<PrintSite>& sites_;
  std::map<std::uint64_t, Kept> kept_;
  std::uint64_t bytes_ = 0;  ///< bytes of the shares of kept_
  /// What blocks took of the pool; blocks after the sum has exceeded the pool are left out.
  std::map<std::uint64_t, std::uint64_t> pool_;
  std::uint64_t pool_bytes_ = 0;
  std::uint64_t dropped_ = 0;
  std::optional<std::uint64_t> first_dropped_;  ///< the first block of which a record was dropped
};

}  // namespace tilevm::isa
