#include "vm/naive/naive_reduce.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "isa/type/arith.h"
#include "isa/type/number.h"

namespace tilevm::vm::naive {
namespace {

using isa::Index;

class NaiveReduction {
 public:
  NaiveReduction(const NaiveTile& source, isa::ReduceOp op, const std::vector<int>& dims,
                 const isa::RegisterLayout& result)
      : source_(source),
        op_(op),
        type_(isa::accumulator(op, source.type.dtype)),
        reduced_(static_cast<std::size_t>(source.type.layout.rank()), false),
        result_(result) {
    for (const int dim : dims) reduced_[static_cast<std::size_t>(dim)] = true;
  }

  std::vector<NaiveValue> run() {
    const isa::RegisterLayout& layout = source_.type.layout;
    for (std::int64_t t = 0; t < layout.num_threads(); ++t) values_.push_back(of_thread(t));
    // The terms of the thread's number come from the most significant digit to the least.
    std::vector<isa::RegisterLayout::Term> digits = layout.thread_terms();
    std::reverse(digits.begin(), digits.end());
    for (const auto& digit : digits) {
      if (reduced_[static_cast<std::size_t>(digit.dim)]) combine(digit.divisor, digit.size);
    }
    std::vector<NaiveValue> results;
    for (std::int64_t k = 0; k < result_.size(); ++k) {
      const Index index = isa::unravel(k, result_.shape());
      NaiveValue value = values_[static_cast<std::size_t>(result_.first_thread_of(index))]
                                [static_cast<std::size_t>(result_.local_of(index))];
      value.code = converted(type_, source_.type.dtype, value.code);
      results.push_back(value);
    }
    return results;
  }

 private:
  /// An element that is combined with no other stays as it is, even a NaN.
  static std::uint64_t converted(const isa::DType& from, const isa::DType& to, std::uint64_t code) {
    return from == to ? code : isa::cast(from, to, code);
  }

  [[nodiscard]] NaiveValue combined(const NaiveValue& a, const NaiveValue& b) const {
    const isa::BinaryOp operation = isa::combination(op_);
    NaiveValue value{isa::apply(operation, type_, a.code, b.code), a.number};
    const std::uint64_t x = isa::apply(operation, type_, a.code, a.code);
    const std::uint64_t y = isa::apply(operation, type_, b.code, b.code);
    if (x == y) value.number = std::min(a.number, b.number);
    if (x != y && value.code == y) value.number = b.number;
    return value;
  }

  /// The elements [begin, end), split at the largest power of two below their number.
  [[nodiscard]] NaiveValue tree(const std::vector<NaiveValue>& all, std::size_t begin,
                                std::size_t end) const {
    if (end - begin == 1) return all[begin];
    std::size_t half = 1;
    while (half * 2 < end - begin) half *= 2;
    return combined(tree(all, begin, begin + half), tree(all, begin + half, end));
  }

  /// What a thread makes of its own elements, by place of the result.
  [[nodiscard]] std::vector<NaiveValue> of_thread(std::int64_t thread) const {
    const isa::RegisterLayout& layout = source_.type.layout;
    std::vector<std::vector<NaiveValue>> groups(static_cast<std::size_t>(result_.num_locals()));
    for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
      const Index index = layout.element(thread, i);
      NaiveValue value;
      value.code = converted(
          source_.type.dtype, type_,
          source_.codes[static_cast<std::size_t>(isa::ravel(index, source_.type.shape()))]);
      Index kept;
      for (std::size_t d = 0; d < index.size(); ++d) {
        if (reduced_[d]) {
          value.number = value.number * static_cast<std::uint64_t>(source_.type.shape()[d]) +
                         static_cast<std::uint64_t>(index[d]);
        }
        if (!reduced_[d] || result_.rank() == layout.rank()) {
          kept.push_back(reduced_[d] ? 0 : index[d]);
        }
      }
      groups[static_cast<std::size_t>(result_.local_of(kept))].push_back(value);
    }
    std::vector<NaiveValue> values;
    for (const auto& group : groups) values.push_back(tree(group, 0, group.size()));
    return values;
  }

  /// Combines the threads that differ in a digit of their number.
  void combine(std::int64_t distance, std::int64_t size) {
    for (; size % 2 == 0; size /= 2, distance *= 2) {
      const auto before = values_;
      for (std::size_t t = 0; t < before.size(); ++t) {
        const bool upper = static_cast<std::int64_t>(t) / distance % 2 == 1;
        const std::size_t other =
            upper ? t - static_cast<std::size_t>(distance) : t + static_cast<std::size_t>(distance);
        for (std::size_t g = 0; g < before[t].size(); ++g) {
          values_[t][g] = combined(before[t][g], before[other][g]);
        }
      }
    }
    if (size == 1) return;
    const auto before = values_;
    for (std::size_t t = 0; t < before.size(); ++t) {
      const auto step = static_cast<std::size_t>(distance);
      const std::size_t first = t - t / step % static_cast<std::size_t>(size) * step;
      for (std::size_t g = 0; g < before[t].size(); ++g) {
        values_[t][g] = before[first][g];
        for (std::size_t i = 1; i < static_cast<std::size_t>(size); ++i) {
          values_[t][g] = combined(values_[t][g], before[first + i * step][g]);
        }
      }
    }
  }

