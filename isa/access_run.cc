#include "isa/access_run.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace tilevm::isa {
namespace {

constexpr std::int64_t widest_bits = 128;

/// A run of elements, and what is known of where it begins.
struct Run {
  std::vector<AccessDigit> inner;
  std::vector<PlacedTerm> rest;  ///< of the places, which tell the runs apart
  std::int64_t elements = 1;
  Obstacle obstacle{};          ///< why it is not longer
  std::int64_t alignment = 1;   ///< elements; a power of two that divides the offset of its begin
  Obstacle alignment_obstacle{};
};

class RunSearch {
 public:
  RunSearch(const TilePlace& place, const std::vector<PlacedTerm>& threads,
            std::vector<PlacedTerm> places, bool in_order)
      : place_(place), threads_(threads), places_(std::move(places)), in_order_(in_order) {}

  /// The longest run of at most this many elements.
  Run find(std::int64_t limit) const {
    Run run;
    run.rest = places_;
    while (run.elements < limit && extend(run, limit)) {
    }
    find_alignment(run);
    return run;
  }

 private:
  [[nodiscard]] const TilePlace::Dimension& dimension(int dim) const {
    return place_.dimensions[static_cast<std::size_t>(dim)];
  }

  /// Makes the run longer by a digit of the places that goes on where it ends in memory.
  bool extend(Run& run, std::int64_t limit) const {
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
      if (run.obstacle.kind == Obstacle::Kind::none && !run.rest.empty()) {
        run.obstacle.kind = in_order_ ? Obstacle::Kind::order : Obstacle::Kind::registers;
      }
      return false;
    }
    PlacedTerm& term = run.rest[*best];
    run.inner.push_back({run.elements, best_size, term.divisor, term.dim, term.stride});
    run.elements *= best_size;
    term.divisor *= best_size;
    term.stride *= best_size;
    term.size /= best_size;
    if (term.size == 1) run.rest.erase(run.rest.begin() + static_cast<std::ptrdiff_t>(*best));
    run.obstacle = {};
    return true;
  }

  /// The largest power of two of a term's steps that makes the run longer; 1 if none does.
  std::int64_t largest_step(Run& run, const PlacedTerm& term, std::int64_t limit) const {
    if (in_order_ && term.divisor != run.elements) return 1;
    for (const TilePlace::Digit& digit : place_.digits) {
      if (!continues(run, term, digit)) continue;
      std::int64_t size = std::min(power_of_two_in(term.size), limit / run.elements);
      while (size > 1 && !stays_whole(run, term, digit, size)) size /= 2;
      if (size > 1) return size;
    }
    return 1;
  }

  /// Whether one step of the term leads to the element behind the run.
  static bool continues(const Run& run, const PlacedTerm& term, const TilePlace::Digit& digit) {
    if (digit.dim != term.dim || !digit.stride || term.stride % digit.divisor != 0) return false;
    if (digit.size != 0 && term.stride >= digit.divisor * digit.size) return false;
    return term.stride / digit.divisor * *digit.stride == run.elements;
  }

  /// Whether so many steps stay within the digit of the memory layout, and on one side of the
  /// view's bounds.
  bool stays_whole(Run& run, const PlacedTerm& term, const TilePlace::Digit& digit,
                   std::int64_t size) const {
    const auto& dim = dimension(term.dim);
    const std::int64_t length = term.stride * size;
    const bool wraps = digit.size != 0;
    if (wraps && digit.divisor * digit.size % length != 0) {
      run.obstacle = {Obstacle::Kind::stride, term.dim, digit.size};
      return false;
    }
    if ((wraps || !dim.inside) && dim.multiple % length != 0) {
      run.obstacle = {Obstacle::Kind::offset, term.dim, dim.multiple};
      return false;
    }
    if (!dim.inside && dim.extent_multiple % length != 0) {
      run.obstacle = {Obstacle::Kind::extent, term.dim, dim.extent_multiple};
      return false;
    }
    return true;
  }

  void find_alignment(Run& run) const {
    run.alignment = widest_bits;  // elements have a bit at least
    for (const TilePlace::Digit& digit : place_.digits) {
      align_to_offset(digit, run);
      for (const PlacedTerm& term : threads_) align_to_term(digit, term, run);
      for (const PlacedTerm& term : run.rest) align_to_term(digit, term, run);
    }
    if (!place_.swizzle) return;
    const std::int64_t kept = std::int64_t{1} << place_.swizzle->base;
    if (kept < run.alignment) {
      run.alignment = kept;
      run.alignment_obstacle = {Obstacle::Kind::swizzle, 0, kept};
    }
  }

  static void align(Run& run, std::int64_t multiple, const Obstacle& obstacle) {
    if (multiple >= run.alignment) return;
    run.alignment = multiple;
    run.alignment_obstacle = obstacle;
  }

  /// Whether the digit can be looked at share by share.
  bool is_cut(const TilePlace::Digit& digit, const Run& run) const {
    return digit.divisor == 1 || (cuts_cleanly(place_, digit.dim, digit.divisor, threads_) &&
                                  cuts_cleanly(place_, digit.dim, digit.divisor, run.rest));
  }

  void align_to_offset(const TilePlace::Digit& digit, Run& run) const {
    const auto& dim = dimension(digit.dim);
    if (!is_cut(digit, run)) {
      align(run, digit.multiple, {Obstacle::Kind::stride, digit.dim, digit.multiple});
      return;
    }
    align_to(digit, dim.multiple, {Obstacle::Kind::offset, digit.dim, dim.multiple}, run);
  }

