// What Print statements record, in plain C++ over the functions above.

namespace tv {

/// Prints of a block. All threads hold the same, since they run the same Print statements.
struct Printer {
  u8* buffer;   ///< begins with the number of prints that were cut, in all blocks
  u8* used;     ///< of this block, in 32 bits each: bytes of its records, and their number
  u8* records;  ///< of this block
  u64 quota;    ///< bytes that they may take
  u32 bytes, count;
  bool full;
};

/// The buffer of a launch begins with four words of 64 bits: prints that were cut, the quota of a
/// block, the number of blocks that have one, 0. Then come the bytes and the number of records that
/// each of these blocks used, in 32 bits each, then their records.
TV_FN Printer printer(u8* buffer) {
  const u64 quota = load_as<u64>(buffer + 8), blocks = load_as<u64>(buffer + 16);
  const u64 block = block_number();
  Printer made;
  made.buffer = buffer;
  made.used = buffer + 32 + block * 8;
  made.records = buffer + 32 + blocks * 8 + block * quota;
  made.quota = quota;
  made.bytes = 0;
  made.count = 0;
  made.full = block >= blocks;
  return made;
}

/// Begins a record of this many bytes: where its elements go, or null if it is cut. After one that
/// does not fit, all are cut.
TV_FN u8* print_record(Printer& printer, u32 site, u32 bytes) {
  printer.full = printer.full || printer.bytes + bytes > printer.quota;
  if (printer.full) {
    if (thread() == 0) count(printer.buffer);
    return nullptr;
  }
  u8* const record = printer.records + printer.bytes;
  printer.bytes += bytes;
  ++printer.count;
  if (thread() == 0) {
    store_as<u32>(record, site);
    store_as<u32>(printer.used, printer.bytes);
    store_as<u32>(printer.used + 4, printer.count);
  }
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
