#include "vm/naive/naive_reduce.h"

#include <algorithm>

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
  std::vector<std::vector<NaiveValue>> values_;  ///< by thread and place of the result
};

}  // namespace

std::vector<NaiveValue> reduce_tile(const NaiveTile& source, isa::ReduceOp op,
                                    const std::vector<int>& dims,
                                    const isa::RegisterLayout& result) {
  return NaiveReduction(source, op, dims, result).run();
}

}  // namespace tilevm::vm::naive
