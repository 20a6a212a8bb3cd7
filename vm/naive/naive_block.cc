// More than 400 lines: one class, with a short function for each instruction.
#include "vm/naive/naive_block.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

#include "isa/analysis/statements.h"
#include "isa/base/check.h"
#include "isa/dot/shared_matrix.h"
#include "isa/program/tile_move.h"
#include "isa/rules/rules.h"
#include "isa/rules/tensor_map.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "vm/naive/dot_formula.h"
#include "vm/naive/element.h"
#include "vm/naive/naive_dot.h"
#include "vm/naive/naive_probe.h"
#include "vm/naive/naive_reduce.h"
#include "vm/naive/naive_tile.h"
#include "vm/naive/naive_turns.h"
#include "vm/naive/read_element.h"

namespace tilevm::vm::naive {
namespace {

using isa::Index;
using isa::Shape;

/// A tensor in memory: where the element of an index lies.
struct NaiveTensor {
  Bytes* bytes = nullptr;
  ResidueMemory* residues = nullptr;  ///< residues of its elements, in a run that has them
  std::uint64_t base = 0;             ///< the address of the first byte, for probes
  isa::DType dtype;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  const isa::MemoryLayout* layout = nullptr;  ///< memory layout instead of strides

  [[nodiscard]] bool contains(const Index& index) const {
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (index[d] < 0 || index[d] >= extents[d]) return false;
    }
    return true;
  }
  [[nodiscard]] std::int64_t offset(const Index& index) const {
    if (layout != nullptr) return layout->offset(index);
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < index.size(); ++d) sum += index[d] * strides[d];
    return sum;
  }
};

/// What follows a statement.
enum class Flow : std::uint8_t { next, leave_loop, next_iteration, end_block };

/// Word w of Philox 4x32-10: one round after the other, as its paper writes them.
std::uint64_t philox_word(std::uint64_t counter, std::uint64_t stream, std::uint64_t key, int w) {
  std::array<std::uint64_t, 4> c{counter, 0, stream & isa::low_mask(32), stream >> 32};
  std::array<std::uint64_t, 2> k{key & isa::low_mask(32), key >> 32};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = c[0] * 0xd2511f53, p1 = c[2] * 0xcd9e8d57;
    c = {(p1 >> 32) ^ c[1] ^ k[0], p1 & isa::low_mask(32), (p0 >> 32) ^ c[3] ^ k[1],
         p0 & isa::low_mask(32)};
    k = {(k[0] + 0x9e3779b9) & isa::low_mask(32), (k[1] + 0xbb67ae85) & isa::low_mask(32)};
  }
  return c[static_cast<std::size_t>(w)];
}

/// A stage of a barrier, or a named one.
struct NaiveBarrier {
  std::int64_t arrivals = 0;  ///< arrivals that a phase takes
  std::int64_t pending = 0;   ///< arrivals that the current phase still takes
  std::int64_t bytes = 0;     ///< bytes that are expected
  std::uint64_t phase = 0;
};

class NaiveBlock {
 public:
  NaiveBlock(NaiveLaunch& launch, const std::array<std::int64_t, 3>& block,
             isa::PrintRecords& prints)
      : launch_(launch),
        kernel_(launch.program.kernel(launch.kernel)),
        info_(launch.program.info(launch.kernel)),
        block_(block),
        prints_(prints),
        arithmetic_(launch.ring),
        scalars_(launch.scalars) {
    if (launch.log == nullptr) return;
    const auto linear = block[0] + launch.grid[0] * (block[1] + launch.grid[1] * block[2]);
    probe_.emplace(*launch.plan, *launch.log, static_cast<std::uint64_t>(linear),
                   info_.num_threads);
  }

  std::optional<std::string> run() {
    execute(kernel_.body);
    return trouble_;
  }

 private:
  // --- Control flow ---

  Flow execute(const isa::Block& block) {
    for (const isa::Stmt& stmt : block) {
      const Flow flow = std::visit([&](const auto& node) { return execute(node); }, stmt.node);
      if (trouble_) return Flow::end_block;
      if (flow != Flow::next) return flow;
    }
    return Flow::next;
  }

  Flow execute(const isa::InstStmt& stmt) {
    if (std::holds_alternative<isa::Exit>(stmt.inst)) return Flow::end_block;
    if (probe_) probe_->begin(stmt.id);
    current_ = stmt.id;
    std::visit([&](const auto& inst) { execute(inst, stmt); }, stmt.inst);
    record(isa::probed_results(stmt));
    return Flow::next;
  }
  Flow execute(const isa::ScalarStmt& stmt) {
    if (probe_) probe_->begin(stmt.id);
    scalars_[stmt.target.index] = value(stmt.value);
    record(std::array{stmt.target});
    return Flow::next;
  }
  Flow execute(const isa::BreakStmt&) { return Flow::leave_loop; }
  Flow execute(const isa::ContinueStmt&) { return Flow::next_iteration; }

  Flow execute(const isa::IfStmt& branch) {
    for (const isa::IfStmt::Arm& arm : branch.arms) {
      if (value(arm.condition).as_bool()) return execute(arm.body);
    }
    return execute(branch.otherwise);
  }

  /// Groups of warps run one at a time, and another one when one waits.
  Flow execute(const isa::ForkStmt& fork) {
    std::vector<std::function<void()>> parts;
    for (const isa::WarpGroup& group : fork.groups) {
      parts.emplace_back([this, &group] { static_cast<void>(execute(group.body)); });
    }
    if (!turns_.run(parts)) fail("groups of warps wait for one another");
    return trouble_ ? Flow::end_block : Flow::next;
  }

  Flow execute(const isa::WhileStmt& loop) {
    while (!trouble_ && value(loop.condition).as_bool()) {
      if (probe_) probe_->begin(loop.id);
      record({});
      const Flow flow = execute(loop.body);
      if (flow == Flow::leave_loop) break;
      if (flow == Flow::end_block) return flow;
    }
    record_after(loop.id);
    return Flow::next;
  }

  /// The range is evaluated once, and does not wrap around.
  Flow execute(const isa::ForStmt& loop) {
    __extension__ using Wide = __int128;
    const isa::ScalarKind kind = loop.begin.kind();
    const auto wide = [&](const isa::Expr& expr) -> Wide {
      const isa::Scalar scalar = value(expr);
      return kind == isa::ScalarKind::u64 ? Wide{scalar.bits} : Wide{scalar.as_int()};
    };
    const Wide end = wide(loop.end), step = wide(loop.step);
    for (Wide i = wide(loop.begin); !trouble_ && (step > 0 ? i < end : i > end); i += step) {
      if (probe_) probe_->begin(loop.id);
      scalars_[loop.var.index] = {kind, static_cast<std::uint64_t>(i)};
      record(std::array{loop.var});
      const Flow flow = execute(loop.body);
      if (flow == Flow::leave_loop) break;
      if (flow == Flow::end_block) return flow;
    }
    record_after(loop.id);
    return Flow::next;
  }

