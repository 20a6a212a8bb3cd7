// Dot of bipolar integers by instructions on other integers.
//
// With a = sa * A + oa and b = sb * B + ob (isa/dot/dot.h, OperandForm), where A and B are sums of
// planes with weights 2^p:
//   sum a b = sa sb * sum A B + sa ob * sum A + oa sb * sum B + k oa ob
// The instructions give sum A B plane by plane, sum A against ones and sum B against ones, each
// from zero; everything is modulo 2^32. Where instructions count XORs, no other sums are needed:
// with ca = 2^na - 1 and cb = 2^nb - 1
//   sum a b = k ca cb - 2 sum over p and q of 2^(p + q) (XOR and count of planes p and q)
//
// All of this is linear in what is counted. So a loop may add up the counts of its products, those
// of each weight 2^(p + q) or 2^p in registers of their own, which the instructions themselves add
// to; the result is made after the loop (backend/select/deferred_sums.cc).
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_dot.h"
#include "backend/ptx/emit_mma.h"

namespace tilevm::backend {
namespace {

/// An operand as registers of the instruction: `array`[(fragment * registers + r) * planes + p].
struct PlaneOperand {
  std::string array;
  MmaRegisters registers;
  isa::OperandForm form;

  [[nodiscard]] std::string list(std::int32_t fragment, int plane) const {
    std::string text;
    for (int r = 0; r < registers.count; ++r) {
      text += fmt::format("{}{}[{}]", r > 0 ? ", " : "", array,
                          (fragment * registers.count + r) * form.planes + plane);
    }
    return text;
  }
  /// All planes one: the other operand's sum.
  [[nodiscard]] std::string ones(std::string_view word) const {
    std::string text;
    for (int r = 0; r < registers.count; ++r) text += (r > 0 ? ", " : "") + std::string(word);
    return text;
  }
};

/// Counts of one kind, by weight: registers `array`[(index * weights + w) * c registers + r].
struct Counts {
  std::string array;
  int weights = 1;
};

class BipolarEmission {
 public:
  BipolarEmission(const isa::InstStmt& stmt, const isa::DotPlan& plan, KernelEmission& kernel)
      : stmt_(stmt),
        inst_(*std::get_if<isa::Dot>(&stmt.inst)),
        plan_(plan),
        kernel_(kernel),
        function_(kernel.mma_function(*plan.shape)),
        a_{"a_", mma_registers(plan.shape->a, plan.shape->a_layout), plan.a_form},
        b_{"b_", mma_registers(plan.shape->b, plan.shape->b_layout), plan.b_form},
        c_count_(mma_registers(plan.shape->accumulator, plan.shape->c_layout).count) {}

  void run(const std::string& target) {
    prepare(a_, inst_.a.var, plan_.a);
    prepare(b_, inst_.b.var, plan_.b);
    group_steps();
    if (has_rows()) sum_rows();
    if (has_columns()) sum_columns();
    for (std::size_t i = 0; i < plan_.c.size(); ++i) multiply(i, target);
  }

  /// Declares the counts of a loop's products.
  void declare_counts() {
    group_steps();
    declare(sums(), plan_.c.size());
    if (has_rows()) declare(rows(), rows_.size());
    if (has_columns()) declare(columns(), columns_.size());
    kernel_.out.line(fmt::format("tv::u32 {} = 0;", executions()));
  }

  /// Adds one product to the counts.
  void count() {
    prepare(a_, inst_.a.var, plan_.a);
    prepare(b_, inst_.b.var, plan_.b);
    group_steps();
    std::size_t counted_rows = 0, counted_columns = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Steps& steps = steps_[i];
      const std::size_t row = rows_.at(steps.front().a), column = columns_.at(steps.front().b);
      const bool new_row = has_rows() && row == counted_rows,
                 new_column = has_columns() && column == counted_columns;
      counted_rows += new_row ? 1 : 0;
      counted_columns += new_column ? 1 : 0;
      for (const auto& step : steps) {
        for (int p = 0; p < a_.form.planes && new_row; ++p) {
          add(rows(), row, p, a_.list(step.a, p), b_.ones(one_word()));
        }
        for (int q = 0; q < b_.form.planes && new_column; ++q) {
          add(columns(), column, q, a_.ones(one_word()), b_.list(step.b, q));
        }
        for (int p = 0; p < a_.form.planes; ++p) {
          for (int q = 0; q < b_.form.planes; ++q) {
            add(sums(), i, p + q, a_.list(step.a, p), b_.list(step.b, q));
          }
        }
      }
    }
    kernel_.out.line(fmt::format("{} += 1;", executions()));
  }

