#include "vm/ring/batch.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "isa/analysis/combinations.h"
#include "isa/type/number.h"
#include "vm/naive/naive_engine.h"
#include "vm/run/engine_sim.h"
#include "vm/text/table.h"

namespace tilevm::vm {
namespace {

using naive::Residue;

/// Which dimension of a tensor counts the rows of the batch.
using RowDim = std::optional<std::size_t>;

/// The only dimension that is `first` in one shape and `last` in the other. Error: shapes differ in
/// another way.
Result<RowDim> row_dim(const Entry::Tensor& small, const Entry::Tensor& large,
                       const BatchRange& range) {
  RowDim found;
  bool plain = small.shape.size() == large.shape.size() && small.dtype == large.dtype;
  for (std::size_t d = 0; plain && d < small.shape.size(); ++d) {
    if (small.shape[d] == large.shape[d]) continue;
    plain = !found && small.shape[d] == range.first && large.shape[d] == range.last;
    found = d;
  }
  if (plain) return found;
  return Error{
      ErrorKind::usage,
      fmt::format("tensor `{}` is {} for {}={} and {} for {}={}: one dimension must count "
                  "the rows, and be {}",
                  small.name, format_type(small.dtype, small.shape), range.name, range.first,
                  format_type(large.dtype, large.shape), range.name, range.last, range.name)};
}

/// The residues that statements give in the smallest batches; then the first statement that gives
/// another.
class NewResidues final : public BitUses {
 public:
  void look() { looks_ = true; }
  [[nodiscard]] const std::optional<StatementPlace>& first() const { return first_; }

  void result(int kernel, isa::StmtId statement, const naive::NaiveTile& tile) override {
    if (first_) return;
    for (const Residue residue : tile.residues) {
      if (!residue.is_given()) continue;
      if (!looks_) known_.insert(residue.word());
      if (!looks_ || known_.contains(residue.word())) continue;
      first_ = StatementPlace{kernel, statement};
      return;
    }
  }

 private:
  bool looks_ = false;
  std::unordered_set<std::uint64_t> known_;
  std::optional<StatementPlace> first_;
};

/// The tensors of a batch, of which a run makes results.
struct Batch {
  std::vector<HostTensor> tensors;
  naive::TensorResidues residues;
};

class BatchRun {
 public:
  BatchRun(const BatchRange& range, const LoadBatch& load, const FillBatch& fill)
      : range_(range),
        load_(load),
        fill_(fill),
        simulator_(make_sim_engine({})),
        algebra_(naive::Ring::free()) {}

  std::variant<BatchProof, BatchFailure> prove() {
    if (!run()) return *std::move(failure_);
    return std::move(proof_);
  }

 private:
  // --- What goes wrong ---

  bool fail(Failure failure) {
    failure_ = BatchFailure{std::move(failure)};
    return false;
  }
  bool fail(Failure failure, const BatchCase& batch) {
    failure_ = BatchFailure{std::move(failure), batch.program, batch.size};
    return false;
  }
  std::optional<BatchCase> loaded(std::int64_t size) {
    std::optional<BatchCase> batch = load_(size);
    if (!batch) failure_ = BatchFailure{{}, {}, size};
    return batch;
  }

  // --- The proof ---

  bool run() {
    const std::optional<BatchCase> small = loaded(range_.first);
    const std::optional<BatchCase> large = small ? loaded(range_.last) : std::nullopt;
    if (!large || !find_rows(small->entry, large->entry)) return false;
    find_unordered(*large);
    if (proof_.unordered) return true;
    for (std::int64_t first = 1; first <= range_.last; first += range_.first) {
      std::optional<Batch> alone = compute(*small, first, decisions_);
      if (!alone) return false;
      alone_.push_back(*std::move(alone));
    }
    for (std::int64_t size = range_.first; size <= range_.last && !proof_.difference; ++size) {
      const std::optional<BatchCase> batch = loaded(size);
      if (!batch || !simulate(*batch) || !compare(*small, *batch, size)) return false;
      if (!proof_.difference) ++proof_.sizes;
    }
    proof_.decisions = decisions_.in_words(large->program);
    return true;
  }

  bool find_rows(const Entry& small, const Entry& large) {
    if (small.tensors.size() != large.tensors.size()) {
      return fail(
          Error{ErrorKind::usage, fmt::format("{}={} and {}={} have different tensors", range_.name,
                                              range_.first, range_.name, range_.last)});
    }
    bool has_rows = false;
    for (std::size_t i = 0; i < small.tensors.size(); ++i) {
      const Entry::Tensor& tensor = small.tensors[i];
      const Result<RowDim> dim = row_dim(tensor, large.tensors[i], range_);
      if (!dim) return fail(dim.error());
      dims_.push_back(*dim);
      if (tensor.input) (*dim ? proof_.by_row : proof_.shared).push_back(tensor.name);
      if (tensor.output && !*dim) proof_.without_rows.push_back(tensor.name);
      has_rows = has_rows || (tensor.output && *dim);
    }
    if (!has_rows) {
      return fail(Error{ErrorKind::usage,
                        fmt::format("no output has {} rows: its shape must have {} as an extent",
                                    range_.name, range_.name)});
    }
    Result<std::vector<HostTensor>> all = fill_(large);
    if (!all) return fail(all.error());
    all_ = *std::move(all);
    return true;
  }

  void find_unordered(const BatchCase& batch) {
    for (const isa::Launch& launch : batch.entry.launches) {
      const auto sum = isa::find_unordered_sum(batch.program.kernel(launch.kernel));
      if (!sum || proof_.unordered) continue;
      proof_.unordered = Decision{location_of(batch.program, *sum),
                                  "floats are combined in memory in an order that nothing defines"};
    }
  }

