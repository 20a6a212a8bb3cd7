#include "isa/access/access_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "isa/access/run_search.h"

namespace tilevm::isa {
namespace {

/// Indices are less; a power of two, since nothing else is known of them.
constexpr std::int64_t index_end = std::int64_t{1} << 48;

/// The longest run, up to the limit, that can be moved in whole bytes; without any, the reason.
std::optional<Run> longest_run(const RunSearch& search, const TileMapping& mapping,
                               std::int64_t limit, MissedReason& missed) {
  const int bits = mapping.dtype.bits;
  for (std::int64_t longest = limit; longest >= 1; longest /= 2) {
    Run run = search.find(longest);
    const bool aligned = aligned_bytes(run, mapping) > 0 && survives_swizzle(run, mapping);
    if (run.elements * bits % 8 == 0 && aligned) {
      if (longest < limit && missed.kind != MissedReason::Kind::none) run.missed = missed;
      return run;
    }
    missed = aligned ? run.missed : run.missed_alignment;
    longest = std::min(longest, run.elements);
  }
  return std::nullopt;
}

/// Takes the digits of the places out among which elements have different indices.
std::vector<TensorTerm> take_indexed(std::vector<TensorTerm>& places,
                                     const std::vector<std::int32_t>& index_places) {
  if (index_places.empty()) return {};
  const auto has_one_index = [&](const TensorTerm& term) {
    for (std::size_t i = 0; i < index_places.size(); ++i) {
      const auto digit = static_cast<std::int64_t>(i) / term.divisor % term.size;
      const auto first = i - static_cast<std::size_t>(digit * term.divisor);
      if (index_places[i] != index_places[first]) return false;
    }
    return true;
  };
  const auto first = std::stable_partition(places.begin(), places.end(), has_one_index);
  std::vector<TensorTerm> taken(first, places.end());
  places.erase(first, places.end());
  return taken;
}

/// Cuts a run of `bytes` into the widest accesses; each begins at a multiple of its width.
std::vector<std::int64_t> cut(std::int64_t bytes, std::int64_t aligned) {
  std::vector<std::int64_t> widths;
  for (std::int64_t at = 0; at < bytes; at += widths.back()) {
    std::int64_t width = std::min(aligned, widest_access_bits / 8);
    while (at % width != 0 || at + width > bytes) width /= 2;
    widths.push_back(width);
  }
  return widths;
}

void find_widths(AccessPlan& plan, const Run& run) {
  const std::int64_t widest = widest_access_bits / 8;
  const std::int64_t bytes = run.elements * plan.mapping.dtype.bits / 8;
  std::int64_t aligned = aligned_bytes(run, plan.mapping);
  if (aligned < std::min(bytes, widest)) plan.missed = run.missed_alignment;
  // Accesses in the order of the registers move whole words, or parts of one word.
  const std::int64_t in_registers = power_of_two_in(bytes);
  if (plan.in_order() && plan.count > 1 && in_registers < 4) {
    aligned = std::min(aligned, in_registers);
  }
  plan.widths = cut(bytes, aligned);
  if (*std::max_element(plan.widths.begin(), plan.widths.end()) == widest) plan.missed = {};
}

/// `limit`: the most elements of a run.
void plan_runs_up_to(AccessPlan& plan, const RegisterLayout& tile, bool keeps_order,
                     std::int64_t limit) {
  const TileMapping& mapping = plan.mapping;
  plan.threads = mapping.tensor_terms(tile.thread_terms());
  auto places = mapping.tensor_terms(tile.local_terms());
  const auto own_index = take_indexed(places, plan.index_places);
  auto begins = plan.threads;
  begins.insert(begins.end(), own_index.begin(), own_index.end());
  std::erase_if(plan.threads, [](const TensorTerm& term) { return term.stride == 0; });
  const RunSearch search(mapping, begins, places, keeps_order && mapping.may_overlap());
  Run run;
  run.rest = places;
  const auto found = longest_run(search, mapping, limit, run.missed);
  if (found) run = *found;
  plan.form = found ? AccessForm::bytes : AccessForm::bits;
  plan.elements = run.elements;
  plan.count = tile.num_locals() / run.elements;
  plan.inner = run.inner;
  run.rest.insert(run.rest.end(), own_index.begin(), own_index.end());
  plan.outer = number_accesses(run.rest);
  plan.missed = run.missed;
  if (found) find_widths(plan, run);
  choose_address(plan);
}

}  // namespace

void plan_runs(AccessPlan& plan, const RegisterLayout& tile, bool keeps_order) {
  plan_runs_up_to(plan, tile, keeps_order,
                  widest_access_bits / power_of_two_in(plan.mapping.dtype.bits));
}

void plan_elements(AccessPlan& plan, const RegisterLayout& tile) {
  plan_runs_up_to(plan, tile, false, 1);
  plan.missed = {};
}

std::vector<RegisterLayout::Term> piece_terms(const Shape& pieces, std::int64_t elements) {
  std::vector<RegisterLayout::Term> terms;
  std::int64_t divisor = 1;
  for (std::size_t d = pieces.size(); d-- > 0;) {
    const std::int64_t stride = d + 1 == pieces.size() ? elements : 1;
    if (pieces[d] > 1) terms.push_back({static_cast<int>(d), divisor, pieces[d], stride});
    divisor *= pieces[d];
  }
  return terms;
}

std::vector<AccessDigit> number_accesses(std::vector<TensorTerm> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const auto& a, const auto& b) { return a.divisor < b.divisor; });
  std::vector<AccessDigit> digits;
  std::int64_t divisor = 1;
  for (const TensorTerm& term : terms) {
    digits.push_back({divisor, term.size, term.divisor, term.dim, term.stride});
    divisor *= term.size;
  }
  return digits;
}

void choose_address(AccessSide& side) {
  std::vector<TensorTerm> steps;
  for (const AccessDigit& digit : side.outer) {
    steps.push_back({digit.dim, digit.divisor, digit.size, digit.stride});
  }
  std::vector<bool> flips;
  if (const auto dim = side.mapping.indexed) {
    // The index adds to the address what it would as one more digit of the access's number.
    auto with_index = steps;
    with_index.push_back({*dim, 1, index_end, 1});
    side.address = find_address_form(side.mapping, side.threads, with_index, flips);
    if (side.address != AddressForm::sum) side.address = AddressForm::whole;
    return;
  }
  side.address = find_address_form(side.mapping, side.threads, steps, flips);
  for (std::size_t i = 0; i < flips.size(); ++i) side.outer[i].flips = flips[i];
}

}  // namespace tilevm::isa
