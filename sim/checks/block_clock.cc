#include "sim/checks/block_clock.h"

#include <algorithm>
#include <iterator>

namespace tilevm::sim {

std::uint32_t BlockClock::operator[](std::uint64_t block) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), Entry{block, 0});
  return found == entries_.end() || found->first != block ? 0 : found->second;
}

void BlockClock::set(std::uint64_t block, std::uint32_t segments) {
  const auto entry = std::lower_bound(entries_.begin(), entries_.end(), Entry{block, 0});
  if (entry != entries_.end() && entry->first == block) {
    entry->second = segments;
  } else {
    entries_.insert(entry, {block, segments});
  }
}

void BlockClock::join(const BlockClock& other) {
  std::vector<Entry> joined;
  joined.reserve(entries_.size() + other.entries_.size());
  std::merge(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
             std::back_inserter(joined));
  // Of two entries of a block the larger one is the second.
  entries_.clear();
  for (const Entry& entry : joined) {
    if (!entries_.empty() && entries_.back().first == entry.first) entries_.pop_back();
    entries_.push_back(entry);
  }
}

void BlockClock::meet(const BlockClock& other) {
  for (Entry& entry : entries_) entry.second = std::min(entry.second, other[entry.first]);
  std::erase_if(entries_, [](const Entry& entry) { return entry.second == 0; });
}

}  // namespace tilevm::sim