  /// Row i of a batch is row (first + i) mod last of all. Every number of an input is a symbol.
  [[nodiscard]] Batch inputs(const Entry& entry, std::int64_t first) const {
    Batch batch;
    for (std::size_t i = 0; i < entry.tensors.size(); ++i) {
      const Entry::Tensor& tensor = entry.tensors[i];
      Result<HostTensor> made = make_tensor(tensor.dtype, tensor.shape, tensor.name);
      TILEVM_CHECK(made.ok(), "a larger batch has been made");
      HostTensor& data = batch.tensors.emplace_back(*std::move(made));
      std::vector<Residue>& symbols = batch.residues.emplace_back();
      if (!tensor.input) continue;
      const auto count = static_cast<std::size_t>(isa::element_count(tensor.shape));
      for (std::size_t k = 0; k < count; ++k) {
        isa::Index index = isa::unravel(static_cast<std::int64_t>(k), tensor.shape);
        if (dims_[i]) index[*dims_[i]] = (index[*dims_[i]] + first) % range_.last;
        const auto from = static_cast<std::uint64_t>(isa::ravel(index, all_[i].shape));
        data.set_code(k, all_[i].code(from));
        symbols.push_back(symbol(i, from));
      }
    }
    return batch;
  }
  /// The symbol of a number of an input.
  [[nodiscard]] Residue symbol(std::size_t tensor, std::uint64_t element) const {
    constexpr std::uint64_t symbols = 0x4000, low = 0x7fff'ffff;
    return algebra_.opaque(symbols, {Residue(tensor, 0), Residue(element & low, element >> 31)});
  }

  /// Nothing after a failure.
  std::optional<Batch> compute(const BatchCase& batch, std::int64_t first,
                               naive::ResidueObserver& observer) {
    Batch result = inputs(batch.entry, first);
    auto failure = naive::run_in_ring(batch.program, batch.entry, algebra_, result.tensors,
                                      result.residues, &observer);
    if (!failure) return result;
    fail(*std::move(failure), batch);
    return std::nullopt;
  }

  /// The simulator finds faults, which the naive interpreter relies on.
  bool simulate(const BatchCase& batch) {
    Batch run = inputs(batch.entry, 0);
    RunReport report;
    auto failure = simulator_->run(batch.program, batch.entry, run.tensors, report);
    return !failure || fail(*std::move(failure), batch);
  }

  bool compare(const BatchCase& small, const BatchCase& batch, std::int64_t size) {
    const std::optional<Batch> result = compute(batch, 0, decisions_);
    if (!result) return false;
    for (std::size_t i = 0; i < result->tensors.size() && !proof_.difference; ++i) {
      const Entry::Tensor& tensor = batch.entry.tensors[i];
      if (tensor.output && dims_[i]) compare_output(tensor, size, i, *result);
    }
    return !proof_.difference || find_statement(small, batch);
  }

  void compare_output(const Entry::Tensor& tensor, std::int64_t size, std::size_t i,
                      const Batch& result) {
    for (std::size_t k = 0; k < result.residues[i].size(); ++k) {
      isa::Index index = isa::unravel(static_cast<std::int64_t>(k), tensor.shape);
      // Row 1 is the first one of the first of the smallest batches, row 0 comes last.
      std::int64_t& place = index[*dims_[i]];
      const std::int64_t row = place, turn = row == 0 ? range_.last - 1 : row - 1;
      const Batch& alone = alone_[static_cast<std::size_t>(turn / range_.first)];
      place = turn % range_.first;
      const auto own = static_cast<std::size_t>(isa::ravel(index, alone.tensors[i].shape));
      ++proof_.elements;
      if (alone.residues[i][own] == result.residues[i][k]) continue;
      BatchDifference difference{size, row, tensor.name, k, {}, {}, {}, {}};
      difference.was = isa::format_value(tensor.dtype, alone.tensors[i].code(own));
      difference.is = isa::format_value(tensor.dtype, result.tensors[i].code(k));
      proof_.difference = std::move(difference);
      return;
    }
  }

  /// Runs the smallest batches once more, then the batch up to a statement that gives something
  /// new.
  bool find_statement(const BatchCase& small, const BatchCase& batch) {
    NewResidues residues;
    for (std::int64_t first = 1; first <= range_.last; first += range_.first) {
      if (!compute(small, first, residues)) return false;
    }
    residues.look();
    if (!compute(batch, 0, residues)) return false;
    if (residues.first()) {
      Decision statement = named(batch.program, *residues.first());
      proof_.difference->location = std::move(statement.location);
      proof_.difference->statement = std::move(statement.text);
    }
    return true;
  }

  const BatchRange& range_;
  const LoadBatch& load_;
  const FillBatch& fill_;
  std::unique_ptr<Engine> simulator_;
  naive::Ring algebra_;
  BatchProof proof_;
  BitUses decisions_;
  std::optional<BatchFailure> failure_;
  std::vector<RowDim> dims_;
  std::vector<HostTensor> all_;  ///< the tensors of the largest batch
  std::vector<Batch> alone_;     ///< results of smallest batches, which have all rows, from 1 on
};

}  // namespace

std::variant<BatchProof, BatchFailure> prove_batch(const BatchRange& range, const LoadBatch& load,
                                                   const FillBatch& fill) {
  return BatchRun(range, load, fill).prove();
}

}  // namespace tilevm::vm
