#include "isa/access/run_search.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tilevm::isa {
namespace {

/// Whether one step of the term leads to the element past the end of the run.
bool continues(const Run& run, const TensorTerm& term, const TileMapping::Digit& digit) {
  if (digit.dim != term.dim || !digit.stride || term.stride % digit.divisor != 0) return false;
  if (digit.size != 0 && term.stride >= digit.divisor * digit.size) return false;
  return term.stride / digit.divisor * *digit.stride == run.elements;
}

void align(Run& run, std::int64_t multiple, const MissedReason& missed) {
  if (multiple >= run.alignment) return;
  run.alignment = multiple;
  run.missed_alignment = missed;
}

/// Aligns the run to what a digit gives for a share of its index that is a multiple of `multiple`.
void align_to(const TileMapping::Digit& digit, std::int64_t multiple, const MissedReason& missed,
              Run& run) {
  std::int64_t steps = std::max<std::int64_t>(1, multiple / digit.divisor);
  if (digit.size != 0 && steps % digit.size == 0) return;  // all of it is cut off
  steps = power_of_two_in(steps);
  if (digit.size != 0) steps = std::min(steps, power_of_two_in(digit.size));
  align(run, std::min(steps, widest_access_bits) * std::min(digit.multiple, widest_access_bits),
        missed);
}

}  // namespace

RunSearch::RunSearch(const TileMapping& mapping, std::vector<TensorTerm> threads,
                     std::vector<TensorTerm> places, bool in_order)
    : mapping_(mapping),
      threads_(std::move(threads)),
      places_(std::move(places)),
      in_order_(in_order) {}

Run RunSearch::find(std::int64_t limit) const {
  Run run;
  run.rest = places_;
  while (run.elements < limit && extend(run, limit)) {
  }
  find_alignment(run);
  return run;
}

/// Extends the run by a digit of the local places that continues the run in memory.
bool RunSearch::extend(Run& run, std::int64_t limit) const {
  std::optional<std::size_t> best;
  std::int64_t best_size = 1;
  for (std::size_t i = 0; i < run.rest.size(); ++i) {
    const bool follows = run.rest[i].divisor == run.elements;
    if (best && !follows) continue;
    const std::int64_t size = largest_step(run, run.rest[i], limit);
    if (size == 1) continue;
    best = i;
    best_size = size;
  }
  if (!best) {
    if (run.missed.kind == MissedReason::Kind::none && !run.rest.empty()) {
      run.missed.kind = in_order_ ? MissedReason::Kind::order : MissedReason::Kind::registers;
    }
    return false;
  }
  TensorTerm& term = run.rest[*best];
  run.inner.push_back({run.elements, best_size, term.divisor, term.dim, term.stride});
  run.elements *= best_size;
  term.divisor *= best_size;
  term.stride *= best_size;
  term.size /= best_size;
  if (term.size == 1) run.rest.erase(run.rest.begin() + static_cast<std::ptrdiff_t>(*best));
  run.missed = {};
  return true;
}

/// The largest power of two of a term's steps that makes the run longer; 1 if none does, with the
/// reason in `run.missed`.
std::int64_t RunSearch::largest_step(Run& run, const TensorTerm& term, std::int64_t limit) const {
  if (in_order_ && term.divisor != run.elements) return 1;
  for (const TileMapping::Digit& digit : mapping_.digits) {
    if (!continues(run, term, digit)) continue;
    const std::int64_t even = power_of_two_in(term.size);
    if (even == 1) run.missed = {MissedReason::Kind::count, term.dim, run.elements * term.size};
    std::int64_t size = std::min(even, limit / run.elements);
    while (size > 1 && !stays_whole(run, term, digit, size)) size /= 2;
    if (size > 1) return size;
  }
  return 1;
}

/// Whether `size` steps stay within the digit of the memory layout, and on one side of the view's
/// bounds.
bool RunSearch::stays_whole(Run& run, const TensorTerm& term, const TileMapping::Digit& digit,
                            std::int64_t size) const {
  const auto& dim = dimension(term.dim);
  const std::int64_t length = term.stride * size;
  const bool wraps = digit.size != 0;
  if (wraps && digit.divisor * digit.size % length != 0) {
    run.missed = {MissedReason::Kind::stride, term.dim, digit.size};
    return false;
  }
  if ((wraps || !dim.inside) && dim.multiple % length != 0) {
    run.missed = {MissedReason::Kind::offset, term.dim, dim.multiple};
    return false;
  }
  if (!dim.inside && dim.extent_multiple % length != 0) {
    run.missed = {MissedReason::Kind::extent, term.dim, dim.extent_multiple};
    return false;
  }
  return true;
}

void RunSearch::find_alignment(Run& run) const {
  run.alignment = widest_access_bits;  // an element has at least one bit
  for (const TileMapping::Digit& digit : mapping_.digits) {
    align_to_offset(digit, run);
    for (const TensorTerm& term : threads_) align_to_term(digit, term, run);
    for (const TensorTerm& term : run.rest) align_to_term(digit, term, run);
  }
  if (!mapping_.swizzle) return;
  const std::int64_t kept = std::int64_t{1} << mapping_.swizzle->base;
  if (kept < run.alignment) {
    run.alignment = kept;
    run.missed_alignment = {MissedReason::Kind::swizzle, 0, kept};
  }
}

/// Whether no share of the index carries into the digit, so that each can be judged alone.
bool RunSearch::is_cut(const TileMapping::Digit& digit, const Run& run) const {
  return digit.divisor == 1 || (cuts_cleanly(mapping_, digit.dim, digit.divisor, threads_) &&
                                cuts_cleanly(mapping_, digit.dim, digit.divisor, run.rest));
}

void RunSearch::align_to_offset(const TileMapping::Digit& digit, Run& run) const {
  const auto& dim = dimension(digit.dim);
  if (!is_cut(digit, run)) {
    align(run, digit.multiple, {MissedReason::Kind::stride, digit.dim, digit.multiple});
    return;
  }
  align_to(digit, dim.multiple, {MissedReason::Kind::offset, digit.dim, dim.multiple}, run);
}

void RunSearch::align_to_term(const TileMapping::Digit& digit, const TensorTerm& term,
                              Run& run) const {
  if (term.dim != digit.dim || !is_cut(digit, run)) return;
  if (term.stride * term.size <= digit.divisor) return;  // contributes to lower digits only
  align_to(digit, term.stride, {MissedReason::Kind::stride, digit.dim, digit.multiple}, run);
}

std::int64_t aligned_bytes(const Run& run, const TileMapping& mapping) {
  return std::min(run.alignment * power_of_two_in(mapping.dtype.bits), widest_access_bits) / 8;
}

}  // namespace tilevm::isa
