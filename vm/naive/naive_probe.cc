#include "vm/naive/naive_probe.h"

#include <algorithm>

#include "isa/layout/shape.h"
#include "isa/type/bits.h"

namespace tilevm::vm::naive {

NaiveProbe::NaiveProbe(const isa::ProbePlan& plan, isa::ProbeLog& log, std::uint64_t block,
                       std::int64_t threads)
    : plan_(plan), log_(log), block_(block), threads_(static_cast<std::size_t>(threads)) {}

void NaiveProbe::begin(isa::StmtId statement) { begin(statement, plan_[statement]); }

void NaiveProbe::begin_after_loop(isa::StmtId statement) {
  begin(statement, isa::ProbeMode::records);
}

void NaiveProbe::begin(isa::StmtId statement, isa::ProbeMode mode) {
  const bool in_window = block_ - log_.window.first_block < log_.window.blocks;
  statement_ = statement;
  mode_ = in_window ? mode : isa::ProbeMode::none;
}

bool NaiveProbe::keeps() const {
  const auto& target = log_.window.target;
  return target && target->block == block_ &&
         target->record == log_.blocks[block_ - log_.window.first_block].count;
}

/// Each thread's share of the elements; those that several threads hold count several times.
void NaiveProbe::tile(const NaiveTile& tile) {
  if (mode_ == isa::ProbeMode::none) return;
  const isa::RegisterLayout& layout = tile.type.layout;
  const std::uint64_t significant = tile.type.dtype == isa::tf32 ? 0xffffe000U : ~std::uint64_t{0};
  const int bits = tile.type.dtype.bits;
  for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(layout.num_locals() * bits + 31) /
                                     32);
    for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
      const auto k = static_cast<std::size_t>(isa::ravel(layout.element(t, i), layout.shape()));
      const auto number = static_cast<std::uint64_t>(t * layout.num_locals() + i);
      sum_ += isa::probe_element(number, tile.codes[k] & significant);
      for (int j = 0; j < bits; ++j) {
        const auto bit = static_cast<std::size_t>(i * bits + j);
        words[bit / 32] |= static_cast<std::uint32_t>(tile.codes[k] >> j & 1) << bit % 32;
      }
    }
    if (!keeps()) continue;
    auto& kept = log_.dump.words[static_cast<std::size_t>(t)];
    kept.insert(kept.end(), words.begin(), words.end());
  }
}

void NaiveProbe::scalar(const isa::Scalar& scalar) {
  if (mode_ == isa::ProbeMode::none) return;
  for (std::size_t t = 0; t < threads_; ++t) {
    sum_ += isa::probe_scalar(t, scalar.bits);
    if (!keeps()) continue;
    log_.dump.words[t].push_back(static_cast<std::uint32_t>(scalar.bits));
    log_.dump.words[t].push_back(static_cast<std::uint32_t>(scalar.bits >> 32));
  }
}

void NaiveProbe::write(std::uint64_t base, std::size_t bit, int bits, std::uint64_t code,
                       std::uint64_t threads) {
  if (mode_ == isa::ProbeMode::none) return;
  for (auto left = static_cast<unsigned>(bits); left > 0;) {
    const auto shift = static_cast<unsigned>(bit % 32);
    const unsigned part = std::min(left, 32 - shift);
    const auto mask = static_cast<std::uint32_t>(isa::low_mask(part) << shift);
    const auto value = static_cast<std::uint32_t>((code & isa::low_mask(part)) << shift);
    word(base + bit / 32 * 4, mask, value, threads);
    code >>= part;
    bit += part;
    left -= part;
  }
}

void NaiveProbe::word(std::uint64_t address, std::uint32_t mask, std::uint32_t value,
                      std::uint64_t threads) {
  sum_ += threads * isa::probe_word(address, mask, value);
  if (keeps()) log_.dump.writes[0].push_back({address, mask, value});
}

void NaiveProbe::end() {
  if (mode_ != isa::ProbeMode::records) return;
  isa::BlockProbes& block = log_.blocks[block_ - log_.window.first_block];
  if (block.count < log_.window.records) {
    block.records.push_back({sum_, static_cast<std::uint32_t>(statement_.index), false});
  } else {
    block.rest += sum_;
  }
  ++block.count;
  sum_ = 0;
}

}  // namespace tilevm::vm::naive
