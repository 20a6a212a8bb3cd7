#include "isa/layout/reduction.h"

#include <algorithm>

namespace tilevm::isa {
namespace {

using Term = RegisterLayout::Term;

constexpr std::int64_t warp_size = 32;
/// Values that a thread combines after one exchange: what fits registers.
constexpr std::int64_t most_partials = 32;

bool is_one_of(int dim, const std::vector<int>& dims) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

/// The places of the elements of each result; of a digit they do not depend on the thread.
std::vector<std::int32_t> group_places(const RegisterLayout& source, const std::vector<int>& dims,
                                       const RegisterLayout& result) {
  const bool keeps = source.rank() == result.rank();
  std::vector<std::vector<std::int32_t>> groups(static_cast<std::size_t>(result.num_locals()));
  for (std::int64_t i = 0; i < source.num_locals(); ++i) {
    const Index part = source.local_part(i);
    Index index;
    for (int d = 0; d < source.rank(); ++d) {
      const bool reduced = is_one_of(d, dims);
      if (!reduced || keeps) index.push_back(reduced ? 0 : part[static_cast<std::size_t>(d)]);
    }
    groups[static_cast<std::size_t>(result.local_of(index))].push_back(
        static_cast<std::int32_t>(i));
  }
  std::vector<std::int32_t> places;
  for (const auto& group : groups) places.insert(places.end(), group.begin(), group.end());
  return places;
}

/// The steps of a digit whose neighbours are `distance` threads apart.
void add_steps(std::int64_t distance, std::int64_t size, std::vector<ReductionStep>& steps) {
  for (; size % 2 == 0; size /= 2, distance *= 2) steps.push_back({distance, 2});
  if (size > 1) steps.push_back({distance, size});
}

/// Whether all threads of a step are in one warp, wherever the block ends.
bool stays_in_warp(const ReductionStep& step) {
  const bool power_of_two = (step.distance & (step.distance - 1)) == 0;
  return step.size == 2 && power_of_two && step.distance < warp_size;
}

/// An exchange for steps [begin, end) of all; `kept` are the digits that tell results apart.
ReductionExchange make_exchange(const std::vector<ReductionStep>& steps, std::size_t begin,
                                std::size_t end, const std::vector<Term>& kept,
                                const std::vector<Term>& replicas) {
  ReductionExchange exchange;
  exchange.copies = replicas;
  const auto add_slot = [&](std::int64_t divisor, std::int64_t size) {
    exchange.slot.push_back({0, divisor, size, exchange.slots});
    exchange.slots *= size;
  };
  for (const Term& term : kept) add_slot(term.divisor, term.size);
  for (std::size_t i = end; i < steps.size(); ++i) add_slot(steps[i].distance, steps[i].size);
  for (std::size_t i = 0; i < begin; ++i) {
    exchange.copies.push_back({0, steps[i].distance, steps[i].size, 0});
  }
  for (std::size_t i = begin; i < end; ++i) {
    exchange.steps.push_back(steps[i]);
    exchange.own.push_back(
        {0, steps[i].distance, steps[i].size, exchange.slots * exchange.partials});
    exchange.partials *= steps[i].size;
  }
  return exchange;
}

}  // namespace

std::vector<ReductionStep> ReductionPlan::steps() const {
  std::vector<ReductionStep> all = lanes;
  for (const ReductionExchange& exchange : exchanges) {
    all.insert(all.end(), exchange.steps.begin(), exchange.steps.end());
  }
  return all;
}

std::int64_t ReductionPlan::exchanged_values() const {
  std::int64_t most = 0;
  for (const ReductionExchange& exchange : exchanges) {
    most = std::max(most, results * exchange.slots * exchange.partials);
  }
  return most;
}

ReductionPlan plan_reduction(const RegisterLayout& source, const std::vector<int>& dims,
                             const RegisterLayout& result) {
  ReductionPlan plan;
  plan.results = result.num_locals();
  plan.elements = source.num_locals() / plan.results;
  plan.places = group_places(source, dims, result);
  std::vector<Term> reduced, kept;
  for (const Term& term : source.thread_terms()) {
    (is_one_of(term.dim, dims) ? reduced : kept).push_back(term);
  }
  std::reverse(reduced.begin(), reduced.end());  // the lowest digit of the thread's number first
  std::reverse(kept.begin(), kept.end());
  std::vector<ReductionStep> steps;
  for (const Term& term : reduced) add_steps(term.divisor, term.size, steps);
  std::size_t next = 0;
  while (next < steps.size() && stays_in_warp(steps[next])) plan.lanes.push_back(steps[next++]);
  while (next < steps.size()) {
    std::size_t end = next + 1;
    std::int64_t partials = steps[next].size;
    while (end < steps.size() && partials * steps[end].size <= most_partials) {
      partials *= steps[end++].size;
    }
    plan.exchanges.push_back(make_exchange(steps, next, end, kept, source.replica_terms()));
    next = end;
  }
  return plan;
}

}  // namespace tilevm::isa