  /// Makes the records that the end of a loop makes.
  void record_after(isa::StmtId loop) {
    if (!probe_) return;
    launch_.plan->for_each_after(loop, [&](isa::StmtId statement) {
      probe_->begin_after_loop(statement);
      record(isa::probed_results(*isa::Statements(kernel_).instruction(statement)));
    });
  }

  /// Ends a statement that wrote these variables.
  void record(std::span<const isa::VarId> results) {
    if (!probe_ || trouble_) return;
    for (const isa::VarId var : results) {
      const isa::Type& type = kernel_.variable(var).type;
      if (std::holds_alternative<isa::RegisterType>(type)) probe_->tile(tiles_.at(var.index));
      if (std::holds_alternative<isa::ScalarType>(type)) probe_->scalar(scalars_.at(var.index));
    }
    probe_->end();
  }

  // --- Values ---

  void fail(std::string what) {
    if (!trouble_) trouble_ = std::move(what);
  }

  isa::Scalar value(const isa::Expr& expr) {
    const auto result = isa::evaluate(expr, [&](isa::VarId var) { return scalars_.at(var.index); });
    if (!result) fail("a scalar is divided by zero");
    return result.value_or(isa::Scalar{});
  }
  std::int64_t integer(const isa::Expr& expr) {
    return isa::convert(value(expr), isa::ScalarKind::i64).as_int();
  }
  /// The code of a scalar as an element of its own type, cast to another.
  std::uint64_t element(const isa::Scalar& scalar, const isa::DType& type) {
    const isa::DType own = isa::element_type(scalar.kind);
    return isa::cast(own, type, scalar.bits & isa::low_mask(own.bits));
  }
  const NaiveTile& tile(isa::RegisterOperand operand) const { return tiles_.at(operand.var.index); }

  /// A tile of the result's type whose element at each index is f(index).
  template <class F>
  void set_result(const isa::InstStmt& stmt, F&& f) {
    const auto& type = std::get<isa::RegisterType>(kernel_.variable(stmt.results[0]).type);
    NaiveTile result{type, {}};
    for (std::int64_t k = 0; k < type.layout.size(); ++k) {
      result.add(f(isa::unravel(k, type.shape())), launch_.ring != nullptr);
    }
    keep(stmt, std::move(result));
  }
  void keep(const isa::InstStmt& stmt, NaiveTile result) {
    if (launch_.observer != nullptr) launch_.observer->result(launch_.kernel, stmt.id, result);
    tiles_[stmt.results[0].index] = std::move(result);
  }
  /// An element is used by its bits.
  void note(ResidueObserver::Use use) {
    if (launch_.observer != nullptr) launch_.observer->by_bits(launch_.kernel, current_, use);
  }
  /// In the free algebra an element that is not a constant decides what comes next.
  void note_data(const Element& element, ResidueObserver::Use use) {
    if (arithmetic_.is_free() && element.residue.is_given()) note(use);
  }

