// What Print statements record, in plain C++ over the functions above.
//
// The buffer of a launch:
//
//   8 words of 64 bits   prints that were cut, bytes of a block's share, blocks that have one,
//                        bytes of the pool that were asked for, prints that asked for them, zeros
//   2 words of 32 bits   for each block with a share: bytes of the records in it, and their number
//   the shares           the records of each block
//   the pool             records that fit no share, each behind the number of its block in 64 bits

namespace tv {

/// Bytes of records that one block may make, and of the pool.
static const u32 max_print_bytes = 1u << 18, print_pool_bytes = 1u << 24;

/// Prints of a block. All threads hold the same, since they run the same Print statements.
struct Printer {
  u8 *buffer, *used, *share, *pool;
  u64 block;
  u32 share_bytes, bytes_in_share, count_in_share;
  u32 bytes;           ///< bytes of all records of this block
  bool share_is_full;  ///< one did not fit
  bool done;           ///< all that follow are cut
};

TV_FN Printer printer(u8* buffer) {
  const u64 share = load_as<u64>(buffer + 8), blocks = load_as<u64>(buffer + 16);
  const u64 block = block_number();
  Printer made;
  made.buffer = buffer;
  made.used = buffer + 64 + block * 8;
  made.share = buffer + 64 + blocks * 8 + block * share;
  made.pool = buffer + 64 + blocks * (8 + share);
  made.block = block;
  made.share_bytes = static_cast<u32>(share);
  made.bytes_in_share = 0;
  made.count_in_share = 0;
  made.bytes = 0;
  made.share_is_full = block >= blocks;
  made.done = false;
  return made;
}

TV_FN u8* share_record(Printer& printer, u32 bytes) {
  u8* const record = printer.share + printer.bytes_in_share;
  printer.bytes_in_share += bytes;
  ++printer.count_in_share;
  if (thread() == 0) {
    store_as<u32>(printer.used, printer.bytes_in_share);
    store_as<u32>(printer.used + 4, printer.count_in_share);
  }
  return record;
}

/// Null if the pool is used up; then nothing in it counts.
TV_FN u8* pool_record(Printer& printer, u32 bytes) {
  const u64 place = add_for_block(printer.buffer + 24, bytes + 8);
  if (thread() == 0) count(printer.buffer + 32);
  if (place + bytes + 8 > print_pool_bytes) return nullptr;
  if (thread() == 0) store_as<u64>(printer.pool + place, printer.block);
  return printer.pool + place + 8;
}

/// Begins a record of this many bytes: where its elements go, or null if it is cut.
TV_FN u8* print_record(Printer& printer, u32 site, u32 bytes) {
  printer.done = printer.done || printer.bytes + bytes > max_print_bytes;
  if (printer.done) {
    if (thread() == 0) count(printer.buffer);
    return nullptr;
  }
  printer.bytes += bytes;
  printer.share_is_full =
      printer.share_is_full || printer.bytes_in_share + bytes > printer.share_bytes;
  u8* const record =
      printer.share_is_full ? pool_record(printer, bytes) : share_record(printer, bytes);
  if (record == nullptr) return nullptr;
  if (thread() == 0) store_as<u32>(record, site);
  return record + 8;
}

/// Where an index of a dimension stands among the `shown` first and last ones; `shown` or more if
/// it is not among them.
template <u32 extent, u32 shown>
TV_FN u32 shown_place(u32 index) {
  if constexpr (extent == shown) return index;
  if (index < shown / 2) return index;
  return index >= extent - shown / 2 ? index - (extent - shown) : shown;
}

}  // namespace tv
