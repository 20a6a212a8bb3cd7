// The function of a register layout and its inverse.
#include "isa/layout/register_layout.h"

#include <ranges>

namespace tilevm::isa {
namespace {

void add_terms(const std::vector<RegisterLayout::Term>& terms, std::int64_t x, Index& index) {
  for (const auto& term : terms) {
    index[static_cast<std::size_t>(term.dim)] += x / term.divisor % term.size * term.stride;
  }
}

/// The inverse: the digits of x, read from the index.
std::int64_t collect_terms(const std::vector<RegisterLayout::Term>& terms, const Index& index) {
  std::int64_t x = 0;
  for (const auto& term : terms) {
    x += index[static_cast<std::size_t>(term.dim)] / term.stride % term.size * term.divisor;
  }
  return x;
}

}  // namespace

Index RegisterLayout::element(std::int64_t thread, std::int64_t local) const {
  Index index(shape_.size(), 0);
  add_terms(thread_terms_, thread, index);
  add_terms(local_terms_, local, index);
  return index;
}

Index RegisterLayout::thread_part(std::int64_t thread) const {
  Index index(shape_.size(), 0);
  add_terms(thread_terms_, thread, index);
  return index;
}

Index RegisterLayout::local_part(std::int64_t local) const {
  Index index(shape_.size(), 0);
  add_terms(local_terms_, local, index);
  return index;
}

std::vector<std::int64_t> RegisterLayout::threads_of(const Index& index) const {
  std::vector<std::int64_t> threads{first_thread_of(index)};
  threads.reserve(static_cast<std::size_t>(num_replicas()));
  // From the least significant digit, each appending copies above what is there: ascending.
  for (const Term& term : std::views::reverse(replica_terms_)) {
    const std::size_t block = threads.size();
    for (std::int64_t copy = 1; copy < term.size; ++copy) {
      for (std::size_t i = 0; i < block; ++i) threads.push_back(threads[i] + copy * term.divisor);
    }
  }
  return threads;
}

std::int64_t RegisterLayout::first_thread_of(const Index& index) const {
  return collect_terms(thread_terms_, index);
}

std::int64_t RegisterLayout::local_of(const Index& index) const {
  return collect_terms(local_terms_, index);
}

}  // namespace tilevm::isa