  const NaiveTile& source_;
  isa::ReduceOp op_;
  isa::DType type_;
  std::vector<bool> reduced_;
  const isa::RegisterLayout& result_;
  std::vector<std::vector<NaiveValue>> values_;  ///< values by thread and place of the result
};

/// A digit of an index, as docs/reference/tiles.md counts them.
struct ScanDigit {
  std::int64_t stride = 1, size = 1;
  /// Whether the digit counts lanes of a warp, which double the distance at each step.
  bool doubles = false;
};

/// The digits of a dimension, the lowest first.
std::vector<ScanDigit> scan_digits(const isa::RegisterLayout& layout, int dim) {
  std::vector<ScanDigit> digits;
  for (const auto& term : layout.local_terms()) {
    if (term.dim == dim) digits.push_back({term.stride, term.size, false});
  }
  for (const auto& term : layout.thread_terms()) {
    if (term.dim != dim) continue;
    std::int64_t inside = 1;
    const bool aligned = std::has_single_bit(static_cast<std::uint64_t>(term.divisor));
    while (aligned && term.size % (inside * 2) == 0 && term.divisor * inside * 2 <= 32) inside *= 2;
    digits.push_back({term.stride, inside, true});
    digits.push_back({term.stride * inside, term.size / inside, false});
  }
  std::erase_if(digits, [](const ScanDigit& digit) { return digit.size == 1; });
  std::sort(digits.begin(), digits.end(),
            [](const ScanDigit& a, const ScanDigit& b) { return a.stride < b.stride; });
  return digits;
}

/// A row of elements, all combined with those before them.
template <class Combine>
void scan_row(std::vector<std::uint64_t>& row, std::vector<std::uint64_t> totals,
              const std::vector<ScanDigit>& digits, Combine combine) {
  for (const ScanDigit& digit : digits) {
    const auto size = static_cast<std::size_t>(digit.size);
    const std::size_t members = row.size() / totals.size();
    std::vector<std::uint64_t> next;
    for (std::size_t begin = 0; begin < totals.size(); begin += size) {
      std::vector<std::uint64_t> sums(totals.begin() + static_cast<std::ptrdiff_t>(begin),
                                      totals.begin() + static_cast<std::ptrdiff_t>(begin + size));
      if (digit.doubles) {
        for (std::size_t step = 1; step < size; step *= 2) {
          for (std::size_t i = size; i-- > step;) sums[i] = combine(sums[i - step], sums[i]);
        }
      } else {
        for (std::size_t i = 1; i < size; ++i) sums[i] = combine(sums[i - 1], sums[i]);
      }
      for (std::size_t i = 1; i < size; ++i) {
        for (std::size_t e = (begin + i) * members; e < (begin + i + 1) * members; ++e) {
          row[e] = combine(sums[i - 1], row[e]);
        }
      }
      next.push_back(sums.back());
    }
    totals = std::move(next);
  }
}

}  // namespace

std::vector<std::uint64_t> scan_tile(const NaiveTile& source, isa::ReduceOp op, int dim,
                                     bool exclusive) {
  const isa::DType type = source.type.dtype, wide = isa::accumulator(op, type);
  const isa::Shape& shape = source.type.shape();
  const auto d = static_cast<std::size_t>(dim);
  const auto digits = scan_digits(source.type.layout, dim);
  std::vector<std::uint64_t> results(source.codes.size());
  for (std::int64_t k = 0; k < isa::element_count(shape); ++k) {
    Index index = isa::unravel(k, shape);
    if (index[d] != 0) continue;
    std::vector<std::size_t> places;
    std::vector<std::uint64_t> row;
    for (; index[d] < shape[d]; ++index[d]) {
      places.push_back(static_cast<std::size_t>(isa::ravel(index, shape)));
      const std::uint64_t code = source.codes[places.back()];
      row.push_back(type == wide ? code : isa::cast(type, wide, code));
    }
    const std::vector<std::uint64_t> totals = row;
    if (exclusive) row.assign(row.size(), isa::identity(op, wide));
    scan_row(row, totals, digits, [&](std::uint64_t a, std::uint64_t b) {
      return isa::apply(isa::combination(op), wide, a, b);
    });
    for (std::size_t i = 0; i < row.size(); ++i) {
      results[places[i]] = type == wide ? row[i] : isa::cast(wide, type, row[i]);
    }
  }
  return results;
}