  /// Adds what the counts make together to the accumulator.
  void use_counts() {
    group_steps();
    const std::string& target = kernel_.name(inst_.c.var);
    for (std::size_t i = 0; i < plan_.c.size(); ++i) {
      for (int r = 0; r < c_count_; ++r) {
        const auto place = plan_.c[i][static_cast<std::size_t>(r)];
        const Steps& steps = steps_[i];
        kernel_.out.line(fmt::format(
            "{}[{}] += {};", target, place,
            total({weighted(sums(), i, r),
                   has_rows() ? weighted(rows(), rows_.at(steps.front().a), r) : "",
                   has_columns() ? weighted(columns(), columns_.at(steps.front().b), r) : "",
                   executions() + " * "},
                  steps)));
      }
    }
  }

 private:
  using Steps = std::vector<isa::DotPlan::Step>;

  [[nodiscard]] bool has_rows() const { return plan_.b_form.offset != 0; }
  [[nodiscard]] bool has_columns() const { return plan_.a_form.offset != 0; }

  // The counts of a loop. Loops may have several products, so their names have a number.
  [[nodiscard]] Counts sums() const {
    return {fmt::format("dot{}_sums", stmt_.id.index), a_.form.planes + b_.form.planes - 1};
  }
  [[nodiscard]] Counts rows() const {
    return {fmt::format("dot{}_rows", stmt_.id.index), a_.form.planes};
  }
  [[nodiscard]] Counts columns() const {
    return {fmt::format("dot{}_columns", stmt_.id.index), b_.form.planes};
  }
  [[nodiscard]] std::string executions() const {
    return fmt::format("dot{}_executions", stmt_.id.index);
  }

  void declare(const Counts& counts, std::size_t size) {
    kernel_.out.line(fmt::format("tv::u32 {}[{}] = {{}};", counts.array,
                                 size * static_cast<std::size_t>(counts.weights * c_count_)));
  }
  void add(const Counts& counts, std::size_t index, int weight, const std::string& a,
           const std::string& b) {
    const std::size_t at =
        index * static_cast<std::size_t>(counts.weights) + static_cast<std::size_t>(weight);
    kernel_.out.line(fmt::format("{}({}, {}, {});", function_, registers(counts.array, at), a, b));
  }
  /// "(x[4] * 2 + x[0])": the sum of all weights of register r.
  [[nodiscard]] std::string weighted(const Counts& counts, std::size_t index, int r) const {
    std::string text;
    for (int w = counts.weights - 1; w >= 0; --w) {
      const std::size_t at =
          (index * static_cast<std::size_t>(counts.weights) + static_cast<std::size_t>(w)) *
              static_cast<std::size_t>(c_count_) +
          static_cast<std::size_t>(r);
      const std::string element = fmt::format("{}[{}]", counts.array, at);
      text = text.empty() ? element : fmt::format("({} * 2 + {})", text, element);
    }
    return text;
  }

  /// Fills the registers of an operand.
  void prepare(const PlaneOperand& operand, isa::VarId tile,
               const std::vector<isa::Fragment>& fragments) {
    const auto registers = fragments.size() * static_cast<std::size_t>(operand.registers.count);
    const auto planes = static_cast<std::size_t>(operand.form.planes);
    const auto elements = static_cast<std::size_t>(operand.registers.elements);
    kernel_.out.plain(fmt::format("tv::u32 {}[{}];", operand.array, registers * planes));
    std::size_t next = 0;
    for (const isa::Fragment& fragment : fragments) {
      for (std::size_t e = 0; e < fragment.size(); e += elements) {
        const std::span places = std::span(fragment).subspan(e, elements);
        if (plan_.shape->a == isa::u1) {
          prepare_planes(operand, tile, places, next);
        } else {
          prepare_bytes(operand, tile, places, next);
        }
        next += planes;
      }
    }
  }

  void prepare_bytes(const PlaneOperand& operand, isa::VarId tile,
                     std::span<const std::int32_t> places, std::size_t at) {
    kernel_.out.line(fmt::format("{}[{}] = tv::bipolar_bytes<{}>({}, {});", operand.array, at,
                                 bits_of(tile), kernel_.name(tile), fmt::join(places, ", ")));
  }