  static Element at(const NaiveTile& tile, const Index& index) {
    return tile.element(static_cast<std::size_t>(isa::ravel(index, tile.type.shape())));
  }
  /// The element of an operand that broadcasts.
  static Element broadcast(const NaiveTile& tile, const Index& index) {
    const Shape& shape = tile.type.shape();
    Index own(index.end() - static_cast<std::ptrdiff_t>(shape.size()), index.end());
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) own[d] = 0;
    }
    return at(tile, own);
  }

  // --- Element by element ---

  template <isa::BinaryOp op>
  void execute(const isa::Binary<op>& inst, const isa::InstStmt& stmt) {
    const NaiveTile a = tile(inst.a), b = tile(inst.b);
    set_result(stmt, [&](const Index& index) {
      const Element y = broadcast(b, index);
      if (isa::faults_on_zero(op, b.type.dtype) && y.code == 0) {
        fail("an element is divided by zero");
      }
      return arithmetic_.apply(op, a.type.dtype, broadcast(a, index), y);
    });
  }
  template <isa::UnaryOp op>
  void execute(const isa::Unary<op>& inst, const isa::InstStmt& stmt) {
    const NaiveTile a = tile(inst.a);
    set_result(stmt, [&](const Index& index) {
      return arithmetic_.apply(op, a.type.dtype, at(a, index));
    });
  }
  void execute(const isa::Fma& inst, const isa::InstStmt& stmt) {
    const NaiveTile a = tile(inst.a), b = tile(inst.b), c = tile(inst.c);
    set_result(stmt, [&](const Index& index) {
      return arithmetic_.fma(a.type.dtype, broadcast(a, index), broadcast(b, index),
                             broadcast(c, index));
    });
  }
  void execute(const isa::Where& inst, const isa::InstStmt& stmt) {
    const NaiveTile condition = tile(inst.condition), a = tile(inst.a), b = tile(inst.b);
    set_result(stmt, [&](const Index& index) {
      return arithmetic_.choose({condition.type.dtype, broadcast(condition, index)}, a.type.dtype,
                                broadcast(a, index), broadcast(b, index));
    });
  }
  void execute(const isa::Cast& inst, const isa::InstStmt& stmt) {
    const NaiveTile source = tile(inst.src);
    set_result(stmt, [&](const Index& index) {
      return arithmetic_.cast(source.type.dtype, inst.dtype, at(source, index));
    });
  }

  // --- Other computation ---

  /// Each thread writes its elements as a stream of bits and reads it as the other type.
  void execute(const isa::View& inst, const isa::InstStmt& stmt) {
    const NaiveTile source = tile(inst.src);
    const auto& type = std::get<isa::RegisterType>(kernel_.variable(stmt.results[0]).type);
    const auto count = static_cast<std::size_t>(type.layout.size());
    NaiveTile result{type, std::vector<std::uint64_t>(count)};
    if (launch_.ring != nullptr) result.residues.resize(count);
    const auto locals = static_cast<std::uint64_t>(source.type.layout.num_locals());
    const unsigned from = source.type.dtype.bits, to = type.dtype.bits;
    for (std::int64_t t = 0; t < type.layout.num_threads(); ++t) {
      Bytes stream(locals * from / 8 + 1);
      ResidueMemory residues(stream.size());
      for (std::uint64_t i = 0; i < locals; ++i) {
        const Element element =
            at(source, source.type.layout.element(t, static_cast<std::int64_t>(i)));
        isa::put_bits(stream.data(), i * from, from, element.code);
        if (launch_.ring != nullptr) {
          residues.store(source.type.dtype, i * from, element.residue);
        }
      }
      for (std::int64_t i = 0; i < type.layout.num_locals(); ++i) {
        const auto place =
            static_cast<std::size_t>(isa::ravel(type.layout.element(t, i), type.shape()));
        const Element element =
            read_element(arithmetic_, stream.data(), launch_.ring == nullptr ? nullptr : &residues,
                         type.dtype, static_cast<std::uint64_t>(i) * to);
        result.codes[place] = element.code;
        if (launch_.ring != nullptr) result.residues[place] = element.residue;
      }
    }
    keep(stmt, std::move(result));
  }
  void execute(const isa::ConvertLayout& inst, const isa::InstStmt& stmt) {
    const NaiveTile source = tile(inst.src);
    set_result(stmt, [&](const Index& index) { return at(source, index); });
  }
  void execute(const isa::Dot& inst, const isa::InstStmt& stmt) {
    const NaiveTile a = tile(inst.a), b = tile(inst.b), c = tile(inst.c);
    const isa::DotPlan& plan = info_.dot_plan(stmt);
    const std::int64_t depth = a.type.shape().back();
    set_result(stmt, [&](const Index& index) {
      DotOperands operands{a.type.dtype, b.type.dtype, c.type.dtype, {}, {}, at(c, index).code};
      DotFormula sum(arithmetic_, c.type.dtype, at(c, index));
      Index row = index, column = index;
      for (std::int64_t k = 0; k < depth; ++k) {
        row.back() = k;
        column[column.size() - 2] = k;
        add_product(a.type.dtype, at(a, row), b.type.dtype, at(b, column), operands, sum);
      }
      return sum.result(plan, dot_element(plan, launch_.program.target(), operands));
    });
  }
  /// The next product of a sum: an element of a row and one of a column.
  static void add_product(const isa::DType& a, const Element& x, const isa::DType& b,
                          const Element& y, DotOperands& operands, DotFormula& sum) {
    operands.a.push_back(x.code);
    operands.b.push_back(y.code);
    sum.add({{a, x}, {b, y}});
  }
  void execute(const isa::DotSparse& inst, const isa::InstStmt& stmt) {
    const NaiveTile a = tile(inst.a), places = tile(inst.places), b = tile(inst.b),
                    c = tile(inst.c);
    const isa::DotPlan& plan = info_.dot_plan(stmt);
    const std::int64_t stored = a.type.shape().back();
    set_result(stmt, [&](const Index& index) {
      DotOperands operands{a.type.dtype, b.type.dtype, c.type.dtype, {}, {}, at(c, index).code};
      DotFormula sum(arithmetic_, c.type.dtype, at(c, index));
      Index row = index, column = index;
      std::uint64_t last = 0;
      for (std::int64_t p = 0; p < stored; ++p) {
        row.back() = p;
        const Element element = at(places, row);
        note_data(element, ResidueObserver::Use::place);
        const std::uint64_t place = element.code;
        if (p % 2 == 1 && place <= last) fail("the places of a pair do not ascend");
        last = place;
        column[column.size() - 2] = p / 2 * 4 + static_cast<std::int64_t>(place);
        add_product(a.type.dtype, at(a, row), b.type.dtype, at(b, column), operands, sum);
      }
      return sum.result(plan, dot_element(plan, launch_.program.target(), operands));
    });
  }
  void execute(const isa::DotScaled& inst, const isa::InstStmt& stmt) {
    const NaiveTile a = tile(inst.a), b = tile(inst.b), c = tile(inst.c),
                    a_scales = tile(inst.a_scales), b_scales = tile(inst.b_scales);
    const isa::DotPlan& plan = info_.dot_plan(stmt);
    set_result(stmt, [&](const Index& index) {
      DotOperands operands{a.type.dtype, b.type.dtype, c.type.dtype, {}, {}, at(c, index).code};
      DotFormula sum(arithmetic_, c.type.dtype, at(c, index));
      const auto collect = [&](const NaiveTile& from, bool row, std::vector<std::uint64_t>& codes) {
        std::vector<Element> elements;
        Index place = index;
        std::int64_t& along = row ? place.back() : place[place.size() - 2];
        const Shape& shape = from.type.shape();
        const std::int64_t extent = row ? shape.back() : shape[shape.size() - 2];
        for (along = 0; along < extent; ++along) {
          elements.push_back(at(from, place));
          codes.push_back(elements.back().code);
        }
        return elements;
      };
      const auto x = collect(a, true, operands.a);
      const auto x_scales = collect(a_scales, true, operands.a_scales);
      const auto y = collect(b, false, operands.b);
      const auto y_scales = collect(b_scales, false, operands.b_scales);
      for (std::size_t k = 0; k < x.size(); ++k) {
        const std::size_t group = k * x_scales.size() / x.size();
        sum.add({{a.type.dtype, x[k]},
                 {a_scales.type.dtype, x_scales[group]},
                 {b.type.dtype, y[k]},
                 {b_scales.type.dtype, y_scales[group]}});
      }
      return sum.result(plan, dot_element(plan, launch_.program.target(), operands));
    });
  }
  /// An element of a matrix that a product reads from shared memory.
  Element element_of(isa::VarId var, const std::optional<isa::OffsetList>& offset,
                     const Index& index) {
    const NaiveTensor source = tensor(var);
    const isa::TilePlacement placement =
        isa::place_tile(offset, static_cast<int>(source.extents.size()), 2);
    const Index place = position(origin_of(placement), placement, index);
    if (source.contains(place)) return read(source, place);
    fail("a product reads outside of a shared tensor");
    return 0;
  }
  /// The product completes at once: a program without faults cannot tell.
  void execute(const isa::DotAsync& inst, const isa::InstStmt& stmt) {
    const isa::DotPlan& plan = info_.dot_plan(stmt);
    const isa::MmaShape& shape = *plan.shape;
    const auto* in_registers = std::get_if<isa::RegisterOperand>(&inst.a.value);
    const NaiveTile c = tile(inst.c);
    const auto& b = std::get<isa::SharedType>(kernel_.variable(inst.b.var).type);
    const auto is_set = [&](const std::optional<isa::ScalarOperand>& flag) {
      return flag && value(flag->value).as_bool();
    };
    const auto place = [&](const std::optional<isa::ScalarOperand>& transposed, std::int64_t row,
                           std::int64_t column) {
      return is_set(transposed) ? Index{column, row} : Index{row, column};
    };
    const std::int64_t depth =
        isa::matrix_shape({b, inst.b_offset, is_set(inst.transpose_b)})->front();
    const bool adds = !inst.accumulate || value(inst.accumulate->value).as_bool();
    const bool negates_a = is_set(inst.negate_a), negates_b = is_set(inst.negate_b);
    const auto left = [&](const Index& at) -> Element {
      if (in_registers != nullptr) return this->at(tile(*in_registers), at);
      return element_of(std::get<isa::SharedOperand>(inst.a.value).var, inst.a_offset,
                        place(inst.transpose_a, at[0], at[1]));
    };
    std::vector<std::vector<Element>> rows(static_cast<std::size_t>(c.type.shape()[0])),
        columns(static_cast<std::size_t>(c.type.shape()[1]));
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::size_t m = 0; m < rows.size(); ++m) {
        rows[m].push_back(signed_as(shape.a, left({static_cast<std::int64_t>(m), k}), negates_a));
      }
      for (std::size_t n = 0; n < columns.size(); ++n) {
        const Element y = element_of(inst.b.var, inst.b_offset,
                                     place(inst.transpose_b, k, static_cast<std::int64_t>(n)));
        columns[n].push_back(signed_as(shape.b, y, negates_b));
      }
    }
    set_result(stmt, [&](const Index& index) {
      const auto& row = rows[static_cast<std::size_t>(index[0])];
      const auto& column = columns[static_cast<std::size_t>(index[1])];
      const Element addend = adds ? at(c, index) : Element(0);
      DotOperands operands{shape.a, shape.b, shape.accumulator, {}, {}, addend.code};
      DotFormula sum(arithmetic_, shape.accumulator, addend);
      for (std::size_t k = 0; k < row.size(); ++k) {
        add_product(shape.a, row[k], shape.b, column[k], operands, sum);
      }
      return sum.result(plan, dot_element(plan, launch_.program.target(), operands));
    });
  }
  [[nodiscard]] Element signed_as(const isa::DType& type, const Element& element,
                                  bool negates) const {
    return negates ? arithmetic_.with_other_sign(type, element) : element;
  }
  void execute(const isa::DotAsyncCommitGroup&, const isa::InstStmt&) {}
  void execute(const isa::DotAsyncWaitGroup&, const isa::InstStmt&) {}
  void execute(const isa::Reduce& inst, const isa::InstStmt& stmt) {
    const NaiveTile source = tile(inst.src);
    const auto& type = std::get<isa::RegisterType>(kernel_.variable(stmt.results[0]).type);
    const std::vector<NaiveValue> values =
        reduce_tile(source, inst.op, inst.dims.dims, type.layout);
    std::size_t next = 0;
    std::vector<Residue> formulas;
    if (launch_.ring != nullptr) {
      formulas = reduce_residues(source, inst.op, inst.dims.dims, type, values, arithmetic_);
    }
    set_result(stmt, [&](const Index&) {
      const std::size_t i = next++;
      return formulas.empty() ? Element(values[i].code) : Element(values[i].code, formulas[i]);
    });
    if (stmt.results.size() < 2) return;
    NaiveTile numbers{std::get<isa::RegisterType>(kernel_.variable(stmt.results[1]).type), {}};
    for (std::size_t i = 0; i < values.size(); ++i) {
      Element number = values[i].number;
      if (arithmetic_.is_free() && formulas[i].is_given()) {
        number.residue = arithmetic_.expression(Step::first_place, 0, {formulas[i]});
      }
      numbers.add(number, launch_.ring != nullptr);
    }
    tiles_[stmt.results[1].index] = std::move(numbers);
  }
  void execute(const isa::Scan& inst, const isa::InstStmt& stmt) {
    const bool exclusive = inst.exclusive && value(inst.exclusive->value).as_bool();
    const auto values = scan_tile(tile(inst.src), inst.op, inst.dim.dims.front(), exclusive);
    std::size_t next = 0;
    std::vector<Residue> formulas;
    if (launch_.ring != nullptr) {
      formulas = scan_residues(tile(inst.src), inst.op, inst.dim.dims.front(), exclusive, values,
                               arithmetic_);
    }
    set_result(stmt, [&](const Index&) {
      const std::size_t i = next++;
      return formulas.empty() ? Element(values[i]) : Element(values[i], formulas[i]);
    });
  }
  void execute(const isa::Slice& inst, const isa::InstStmt& stmt) {
    const NaiveTile source = tile(inst.src);
    const auto dim = static_cast<std::size_t>(inst.dim.dims.front());
    const std::int64_t begin = integer(inst.begin.value);
    set_result(stmt, [&](Index index) {
      index[dim] += begin;
      return at(source, index);
    });
  }
  void execute(const isa::Concat& inst, const isa::InstStmt& stmt) {
    const NaiveTile a = tile(inst.a), b = tile(inst.b);
    const auto dim = static_cast<std::size_t>(inst.dim.dims.front());
    set_result(stmt, [&](Index index) {
      if (index[dim] < a.type.shape()[dim]) return at(a, index);
      index[dim] -= a.type.shape()[dim];
      return at(b, index);
    });
  }
  void execute(const isa::Lookup& inst, const isa::InstStmt& stmt) {
    const NaiveTile table = tile(inst.table), indices = tile(inst.index);
    set_result(stmt, [&](const Index& index) -> Element {
      const Element entry = at(indices, index);
      if (entry.code < table.codes.size()) return entry_of(table, indices.type.dtype, entry);
      fail("a table does not have the entry");
      return 0;
    });
  }
  [[nodiscard]] Element entry_of(const NaiveTile& table, const isa::DType& type,
                                 const Element& entry) const {
    const Element found = table.element(static_cast<std::size_t>(entry.code));
    if (!arithmetic_.is_free() || !entry.residue.is_given()) return found;
    std::vector<Element> elements;
    for (std::size_t i = 0; i < table.codes.size(); ++i) elements.push_back(table.element(i));
    std::vector<Operand> operands{{type, entry}};
    for (const Element& element : elements) operands.push_back({table.type.dtype, element});
    return arithmetic_.expression(Step::lookup, 0, found.code, operands);
  }
  void execute(const isa::Iota& inst, const isa::InstStmt& stmt) {
    const auto dim = static_cast<std::size_t>(inst.dim ? inst.dim->dims.front() : 0);
    const std::int64_t start = inst.start ? integer(inst.start->value) : 0;
    set_result(stmt, [&](const Index& index) {
      return (static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(index[dim])) &
             isa::low_mask(inst.dtype.bits);
    });
  }
  void execute(const isa::Philox& inst, const isa::InstStmt& stmt) {
    const NaiveTile counters = tile(inst.counter);
    const auto key = static_cast<std::uint64_t>(integer(inst.key.value));
    const auto stream = static_cast<std::uint64_t>(inst.stream ? integer(inst.stream->value) : 0);
    set_result(stmt, [&](const Index& index) {
      const Index of_counter(index.begin() + 1, index.end());
      const Element counter = at(counters, of_counter);
      const std::uint64_t word = philox_word(counter.code, stream, key, static_cast<int>(index[0]));
      constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;
      const std::uint64_t detail =
          (key * odd + stream) * odd + static_cast<std::uint64_t>(index[0]);
      return arithmetic_.expression(Step::random, detail, word, {{counters.type.dtype, counter}});
    });
  }
  void execute(const isa::AllocateRegister& inst, const isa::InstStmt& stmt) {
    const auto& type = std::get<isa::RegisterType>(kernel_.variable(stmt.results[0]).type);
    std::vector<std::uint64_t> values;
    if (inst.init) {
      for (const isa::Expr& expr : inst.init->values) {
        values.push_back(element(value(expr), type.dtype));
      }
    }
    std::size_t turn = 0;
    set_result(stmt,
               [&](const Index&) { return values.empty() ? 0 : values[turn++ % values.size()]; });
  }

  // --- Memory ---

  /// The tensor that a variable names.
  NaiveTensor tensor(isa::VarId var) {
    if (const auto* type = std::get_if<isa::SharedType>(&kernel_.variable(var).type)) {
      const auto base = static_cast<std::uint64_t>(info_.shared_tile(var).gpu_offset);
      ResidueMemory* residues = launch_.ring == nullptr ? nullptr : &shared_residues_.at(var.index);
      return {&shared_.at(var.index), residues, base,         type->dtype,
              type->shape(),          {},       &type->layout};
    }
    return views_.at(var.index);
  }

  /// Where an element of a tile at an offset lies in a tensor.
  Index position(const std::vector<std::int64_t>& origin, const isa::TilePlacement& placement,
                 const Index& index) {
    Index result = origin;
    for (std::size_t d = 0; d < result.size(); ++d) {
      const int dim = placement.dimensions[d].tile_dim;
      if (dim >= 0) result[d] += index[static_cast<std::size_t>(dim)];
    }
    return result;
  }

  std::vector<std::int64_t> origin_of(const isa::TilePlacement& placement) {
    std::vector<std::int64_t> origin;
    for (const auto& dimension : placement.dimensions) origin.push_back(integer(dimension.offset));
    return origin;
  }

  /// The first bit of an element; nothing after a failure.
  std::optional<std::size_t> bit_of(const NaiveTensor& tensor, const Index& index) {
    const std::int64_t offset = tensor.offset(index);
    const std::int64_t bit = offset * tensor.dtype.bits;
    if (offset < 0 ||
        bit + tensor.dtype.bits > static_cast<std::int64_t>(tensor.bytes->size()) * 8) {
      fail("an element lies outside of its buffer");
      return std::nullopt;
    }
    return static_cast<std::size_t>(bit);
  }

  Element read(const NaiveTensor& tensor, const Index& index) {
    const auto bit = bit_of(tensor, index);
    if (!bit) return 0;
    const Element found =
        read_element(arithmetic_, tensor.bytes->data(), tensor.residues, tensor.dtype, *bit);
    if (tensor.residues != nullptr && !found.residue.is_given() &&
        tensor.residues->has_residue(*bit, tensor.dtype.bits)) {
      note(ResidueObserver::Use::bits);
    }
    return found;
  }
  /// `threads` is how many threads write the element, which only probes count.
  void write(const NaiveTensor& tensor, const Index& index, const Element& element,
             std::int64_t threads = 1) {
    const auto bit = bit_of(tensor, index);
    if (!bit) return;
    put(tensor, *bit, element);
    if (!probe_) return;
    probe_->write(tensor.base, *bit, tensor.dtype.bits, element.code,
                  static_cast<std::uint64_t>(threads));
  }
  static void put(const NaiveTensor& tensor, std::size_t bit, const Element& element) {
    isa::put_bits(tensor.bytes->data(), bit, tensor.dtype.bits, element.code);
    if (tensor.residues != nullptr) tensor.residues->store(tensor.dtype, bit, element.residue);
  }
  /// Combines an element with what is there. A probe has the element: which value is found there is
  /// left to the order of the blocks.
  void combine(const NaiveTensor& tensor, const Index& index, isa::BinaryOp op,
               const Element& element) {
    const auto bit = bit_of(tensor, index);
    if (!bit) return;
    put(tensor, *bit, arithmetic_.apply(op, tensor.dtype, read(tensor, index), element));
    if (probe_) probe_->write(tensor.base, *bit, tensor.dtype.bits, element.code, 1);
  }

  /// Elements outside of a view are zero; outside of a shared tensor there is nothing.
  void load(isa::VarId from, const std::optional<isa::OffsetList>& offset,
            const isa::InstStmt& stmt) {
    const NaiveTensor source = tensor(from);
    const auto& type = std::get<isa::RegisterType>(kernel_.variable(stmt.results[0]).type);
    const isa::TilePlacement placement =
        isa::place_tile(offset, static_cast<int>(source.extents.size()), type.layout.rank());
    const std::vector<std::int64_t> origin = origin_of(placement);
    set_result(stmt, [&](const Index& index) -> Element {
      const Index place = position(origin, placement, index);
      return source.contains(place) ? read(source, place) : Element(0);
    });
  }
  void store(isa::RegisterOperand from, isa::VarId to,
             const std::optional<isa::OffsetList>& offset) {
    const NaiveTensor destination = tensor(to);
    const NaiveTile& source = tile(from);
    const isa::TilePlacement placement = isa::place_tile(
        offset, static_cast<int>(destination.extents.size()), source.type.layout.rank());
    const std::vector<std::int64_t> origin = origin_of(placement);
    const isa::RegisterLayout& layout = source.type.layout;
    const std::int64_t replicas = layout.num_threads() * layout.num_locals() / layout.size();
    for (std::int64_t k = 0; k < layout.size(); ++k) {
      const Index place = position(origin, placement, isa::unravel(k, source.type.shape()));
      if (destination.contains(place)) {
        write(destination, place, source.element(static_cast<std::size_t>(k)), replicas);
      }
    }
  }
  void execute(const isa::LoadGlobal& inst, const isa::InstStmt& stmt) {
    load(inst.src.var, inst.offset, stmt);
  }
  void execute(const isa::LoadShared& inst, const isa::InstStmt& stmt) {
    load(inst.src.var, inst.offset, stmt);
  }
  void execute(const isa::StoreGlobal& inst, const isa::InstStmt&) {
    store(inst.src, inst.dst.var, inst.offset);
  }
  void execute(const isa::StoreShared& inst, const isa::InstStmt&) {
    store(inst.src, inst.dst.var, inst.offset);
  }

  /// Where the element of a tile is to which an index tile gives its place along a dimension.
  struct IndexedPlace {
    std::vector<std::int64_t> origin;
    isa::TilePlacement placement;
    NaiveTile indices;
    std::size_t dim;
  };
  IndexedPlace indexed_place(const NaiveTensor& tensor, int tile_rank,
                             const isa::RegisterOperand& index, const isa::DimList& dim,
                             const std::optional<isa::OffsetList>& offset) {
    const auto rank = static_cast<int>(tensor.extents.size());
    const isa::TilePlacement placement = isa::place_tile(offset, rank, tile_rank, dim.dims.front());
    return {origin_of(placement), placement, tile(index),
            static_cast<std::size_t>(dim.dims.front())};
  }
  Index element_place(const IndexedPlace& indexed, const Index& index) {
    Index place = position(indexed.origin, indexed.placement, index);
    const isa::DType& type = indexed.indices.type.dtype;
    const Element element = broadcast(indexed.indices, index);
    note_data(element, ResidueObserver::Use::place);
    std::uint64_t code = element.code;
    if (type.is_signed_int() && (code >> (type.bits - 1) & 1) != 0) {
      code |= ~isa::low_mask(type.bits);
    }
    place[indexed.dim] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(place[indexed.dim]) + code);
    return place;
  }
  static isa::VarId variable_of(const isa::TensorOperand& operand) {
    return std::visit([](const auto& each) { return each.var; }, operand.value);
  }

  void execute(const isa::Gather& inst, const isa::InstStmt& stmt) {
    const NaiveTensor source = tensor(variable_of(inst.src));
    const auto& type = std::get<isa::RegisterType>(kernel_.variable(stmt.results[0]).type);
    const IndexedPlace indexed =
        indexed_place(source, type.layout.rank(), inst.index, inst.dim, inst.offset);
    set_result(stmt, [&](const Index& index) -> Element {
      const Index place = element_place(indexed, index);
      if (source.contains(place)) return read(source, place);
      if (std::holds_alternative<isa::SharedOperand>(inst.src.value)) {
        fail("an index lies outside of a shared tensor");
      }
      return 0;
    });
  }
  void execute(const isa::Scatter& inst, const isa::InstStmt&) {
    const NaiveTensor destination = tensor(variable_of(inst.dst));
    const NaiveTile source = tile(inst.src);
    const isa::RegisterLayout& layout = source.type.layout;
    const IndexedPlace indexed =
        indexed_place(destination, layout.rank(), inst.index, inst.dim, inst.offset);
    // In the order of each thread's places, of which the last one stays; each element once.
    const std::int64_t replicas = layout.num_threads() * layout.num_locals() / layout.size();
    for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
      for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
        const Index index = layout.element(t, i);
        if (layout.first_thread_of(index) != t) continue;
        const Index place = element_place(indexed, index);
        if (!destination.contains(place)) continue;
        if (inst.op) {
          combine(destination, place, isa::combination(*inst.op), at(source, index));
        } else {
          write(destination, place, at(source, index), replicas);
        }
      }
    }
  }

  /// At once: a program that waits as it must cannot tell.
  void execute(const isa::CopyAsync& inst, const isa::InstStmt&) {
    const NaiveTensor source = tensor(inst.src.var), destination = tensor(inst.dst.var);
    const auto rank = static_cast<int>(destination.extents.size());
    int tile_rank = rank;
    if (inst.shared_offset) {
      tile_rank = static_cast<int>(
          std::count_if(inst.shared_offset->entries.begin(), inst.shared_offset->entries.end(),
                        [](const isa::OffsetList::Entry& entry) { return entry.tile; }));
    }
    const isa::TilePlacement to = isa::place_tile(inst.shared_offset, rank, tile_rank);
    std::optional<int> dim;
    if (inst.dim) dim = inst.dim->dims.front();
    const isa::TilePlacement from =
        isa::place_tile(inst.offset, static_cast<int>(source.extents.size()), tile_rank, dim);
    const std::vector<std::int64_t> to_origin = origin_of(to), from_origin = origin_of(from);
    Shape tile_extents;
    for (std::size_t d = 0; d < destination.extents.size(); ++d) {
      if (to.dimensions[d].tile_dim >= 0) tile_extents.push_back(destination.extents[d]);
    }
    for (std::int64_t k = 0; k < isa::element_count(tile_extents); ++k) {
      const Index index = isa::unravel(k, tile_extents);
      const Index place =
          inst.index
              ? element_place(
                    {from_origin, from, tile(*inst.index), static_cast<std::size_t>(*dim)}, index)
              : position(from_origin, from, index);
      write(destination, position(to_origin, to, index),
            source.contains(place) ? read(source, place) : Element(0));
    }
  }
  void execute(const isa::CopyAsyncTensorGlobalToShared& inst, const isa::InstStmt& stmt) {
    constexpr std::uint64_t nan_words = 0x7ff77ff77ff77ff7;
    const isa::TensorCopy copy = *isa::tensor_copy(stmt.inst);
    const int bits = tensor(copy.tensor).dtype.bits;
    const std::int64_t elements = move_box(copy, [&](const NaiveTensor& view, const Index& there,
                                                     const NaiveTensor& shared, const Index& here) {
      const std::uint64_t outside = copy.fill_nan ? nan_words & isa::low_mask(bits) : 0;
      write(shared, here, view.contains(there) ? read(view, there) : Element(outside));
    });
    NaiveBarrier& barrier = stage_of(inst.barrier, inst.stage);
    barrier.bytes -= elements * bits / 8;
    end_phase_if_complete(barrier);
  }
  void execute(const isa::CopyAsyncTensorSharedToGlobal&, const isa::InstStmt& stmt) {
    move_box(*isa::tensor_copy(stmt.inst), [&](const NaiveTensor& view, const Index& there,
                                               const NaiveTensor& shared, const Index& here) {
      if (view.contains(there)) write(view, there, read(shared, here));
    });
  }
  void execute(const isa::CopyAsyncTensorCommitGroup&, const isa::InstStmt&) {}
  void execute(const isa::CopyAsyncTensorWaitGroup&, const isa::InstStmt&) {}
  /// Calls f(view, its index, shared tensor, its index) for every element of a box; their number.
  template <class F>
  std::int64_t move_box(const isa::TensorCopy& copy, F&& f) {
    const NaiveTensor view = tensor(copy.view), shared = tensor(copy.tensor);
    const auto rank = static_cast<int>(shared.extents.size());
    const auto& type = std::get<isa::SharedType>(kernel_.variable(copy.tensor).type);
    const Shape box = isa::tile_shape(copy.offset, type);
    const isa::TilePlacement to = isa::place_tile(copy.offset, rank, static_cast<int>(box.size()));
    const isa::TilePlacement from = isa::place_tile(
        copy.view_offset, static_cast<int>(view.extents.size()), static_cast<int>(box.size()));
    const std::vector<std::int64_t> to_origin = origin_of(to), from_origin = origin_of(from);
    const std::int64_t elements = isa::element_count(box);
    for (std::int64_t k = 0; k < elements; ++k) {
      const Index index = isa::unravel(k, box);
      f(view, position(from_origin, from, index), shared, position(to_origin, to, index));
    }
    return elements;
  }
  void execute(const isa::CopyAsyncCommitGroup&, const isa::InstStmt&) {}
  void execute(const isa::CopyAsyncWaitGroup&, const isa::InstStmt&) {}
  void execute(const isa::Synchronize&, const isa::InstStmt&) {}

  void make_view(isa::VarId var, const NaiveBuffer& buffer) {
    const auto& type = std::get<isa::GlobalType>(kernel_.variable(var).type);
    const std::uint64_t base = isa::probe_address(buffer.number, 0);
    NaiveTensor view{
        buffer.bytes, buffer.residues, base, type.dtype, {}, {}, type.layout.memory_layout()};
    for (const isa::Expr& extent : type.extents) view.extents.push_back(integer(extent));
    if (const auto* strides = type.layout.strides()) {
      for (const isa::Expr& stride : *strides) view.strides.push_back(integer(stride));
    }
    views_[var.index] = std::move(view);
  }
  void execute(const isa::ViewGlobal& inst, const isa::InstStmt& stmt) {
    make_view(stmt.results[0], launch_.pointers.at(inst.ptr.var.index));
  }
  void execute(const isa::AllocateGlobal&, const isa::InstStmt& stmt) {
    make_view(stmt.results[0], launch_.workspaces.at(stmt.results[0].index));
  }
  void execute(const isa::AllocateShared&, const isa::InstStmt& stmt) {
    const isa::VarId var = stmt.results[0];
    const auto bytes = static_cast<std::size_t>(info_.shared_tile(var).bytes);
    shared_[var.index].assign(bytes, 0);
    if (launch_.ring != nullptr) shared_residues_.insert_or_assign(var.index, ResidueMemory(bytes));
  }

  // --- Barriers between groups of warps ---

  void execute(const isa::AllocateBarrier&, const isa::InstStmt& stmt) {
    const isa::KernelInfo::Barrier& made = info_.barrier(stmt.results[0]);
    for (std::int64_t i = 0; i < made.stages; ++i) {
      barriers_[made.first + i] = {made.arrivals, made.arrivals, 0, 0};
    }
  }
  NaiveBarrier& stage_of(isa::BarrierOperand barrier,
                         const std::optional<isa::ScalarOperand>& stage) {
    const std::int64_t first = info_.barrier(barrier.var).first;
    return barriers_.at(first + (stage ? integer(stage->value) : 0));
  }
  /// Threads arrive one after another.
  void arrive(NaiveBarrier& barrier, std::int64_t threads, std::int64_t bytes) {
    for (std::int64_t t = 0; t < threads; ++t) {
      --barrier.pending;
      barrier.bytes += bytes;
      end_phase_if_complete(barrier);
    }
  }
  static void end_phase_if_complete(NaiveBarrier& barrier) {
    if (barrier.pending > 0 || barrier.bytes != 0) return;
    barrier.pending = barrier.arrivals;
    ++barrier.phase;
  }
  void execute(const isa::Arrive& inst, const isa::InstStmt& stmt) {
    arrive(stage_of(inst.barrier, inst.stage), info_.threads_at(stmt.id), 0);
  }
  void execute(const isa::ArriveExpect& inst, const isa::InstStmt& stmt) {
    arrive(stage_of(inst.barrier, inst.stage), info_.threads_at(stmt.id),
           integer(inst.bytes.value));
  }
  void execute(const isa::WaitBarrier& inst, const isa::InstStmt&) {
    const NaiveBarrier& barrier = stage_of(inst.barrier, inst.stage);
    const std::uint64_t parity = value(inst.parity.value).bits & 1U;
    wait_until([&barrier, parity] { return (barrier.phase & 1U) != parity; });
  }
  void execute(const isa::FenceProxy&, const isa::InstStmt&) {}
  void execute(const isa::SyncNamedBarrier& inst, const isa::InstStmt& stmt) {
    come_to(inst, stmt, true);
  }
  void execute(const isa::ArriveNamedBarrier& inst, const isa::InstStmt& stmt) {
    come_to(inst, stmt, false);
  }
  template <class Inst>
  void come_to(const Inst& inst, const isa::InstStmt& stmt, bool waits) {
    NaiveBarrier& barrier = named_[integer(inst.id.value)];
    if (barrier.pending == 0) barrier.arrivals = barrier.pending = 32 * integer(inst.warps.value);
    const std::uint64_t phase = barrier.phase;
    arrive(barrier, info_.threads_at(stmt.id), 0);
    if (waits) wait_until([&barrier, phase] { return barrier.phase != phase; });
  }
  // Blocks run one after another here, so that a cluster has one.
  void check_cluster() {
    if (kernel_.cluster_blocks() > 1) fail("the naive engine has no clusters of several blocks");
  }
  void execute(const isa::BlockRank&, const isa::InstStmt& stmt) {
    check_cluster();
    scalars_[stmt.results[0].index] = isa::Scalar::i32(0);
  }
  void execute(const isa::SynchronizeCluster&, const isa::InstStmt&) { check_cluster(); }
  void execute(const isa::ArriveCluster&, const isa::InstStmt&) { check_cluster(); }
  void execute(const isa::WaitCluster&, const isa::InstStmt&) { check_cluster(); }
  void wait_until(std::function<bool()> holds) {
    if (!holds() && !turns_.wait(std::move(holds))) fail("groups of warps wait for one another");
  }

  // --- Order between blocks, indices, prints ---

  Index semaphore_index(const std::optional<isa::OffsetList>& offset, const NaiveTensor& view) {
    return origin_of(isa::place_tile(offset, static_cast<int>(view.extents.size()), 0));
  }
  std::uint64_t semaphore_code(const isa::Expr& expr) { return value(expr).bits & 0xffffffff; }

  void execute(const isa::LockSemaphore& inst, const isa::InstStmt&) {
    const NaiveTensor view = tensor(inst.view.var);
    if (read(view, semaphore_index(inst.offset, view)).code != semaphore_code(inst.value.value)) {
      fail("a block waits for a later block, which the naive engine does not do");
    }
  }
  void execute(const isa::ReleaseSemaphore& inst, const isa::InstStmt&) {
    const NaiveTensor view = tensor(inst.view.var);
    write(view, semaphore_index(inst.offset, view), semaphore_code(inst.value.value));
  }
  /// An atomic instruction: what `change(view, index, before)` does to the element, and what it
  /// was.
  template <class Inst, class Change>
  void update_element(const Inst& inst, const isa::InstStmt& stmt, Change change) {
    const NaiveTensor view = tensor(inst.view.var);
    const Index index = semaphore_index(inst.offset, view);
    const Element found = read(view, index);
    if (arithmetic_.is_free()) note(ResidueObserver::Use::turn);
    const std::uint64_t before = found.code;
    change(view, index, before);
    const bool is_signed = view.dtype == isa::i32;
    scalars_[stmt.results[0].index] = is_signed
                                          ? isa::Scalar::i32(static_cast<std::int32_t>(before))
                                          : isa::Scalar{isa::ScalarKind::u32, before};
  }
  void execute(const isa::AtomicAdd& inst, const isa::InstStmt& stmt) {
    update_element(inst, stmt, [&](const NaiveTensor& view, const Index& index, std::uint64_t) {
      combine(view, index, isa::BinaryOp::add, semaphore_code(inst.value.value));
    });
  }
  void execute(const isa::AtomicCombine& inst, const isa::InstStmt& stmt) {
    update_element(inst, stmt, [&](const NaiveTensor& view, const Index& index, std::uint64_t) {
      combine(view, index, isa::combination(inst.op), semaphore_code(inst.value.value));
    });
  }
  void execute(const isa::AtomicExchange& inst, const isa::InstStmt& stmt) {
    update_element(inst, stmt, [&](const NaiveTensor& view, const Index& index, std::uint64_t) {
      write(view, index, semaphore_code(inst.value.value));
    });
  }
  void execute(const isa::AtomicCompareExchange& inst, const isa::InstStmt& stmt) {
    update_element(inst, stmt,
                   [&](const NaiveTensor& view, const Index& index, std::uint64_t before) {
                     // A probe has the new value, whether it is stored or not.
                     write(view, index, semaphore_code(inst.value.value));
                     const bool is_equal = before == semaphore_code(inst.compare.value);
                     if (const auto bit = bit_of(view, index); bit && !is_equal) {
                       put(view, *bit, before);
                     }
                   });
  }
  void execute(const isa::LoadScalar& inst, const isa::InstStmt& stmt) {
    const isa::VarId result = stmt.results[0];
    const auto kind = std::get<isa::ScalarType>(kernel_.variable(result).type).kind;
    Element element = 0;
    isa::DType type;
    if (const auto* src = std::get_if<isa::RegisterOperand>(&inst.src.value)) {
      element = tile(*src).element(0);
      type = tile(*src).type.dtype;
    } else {
      isa::VarId var;
      std::visit([&](const auto& operand) { var = operand.var; }, inst.src.value);
      const NaiveTensor from = tensor(var);
      const Index index = semaphore_index(inst.offset, from);
      if (!from.contains(index)) return fail("a scalar lies outside of its tensor");
      element = read(from, index);
      type = from.dtype;
    }
    note_data(element, ResidueObserver::Use::scalar);
    std::uint64_t code = element.code;
    const bool negative = type.is_signed_int() && (code >> (type.bits - 1) & 1) != 0;
    if (negative) code |= ~isa::low_mask(type.bits);
    scalars_[result.index] = {kind, code};
  }
  void execute(const isa::Exit&, const isa::InstStmt&) {}
  void execute(const isa::BlockIndices&, const isa::InstStmt& stmt) {
    for (std::size_t d = 0; d < stmt.results.size(); ++d) {
      scalars_[stmt.results[d].index] = isa::Scalar::i32(static_cast<std::int32_t>(block_[d]));
    }
  }
  void execute(const isa::Print& inst, const isa::InstStmt& stmt) {
    const std::uint32_t number = info_.print_site(stmt);
    const isa::PrintSite& site = info_.prints[number];
    std::uint8_t* to = prints_.add(number, site);
    if (to == nullptr) return;
    const auto put = [&](std::uint64_t code) {
      for (std::size_t i = 0; i < site.element_bytes; ++i) {
        *to++ = static_cast<std::uint8_t>(code >> 8 * i);
      }
    };
    if (const auto* scalar = std::get_if<isa::ScalarOperand>(&inst.value.value)) {
      return put(value(scalar->value).bits);
    }
    const NaiveTile& shown = tile(std::get<isa::RegisterOperand>(inst.value.value));
    for (std::int64_t k = 0; k < isa::element_count(site.shown); ++k) {
      Index index = isa::unravel(k, site.shown);
      for (std::size_t d = 0; d < index.size(); ++d) index[d] = site.tile_index(d, index[d]);
      put(at(shown, index).code);
    }
  }

  void execute(const isa::Assert& inst, const isa::InstStmt&) {
    bool holds = true;
    if (const auto* scalar = std::get_if<isa::ScalarOperand>(&inst.condition.value)) {
      holds = value(scalar->value).as_bool();
    } else {
      const auto& codes = tile(std::get<isa::RegisterOperand>(inst.condition.value)).codes;
      holds = std::all_of(codes.begin(), codes.end(), [](std::uint64_t code) { return code != 0; });
    }
    if (!holds) fail("an assertion failed");
  }
  void execute(const isa::Prefetch& inst, const isa::InstStmt&) {
    if (!inst.offset) return;
    for (const auto& entry : inst.offset->entries) static_cast<void>(value(entry.value));
  }

  NaiveLaunch& launch_;
  const isa::Kernel& kernel_;
  const isa::KernelInfo& info_;
  std::array<std::int64_t, 3> block_;
  isa::PrintRecords& prints_;
  ElementArithmetic arithmetic_;
  std::map<std::int32_t, isa::Scalar> scalars_;
  std::map<std::int32_t, NaiveTile> tiles_;
  std::map<std::int32_t, NaiveTensor> views_;
  std::map<std::int32_t, Bytes> shared_;
  std::map<std::int32_t, ResidueMemory> shared_residues_;
  std::optional<NaiveProbe> probe_;
  std::optional<std::string> trouble_;
  isa::StmtId current_;
  NaiveTurns turns_;                               ///< turns of the groups of warps
  std::map<std::int64_t, NaiveBarrier> barriers_;  ///< barriers by stage
  std::map<std::int64_t, NaiveBarrier> named_;
};

}  // namespace

std::optional<std::string> run_block(NaiveLaunch& launch, const std::array<std::int64_t, 3>& block,
                                     isa::PrintRecords& prints) {
  return NaiveBlock(launch, block, prints).run();
}

}  // namespace tilevm::vm::naive