  void align_to_term(const TilePlace::Digit& digit, const PlacedTerm& term, Run& run) const {
    if (term.dim != digit.dim || !is_cut(digit, run)) return;
    if (term.stride * term.size <= digit.divisor) return;  // only digits below have a share
    align_to(digit, term.stride, {Obstacle::Kind::stride, digit.dim, digit.multiple}, run);
  }

  /// A share of the index that is a multiple of `multiple`.
  static void align_to(const TilePlace::Digit& digit, std::int64_t multiple,
                       const Obstacle& obstacle, Run& run) {
    const std::int64_t steps = std::max<std::int64_t>(1, multiple / digit.divisor);
    if (digit.size != 0 && steps % digit.size == 0) return;  // all of it is cut off
    std::int64_t product = power_of_two_in(digit.size == 0 ? steps : std::min(
        power_of_two_in(steps), power_of_two_in(digit.size)));
    product = std::min(product, widest_bits) * std::min(digit.multiple, widest_bits);
    align(run, product, obstacle);
  }

  const TilePlace& place_;
  const std::vector<PlacedTerm>& threads_;
  const std::vector<PlacedTerm> places_;
  bool in_order_;
};

/// What an address must be known of: pointers, shared tensors and workspaces are aligned to 16
/// bytes.
std::int64_t aligned_bytes(const Run& run, int bits) {
  const std::int64_t aligned = std::min(run.alignment * power_of_two_in(bits), widest_bits);
  return aligned / 8;
}

/// The first number of elements, from the limit down, that can be moved in whole bytes.
std::optional<Run> longest_run(const RunSearch& search, const TilePlace& place,
                               std::int64_t limit) {
  const int bits = place.dtype.bits;
  for (; limit >= 1; limit /= 2) {
    Run run = search.find(limit);
    const bool whole = run.elements * bits % 8 == 0 && aligned_bytes(run, bits) > 0;
    const bool together = !place.swizzle || run.alignment >= run.elements;
    if (whole && together) return run;
    limit = std::min(limit, run.elements);
  }
  return std::nullopt;
}

/// Cuts a run of `bytes` into the widest accesses; each lies at a multiple of its width.
std::vector<std::int64_t> cut(std::int64_t bytes, std::int64_t aligned) {
  std::vector<std::int64_t> widths;
  for (std::int64_t at = 0; at < bytes; at += widths.back()) {
    std::int64_t width = std::min(aligned, widest_bits / 8);
    while (at % width != 0 || at + width > bytes) width /= 2;
    widths.push_back(width);
  }
  return widths;
}

/// The terms of the places as digits of the access's number.
std::vector<AccessDigit> number_accesses(std::vector<PlacedTerm> rest) {
  std::sort(rest.begin(), rest.end(),
            [](const auto& a, const auto& b) { return a.divisor < b.divisor; });
  std::vector<AccessDigit> digits;
  std::int64_t divisor = 1;
  for (const PlacedTerm& term : rest) {
    digits.push_back({divisor, term.size, term.divisor, term.dim, term.stride});
    divisor *= term.size;
  }
  return digits;
}

}  // namespace

void plan_runs(AccessPlan& plan, const RegisterLayout& tile, bool keeps_order) {
  const TilePlace& place = plan.place;
  const int bits = place.dtype.bits;
  plan.threads = place.place_terms(tile.thread_terms());
  const auto places = place.place_terms(tile.local_terms());
  const RunSearch search(place, plan.threads, places, keeps_order && place.may_overlap());
  Run run;
  run.rest = places;
  plan.form = AccessForm::bits;
  if (auto found = longest_run(search, place, widest_bits / power_of_two_in(bits))) {
    run = *std::move(found);
    plan.form = AccessForm::bytes;
  } else {
    const Run one = search.find(1);
    run.obstacle = one.alignment_obstacle;
    if (one.alignment * bits % 8 == 0) run.obstacle = search.find(8).obstacle;
  }
  plan.elements = run.elements;
  plan.count = tile.num_locals() / run.elements;
  plan.inner = run.inner;
  plan.outer = number_accesses(run.rest);
  plan.obstacle = run.obstacle;
  std::vector<PlacedTerm> steps;
  for (const AccessDigit& digit : plan.outer) {
    steps.push_back({digit.dim, digit.divisor, digit.size, digit.stride});
  }
  std::vector<bool> flips;
  plan.address = find_address_form(place, plan.threads, steps, flips);
  for (std::size_t i = 0; i < flips.size(); ++i) plan.outer[i].flips = flips[i];
  if (plan.form == AccessForm::bits) return;
  const std::int64_t bytes = run.elements * bits / 8;
  std::int64_t aligned = aligned_bytes(run, bits);
  if (aligned < std::min(bytes, widest_bits / 8)) plan.obstacle = run.alignment_obstacle;
  // Runs that stay in order go to the registers where they lie, in whole words or less.
  const std::int64_t in_registers = power_of_two_in(bytes);
  if (plan.in_order() && plan.count > 1 && in_registers < 4) {
    aligned = std::min(aligned, in_registers);
  }
  plan.widths = cut(bytes, aligned);
  if (*std::max_element(plan.widths.begin(), plan.widths.end()) == widest_bits / 8) {
    plan.obstacle = {};
  }
}

}  // namespace tilevm::isa