  void prepare_planes(const PlaneOperand& operand, isa::VarId tile,
                      std::span<const std::int32_t> places, std::size_t at) {
    bool whole = places[0] % 32 == 0;
    for (std::size_t j = 0; j < places.size(); ++j) {
      whole = whole && places[j] == places[0] + static_cast<std::int32_t>(j);
    }
    const int bits = bits_of(tile);
    std::string words = fmt::format("{} + {}", kernel_.name(tile), places[0] / 32 * bits);
    if (!whole) {
      words = fmt::format("{}{}_", operand.array, at);
      kernel_.out.plain(
          fmt::format("constexpr int {}at_[32] = {{{}}};", words, fmt::join(places, ", ")));
      kernel_.out.plain(fmt::format("tv::u32 {}[{}] = {{}};", words, bits));
      kernel_.out.line(fmt::format("tv::gather_codes<{}>({}, {}, {}at_);", bits, words,
                                   kernel_.name(tile), words));
    }
    for (int p = 0; p < operand.form.planes; ++p) {
      kernel_.out.line(fmt::format("{}[{}] = tv::plane<{}>({}, {});", operand.array,
                                   at + static_cast<std::size_t>(p), bits, words, p));
    }
  }

  [[nodiscard]] int bits_of(isa::VarId tile) const {
    return kernel_.type<isa::RegisterType>(tile).dtype.bits;
  }

  /// The steps of each c fragment, and which of them share all of a or of b.
  void group_steps() {
    steps_.resize(plan_.c.size());
    for (const auto& step : plan_.steps) steps_[static_cast<std::size_t>(step.c)].push_back(step);
    for (const Steps& steps : steps_) {
      rows_.try_emplace(steps.front().a, rows_.size());
      columns_.try_emplace(steps.front().b, columns_.size());
    }
  }

  /// "rows_[4], rows_[5], ..": the registers of one sum.
  [[nodiscard]] std::string registers(std::string_view array, std::size_t index) const {
    std::string text;
    for (int r = 0; r < c_count_; ++r) {
      text += fmt::format("{}{}[{}]", r > 0 ? ", " : "", array,
                          index * static_cast<std::size_t>(c_count_) + static_cast<std::size_t>(r));
    }
    return text;
  }

  void twice(std::string_view array, std::size_t index) {
    kernel_.out.line(fmt::format("tv::twice<{}>({} + {});", c_count_, array,
                                 index * static_cast<std::size_t>(c_count_)));
  }

  [[nodiscard]] std::string_view one_word() const {
    return plan_.shape->a == isa::u1 ? "0xffffffffu" : "0x01010101u";
  }

  void sum_rows() {
    kernel_.out.line(fmt::format("tv::u32 rows_[{}] = {{}};",
                                 rows_.size() * static_cast<std::size_t>(c_count_)));
    for (const Steps& steps : steps_) {
      const std::size_t row = rows_.at(steps.front().a);
      if (row != summed_rows_) continue;
      ++summed_rows_;
      for (int p = a_.form.planes - 1; p >= 0; --p) {
        if (p < a_.form.planes - 1) twice("rows_", row);
        for (const auto& step : steps) {
          kernel_.out.line(fmt::format("{}({}, {}, {});", function_, registers("rows_", row),
                                       a_.list(step.a, p), b_.ones(one_word())));
        }
      }
    }
  }

  void sum_columns() {
    kernel_.out.line(fmt::format("tv::u32 columns_[{}] = {{}};",
                                 columns_.size() * static_cast<std::size_t>(c_count_)));
    for (const Steps& steps : steps_) {
      const std::size_t column = columns_.at(steps.front().b);
      if (column != summed_columns_) continue;
      ++summed_columns_;
      for (int p = b_.form.planes - 1; p >= 0; --p) {
        if (p < b_.form.planes - 1) twice("columns_", column);
        for (const auto& step : steps) {
          kernel_.out.line(fmt::format("{}({}, {}, {});", function_, registers("columns_", column),
                                       a_.ones(one_word()), b_.list(step.b, p)));
        }
      }
    }
  }

