#include "isa/access/access_matrix.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "isa/access/access_run.h"
#include "isa/access/run_search.h"
#include "isa/dot/mma_shapes.h"

namespace tilevm::isa {
namespace {

using Terms = std::vector<TensorTerm>;

constexpr std::int64_t row_bytes = 16, word_bits = 32;

void append(Terms& to, const Terms& from, std::int64_t times) {
  for (TensorTerm term : from) {
    term.divisor *= times;
    to.push_back(term);
  }
}

/// Neighbouring digits that continue each other become one.
Terms merge(Terms terms) {
  std::sort(terms.begin(), terms.end(),
            [](const auto& a, const auto& b) { return a.divisor < b.divisor; });
  Terms merged;
  for (const TensorTerm& term : terms) {
    TensorTerm* last = merged.empty() ? nullptr : &merged.back();
    if (last != nullptr && last->dim == term.dim && last->divisor * last->size == term.divisor &&
        last->stride * last->size == term.stride) {
      last->size *= term.size;
    } else {
      merged.push_back(term);
    }
  }
  return merged;
}

/// The digits of a thread index: of its warp, of lane / 4 and of lane % 4.
struct Lanes {
  Terms warps, rows, columns;
};

std::optional<Lanes> cut_lanes(const Terms& threads) {
  const auto warps = cut_terms(threads, warp_size);
  if (!warps) return std::nullopt;
  const auto lanes = cut_terms(warps->low, 4);
  if (!lanes) return std::nullopt;
  return Lanes{warps->high, lanes->high, lanes->low};
}

Terms terms_of(const std::vector<AccessDigit>& digits) {
  Terms terms;
  for (const AccessDigit& digit : digits) {
    terms.push_back({digit.dim, digit.divisor, digit.size, digit.stride});
  }
  return terms;
}

/// Whether the elements that `together` counts are 16 contiguous bytes for all values of `others`.
bool is_row(const TileMapping& mapping, const Terms& together, Terms others) {
  const std::int64_t elements = row_bytes * 8 / mapping.dtype.bits;
  const Run row = RunSearch(mapping, std::move(others), together, true).find(elements);
  return row.elements == elements && aligned_bytes(row, mapping) == row_bytes &&
         survives_swizzle(row, mapping);
}

/// How the words of a thread are found: `rows` are the digits of a row's number in a matrix,
/// `words` those of a word's number in the thread.
struct Pattern {
  Terms rows, words;
  bool transposed = false;
};

/// Plain matrices: the words of thread t and thread t + 1 are neighbours in memory.
std::optional<Pattern> find_plain(const AccessPlan& plan, const Lanes& lanes) {
  if (plan.widths != std::vector<std::int64_t>{word_bits / 8} || !plan.in_order()) {
    return std::nullopt;
  }
  Terms row = terms_of(plan.inner), others = lanes.warps;
  append(row, lanes.columns, plan.elements);
  append(others, lanes.rows, 1);
  append(others, terms_of(plan.outer), 1);
  if (!is_row(plan.mapping, row, others)) return std::nullopt;
  return Pattern{lanes.rows, terms_of(plan.outer), false};
}

/// Transposed matrices: the 16-bit elements of thread t and thread t + 4 are neighbours in memory.
std::optional<Pattern> find_transposed(const AccessPlan& plan, const Lanes& lanes) {
  if (plan.elements != 1 || plan.mapping.dtype.bits != word_bits / 2) return std::nullopt;
  const auto halves = cut_terms(terms_of(plan.outer), 2);
  if (!halves || plan.count % 2 != 0) return std::nullopt;
  Terms others = lanes.warps;
  append(others, lanes.columns, 1);
  append(others, terms_of(plan.outer), 1);
  if (!is_row(plan.mapping, lanes.rows, others)) return std::nullopt;
  Terms rows = halves->low;
  append(rows, lanes.columns, 2);
  return Pattern{rows, halves->high, true};
}

/// Takes as many matrices into one access as the number of words allows.
bool use(const Pattern& pattern, std::int64_t words, AccessPlan& plan, const Terms& warps) {
  std::int64_t matrices = 4;
  auto cut = cut_terms(pattern.words, matrices);
  while (matrices > 1 && (words % matrices != 0 || !cut)) {
    matrices /= 2;
    cut = cut_terms(pattern.words, matrices);
  }
  // One plain matrix is no better than an access to one word by each thread.
  if (matrices == 1 && !pattern.transposed) return false;
  constexpr std::int64_t rows = 8;
  plan.threads.clear();
  append(plan.threads, pattern.rows, 1);
  append(plan.threads, cut->low, rows);
  append(plan.threads, warps, warp_size);
  plan.threads = merge(std::move(plan.threads));
  plan.form = AccessForm::matrix;
  plan.matrices = matrices;
  plan.transposed = pattern.transposed;
  plan.elements = matrices * word_bits / plan.mapping.dtype.bits;
  plan.count = words / matrices;
  plan.outer.clear();
  for (const TensorTerm& term : cut->high) {
    plan.outer.push_back(
        {term.divisor, term.size, term.divisor * plan.elements, term.dim, term.stride});
  }
  plan.inner.clear();
  plan.widths = {row_bytes};
  plan.missed = {};
  return true;
}

}  // namespace

void plan_matrices(AccessPlan& plan, const RegisterLayout& tile) {
  if (tile.num_threads() % warp_size != 0) return;
  const auto lanes = cut_lanes(plan.threads);
  if (!lanes) return;
  auto pattern = find_plain(plan, *lanes);
  if (!pattern) pattern = find_transposed(plan, *lanes);
  if (!pattern) return;
  const std::int64_t words = tile.num_locals() * plan.mapping.dtype.bits / word_bits;
  if (use(*pattern, words, plan, lanes->warps)) choose_address(plan);
}

}  // namespace tilevm::isa