std::vector<NaiveValue> reduce_tile(const NaiveTile& source, isa::ReduceOp op,
                                    const std::vector<int>& dims,
                                    const isa::RegisterLayout& result) {
  return NaiveReduction(source, op, dims, result).run();
}

namespace {

/// What of a layout decides the order in which elements along dimensions are combined: which digits
/// of the threads and of their places count them. A hash of it.
std::uint64_t order_of(const isa::RegisterLayout& layout, const std::vector<int>& dims) {
  std::uint64_t order = 0;
  const auto add = [&](const isa::RegisterLayout::Term& term) {
    if (std::find(dims.begin(), dims.end(), term.dim) == dims.end()) return;
    for (const std::int64_t part : {term.size, term.stride}) {
      order = order * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(part) + 1;
    }
  };
  // Where a digit of the threads lies does not matter, only that it comes after those below it.
  for (const auto& term : layout.local_terms()) add(term);
  order = order * 0x9e3779b97f4a7c15 + 1;
  for (const auto& term : layout.thread_terms()) add(term);
  return order;
}

/// Whether the order of elements decides the result.
bool rounds(isa::ReduceOp op) { return op == isa::ReduceOp::add || op == isa::ReduceOp::mul; }

/// The residue of a result whose code is given, of the elements' combination in row-major order.
Residue formula_of(isa::ReduceOp op, std::uint64_t order, const isa::DType& wide,
                   const isa::DType& type, const Element& combination, std::uint64_t code,
                   const ElementArithmetic& arithmetic) {
  Element combined = arithmetic.cast(wide, type, combination);
  if (rounds(op)) {
    const Element ordered =
        arithmetic.expression(Step::reduce, order, combined.code, {{type, combined}});
    if (arithmetic.is_free()) combined = ordered;
  }
  if (!combined.residue.is_given()) return {};
  return arithmetic.result(type, code, combined.residue).residue;
}

}  // namespace

std::vector<Residue> reduce_residues(const NaiveTile& source, isa::ReduceOp op,
                                     const std::vector<int>& dims, const isa::RegisterType& result,
                                     const std::vector<NaiveValue>& values,
                                     const ElementArithmetic& arithmetic) {
  const isa::DType type = source.type.dtype, wide = isa::accumulator(op, type);
  const isa::Shape& shape = source.type.shape();
  const bool keeps_rank = result.shape().size() == shape.size();
  std::vector<std::optional<Element>> sums(values.size());
  for (std::int64_t k = 0; k < isa::element_count(shape); ++k) {
    const Index index = isa::unravel(k, shape);
    Index kept;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const bool reduced = std::find(dims.begin(), dims.end(), static_cast<int>(d)) != dims.end();
      if (!reduced || keeps_rank) kept.push_back(reduced ? 0 : index[d]);
    }
    auto& sum = sums[static_cast<std::size_t>(isa::ravel(kept, result.shape()))];
    const Element next = arithmetic.cast(type, wide, source.element(static_cast<std::size_t>(k)));
    sum = sum ? arithmetic.apply(isa::combination(op), wide, *sum, next) : next;
  }
  const std::uint64_t order = order_of(source.type.layout, dims);
  std::vector<Residue> residues;
  for (std::size_t i = 0; i < values.size(); ++i) {
    residues.push_back(formula_of(op, order, wide, type, *sums[i], values[i].code, arithmetic));
  }
  return residues;
}

std::vector<Residue> scan_residues(const NaiveTile& source, isa::ReduceOp op, int dim,
                                   bool exclusive, const std::vector<std::uint64_t>& codes,
                                   const ElementArithmetic& arithmetic) {
  const isa::DType type = source.type.dtype, wide = isa::accumulator(op, type);
  const isa::Shape& shape = source.type.shape();
  const auto d = static_cast<std::size_t>(dim);
  std::vector<Residue> residues(codes.size());
  const std::uint64_t order = order_of(source.type.layout, {dim});
  for (std::int64_t k = 0; k < isa::element_count(shape); ++k) {
    Index index = isa::unravel(k, shape);
    if (index[d] != 0) continue;
    Element sum = isa::identity(op, wide);
    for (; index[d] < shape[d]; ++index[d]) {
      const auto place = static_cast<std::size_t>(isa::ravel(index, shape));
      const Element next = arithmetic.cast(type, wide, source.element(place));
      const Element before = sum;
      sum = index[d] == 0 ? next : arithmetic.apply(isa::combination(op), wide, sum, next);
      const Element& given = exclusive ? before : sum;
      residues[place] = formula_of(op, order, wide, type, given, codes[place], arithmetic);
    }
  }
  return residues;
}

}  // namespace tilevm::vm::naive
