#include "sim/order/party_clock.h"

#include <algorithm>
#include <iterator>

namespace tilevm::sim {

std::uint32_t PartyClock::operator[](const Party& party) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), Entry{party, 0});
  return found == entries_.end() || found->first != party ? 0 : found->second;
}

bool PartyClock::is_after(const Segment& segment, std::uint32_t thread) const {
  auto entry = std::lower_bound(entries_.begin(), entries_.end(), Entry{segment.party, 0});
  for (; entry != entries_.end() && entry->first.is_part_of(segment.party); ++entry) {
    if (entry->second > segment.number && entry->first.has(thread)) return true;
  }
  return false;
}

void PartyClock::raise(const Party& party, std::uint32_t segments) {
  if ((*this)[party] < segments) set(party, segments);
}

void PartyClock::set(const Party& party, std::uint32_t segments) {
  const auto entry = std::lower_bound(entries_.begin(), entries_.end(), Entry{party, 0});
  if (entry != entries_.end() && entry->first == party) {
    entry->second = segments;
  } else {
    entries_.insert(entry, {party, segments});
  }
}

void PartyClock::join(const PartyClock& other) {
  std::vector<Entry> joined;
  joined.reserve(entries_.size() + other.entries_.size());
  std::merge(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
             std::back_inserter(joined));
  // The larger of two entries of a party is the second.
  entries_.clear();
  for (const Entry& entry : joined) {
    if (!entries_.empty() && entries_.back().first == entry.first) entries_.pop_back();
    entries_.push_back(entry);
  }
}

void PartyClock::meet(const PartyClock& other) {
  for (Entry& entry : entries_) entry.second = std::min(entry.second, other[entry.first]);
  std::erase_if(entries_, [](const Entry& entry) { return entry.second == 0; });
}

}  // namespace tilevm::sim