  /// One fragment of c: the planes by falling weight, then everything together.
  void multiply(std::size_t fragment, const std::string& target) {
    const Steps& steps = steps_[fragment];
    const int top = a_.form.planes + b_.form.planes - 2;
    kernel_.out.open_plain();
    kernel_.out.line(fmt::format("tv::u32 sum_[{}] = {{}};", c_count_));
    for (int weight = top; weight >= 0; --weight) {
      if (weight < top) twice("sum_", 0);
      for (int p = 0; p <= weight; ++p) {
        if (p >= a_.form.planes || weight - p >= b_.form.planes) continue;
        for (const auto& step : steps) {
          kernel_.out.line(fmt::format("{}({}, {}, {});", function_, registers("sum_", 0),
                                       a_.list(step.a, p), b_.list(step.b, weight - p)));
        }
      }
    }
    for (int r = 0; r < c_count_; ++r) {
      const auto place = plan_.c[fragment][static_cast<std::size_t>(r)];
      kernel_.out.line(fmt::format("{}[{}] = {}[{}] + {};", target, place,
                                   kernel_.name(inst_.c.var), place,
                                   total(parts(steps, r), steps)));
    }
    kernel_.out.close();
  }

  /// What an element of the result is made of, as text.
  struct Parts {
    std::string sum, row, column;
    std::string times{};  ///< "x * " of what belongs to one execution
  };

  [[nodiscard]] Parts parts(const Steps& steps, int r) const {
    const auto part = [&](std::string_view array, std::size_t index) {
      return fmt::format("{}[{}]", array,
                         index * static_cast<std::size_t>(c_count_) + static_cast<std::size_t>(r));
    };
    return {part("sum_", 0), has_rows() ? part("rows_", rows_.at(steps.front().a)) : "",
            has_columns() ? part("columns_", columns_.at(steps.front().b)) : ""};
  }

  /// The sum of a b for one element, from its parts.
  [[nodiscard]] std::string total(const Parts& parts, const Steps& steps) const {
    const auto coefficient = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    if (plan_.shape->exclusive_or) {
      const std::int64_t all = plan_.shape->k * static_cast<std::int64_t>(steps.size()) *
                               ((1 << a_.form.planes) - 1) * ((1 << b_.form.planes) - 1);
      return fmt::format("{}{}u - 2u * {}", parts.times, coefficient(all), parts.sum);
    }
    const std::int64_t sa = a_.form.scale, oa = a_.form.offset, sb = b_.form.scale,
                       ob = b_.form.offset;
    const std::int64_t k = plan_.shape->k * static_cast<std::int64_t>(steps.size());
    std::string text = fmt::format("{}u * {}", coefficient(sa * sb), parts.sum);
    const auto add = [&](const std::string& part, std::int64_t factor) {
      text += fmt::format(" + {}u * {}", coefficient(factor), part);
    };
    if (ob != 0) add(parts.row, sa * ob);
    if (oa != 0) add(parts.column, oa * sb);
    if (oa * ob != 0) text += fmt::format(" + {}{}u", parts.times, coefficient(k * oa * ob));
    return text;
  }

  const isa::InstStmt& stmt_;
  const isa::Dot& inst_;
  const isa::DotPlan& plan_;
  KernelEmission& kernel_;
  std::string function_;
  PlaneOperand a_, b_;
  int c_count_;
  std::vector<Steps> steps_;                            // by c fragment
  std::map<std::int32_t, std::size_t> rows_, columns_;  // by the first fragment of a, of b
  std::size_t summed_rows_ = 0, summed_columns_ = 0;
};

BipolarEmission emission_of(const isa::InstStmt& stmt, KernelEmission& kernel) {
  return {stmt, kernel.info().dot_plan(stmt), kernel};
}

}  // namespace

void begin_counts(const isa::InstStmt& stmt, KernelEmission& kernel) {
  emission_of(stmt, kernel).declare_counts();
}

void end_counts(const isa::InstStmt& stmt, KernelEmission& kernel) {
  emission_of(stmt, kernel).use_counts();
}

template <>
void emit_form(const BipolarDot& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto write = [&](auto&& f) {
    kernel.out.open_plain();
    f(BipolarEmission(stmt, *form.dot.plan, kernel));
    kernel.out.close();
  };
  if (form.after.valid()) {
    return write([](BipolarEmission emission) { emission.count(); });
  }
  emit_dot(form.dot, stmt, kernel, [&](const std::string& target) {
    write([&](BipolarEmission emission) { emission.run(target); });
  });
}

}  // namespace tilevm::backend
