#include "backend/select/remarks.h"

#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/access/prefetch.h"
#include "isa/analysis/statements.h"
#include "isa/rules/tensor_map.h"

namespace tilevm::backend {
namespace {

using isa::AccessForm;

/// "4 x 16 bytes", "2 x ldmatrix.x4.trans", "7 x cp.async 16, bounds tested".
std::string access_text(const isa::AccessPlan& plan, const std::string& one) {
  return fmt::format("{} x {}{}", plan.count, one, plan.tests_bounds() ? ", bounds tested" : "");
}

std::string bits_text(const isa::AccessPlan& plan, bool stores) {
  const int bits = plan.mapping.dtype.bits;
  return fmt::format("1 element of {} bit{}{}", bits, bits == 1 ? "" : "s",
                     stores ? " by two atomic operations a word" : "");
}

std::string bytes_text(const isa::AccessPlan& plan) {
  return fmt::format("{} byte{}{}", fmt::join(plan.widths, " + "),
                     plan.widths.back() == 1 ? "" : "s",
                     plan.in_order() ? "" : ", elements put in order");
}

/// "8 x 2 elements", "16 x 1 element".
std::string elements_text(std::int64_t count, bool in_pairs) {
  return in_pairs ? fmt::format("{} x 2 elements", (count + 1) / 2)
                  : fmt::format("{} x 1 element", count);
}

/// "56 x mma.sync.m16n8k16 f32.f16.f16.f32 a warp".
std::string mma_text(const isa::DotPlan& plan) {
  const isa::MmaShape& shape = *plan.shape;
  const std::string scaled =
      shape.scaling == isa::MmaScaling::none
          ? ""
          : fmt::format(" kind::{}, {} {} a row", kind_name(shape.scaling), shape.scales(),
                        shape.scales() == 1 ? "scale" : "scales");
  return fmt::format("{} x mma.{}sync.{} {}.{}.{}.{}{} a warp{}", count_instructions(plan),
                     shape.sparse         ? "sp."
                     : shape.exclusive_or ? "xor."
                                          : "",
                     shape.name, to_string(shape.accumulator), to_string(shape.a),
                     to_string(shape.b), to_string(shape.accumulator), scaled,
                     plan.transposed ? ", of the transposes" : "");
}

/// The expression that a reason speaks of, if there is one.
const isa::Expr* culprit(const isa::AccessPlan& plan, const isa::Type& tensor) {
  using Kind = isa::MissedReason::Kind;
  const auto dim = static_cast<std::size_t>(plan.missed.dim);
  if (plan.missed.kind == Kind::offset) return &plan.mapping.dimensions[dim].offset;
  const auto* view = std::get_if<isa::GlobalType>(&tensor);
  if (view == nullptr) return nullptr;
  if (plan.missed.kind == Kind::extent) return &view->extents[dim];
  const auto* strides = view->layout.strides();
  return plan.missed.kind == Kind::stride && strides != nullptr ? &(*strides)[dim] : nullptr;
}

/// A form in words, and what kept it from a better one.
struct Words {
  std::string text;
  std::string missed{};
  Span culprit{};
};
using MaybeWords = std::optional<Words>;

/// One overload of `of` for each form.
class FormWords {
 public:
  FormWords(const isa::VerifiedProgram& program, const SelectedKernel& selected,
            const isa::InstStmt& stmt)
      : source_(program.source()),
        kernel_(program.kernel(selected.kernel)),
        selected_(selected),
        stmt_(stmt) {}

  [[nodiscard]] MaybeWords of(const Plain&) const {
    if (const auto copy = isa::tensor_copy(stmt_.inst)) return of_tensor_copy(*copy);
    const auto* prefetch = std::get_if<isa::Prefetch>(&stmt_.inst);
    if (prefetch == nullptr) return std::nullopt;
    const isa::PrefetchPlan plan = isa::plan_prefetch(
        *prefetch, *std::get_if<isa::GlobalType>(&kernel_.variable(prefetch->src.var).type));
    return Words{fmt::format("{} x prefetch into L2, {} element{} each",
                             isa::element_count(plan.pieces), plan.elements,
                             plan.elements == 1 ? "" : "s")};
  }

  [[nodiscard]] MaybeWords of(const ElementAccesses& form) const {
    return of_access(form.access, bits_text(*form.access.plan, form.access.stores));
  }
  [[nodiscard]] MaybeWords of(const WideAccesses& form) const {
    return of_access(form.access, bytes_text(*form.access.plan));
  }
  [[nodiscard]] MaybeWords of(const CombiningAccesses& form) const {
    return of_access(form.access, fmt::format("{} by atomic {}", bytes_text(*form.access.plan),
                                              to_string(form.op)));
  }
  [[nodiscard]] MaybeWords of(const MatrixAccesses& form) const {
    const isa::AccessPlan& plan = *form.access.plan;
    return of_access(form.access, fmt::format("{}matrix.x{}{}", form.access.stores ? "st" : "ld",
                                              plan.matrices, plan.transposed ? ".trans" : ""));
  }

  [[nodiscard]] MaybeWords of(const PieceCopy& form) const {
    const std::int64_t bytes = form.plan->elements * form.plan->mapping.dtype.bits / 8;
    return of_copy(*form.plan, fmt::format("cp.async {}", bytes), hint());
  }
  [[nodiscard]] MaybeWords of(const ElementCopy& form) const {
    const bool narrow = form.plan->form == AccessForm::bits;
    return of_copy(
        *form.plan, narrow ? bits_text(*form.plan, false) : bytes_text(*form.plan),
        hint().empty() ? ", loaded and stored" : ", loaded and stored, which takes no cache hint");
  }
  [[nodiscard]] MaybeWords of(const BulkCopy& form) const {
    return Words{fmt::format("{} x cp.async.bulk {}{}", form.rows, form.row_bytes, hint())};
  }
  [[nodiscard]] MaybeWords of(const GroupCommit&) const { return std::nullopt; }
  [[nodiscard]] MaybeWords of(const GroupWait&) const { return std::nullopt; }

  [[nodiscard]] MaybeWords of(const FullBarrier&) const { return std::nullopt; }
  [[nodiscard]] MaybeWords of(const SplitBarrier& form) const {
    const std::int64_t last = form.warps - 1;
    if (form.first_producer == last) return Words{fmt::format("warp {} waits", last)};
    return Words{fmt::format("warps {} to {} wait", form.first_producer, last)};
  }
  [[nodiscard]] MaybeWords of(const EarlyExit&) const { return std::nullopt; }

  [[nodiscard]] MaybeWords of(const FilledElements&) const { return std::nullopt; }
  [[nodiscard]] MaybeWords of(const ListedElements& form) const {
    if (form.by_local) return std::nullopt;
    return Words{fmt::format("{} x 1 element from a table in local memory", result_elements())};
  }
  [[nodiscard]] MaybeWords of(const ComputedElements& form) const {
    return Words{fmt::format("{} x 1 element computed: {} + {} * its number", result_elements(),
                             form.first, form.step)};
  }

  [[nodiscard]] MaybeWords of(const ElementLoop&) const {
    return Words{elements_text(result_elements(), false)};
  }
  [[nodiscard]] MaybeWords of(const PairLoop&) const {
    return Words{elements_text(result_elements(), true)};
  }
  [[nodiscard]] MaybeWords of(const TileFunction& form) const {
    if (form.unit == TileFunction::Unit::word) {
      return Words{fmt::format("{} x 32 bits", tile_words(result()))};
    }
    return Words{elements_text(result_elements(), form.unit == TileFunction::Unit::pair)};
  }
  [[nodiscard]] MaybeWords of(const ElementCast& form) const {
    return Words{elements_text(result_elements(), form.in_pairs)};
  }

  [[nodiscard]] MaybeWords of(const RecipeCast& form) const { return of_recipe(form.recipe); }
  [[nodiscard]] MaybeWords of(const FusedCast& form) const { return of_recipe(form.recipe); }
  [[nodiscard]] MaybeWords of(const ElidedCast&) const {
    return Words{"nothing: a part of what reads it"};
  }
  [[nodiscard]] MaybeWords of(const ElidedView& form) const {
    return Words{fmt::format("nothing: what reads it takes the bits of `{}`", name(form.base))};
  }
  [[nodiscard]] MaybeWords of(const CopiedBits& form) const {
    return Words{fmt::format("nothing: the bits of `{}` as they are", name(form.base))};
  }
  [[nodiscard]] MaybeWords of(const MovedBits& form) const {
    return Words{fmt::format("{} instructions move bits of `{}`",
                             form.recipe.cost() * form.recipe.repetitions, name(form.base))};
  }

  [[nodiscard]] MaybeWords of(const ExchangedElements&) const {
    return Words{fmt::format("{} elements through shared memory", result_elements())};
  }
  [[nodiscard]] MaybeWords of(const ShuffledElements& form) const {
    const int steps = result().dtype.bits > 32 ? 2 : 1;
    if (form.plan.transposes) {
      return Words{fmt::format("{} elements by {} x movmatrix", result_elements(), form.plan.sent)};
    }
    return Words{fmt::format("{} elements by {} x shfl and {} selections", result_elements(),
                             steps * form.plan.shuffles(), steps * form.plan.selections())};
  }

  [[nodiscard]] MaybeWords of(const MmaDot& form) const { return Words{mma_text(*form.dot.plan)}; }
  [[nodiscard]] MaybeWords of(const BipolarDot& form) const {
    const std::string_view where = form.after.valid() ? ", put together after the loop" : "";
    return Words{fmt::format("{}{}", mma_text(*form.dot.plan), where)};
  }
  [[nodiscard]] MaybeWords of(const ChainDot& form) const {
    const auto& chain = form.dot.plan->chain;
    return Words{fmt::format("{} chains of {} multiply-adds in {}", chain.a_row.size(),
                             chain.a_depth.size(), to_string(result().dtype))};
  }

  /// "4 x wgmma.m64n128k16 f32.f16.f16 a warp group, a K-major with a swizzle of 128 bytes, b .."
  [[nodiscard]] MaybeWords of(const AsyncDot& form) const {
    const isa::MmaShape& shape = *form.plan->shape;
    const auto words = [](const std::optional<isa::SharedMatrix>& matrix) -> std::string {
      if (!matrix) return "in registers";
      return fmt::format("{}-major with {}", matrix->mn_major ? "MN" : "K",
                         matrix->swizzle == 0
                             ? "no swizzle"
                             : fmt::format("a swizzle of {} bytes", matrix->swizzle));
    };
    return Words{fmt::format("{} x wgmma.{} {}.{}.{} a warp group, a {}, b {}",
                             form.plan->steps.size(), shape.name, to_string(shape.accumulator),
                             to_string(shape.a), to_string(shape.b), words(form.plan->a_shared),
                             words(form.plan->b_shared))};
  }
  [[nodiscard]] MaybeWords of(const ProductWait&) const { return std::nullopt; }

  /// "7 operations in a thread, 2 x shfl, 2 exchanges of 4 values for each of 2 results".
  [[nodiscard]] MaybeWords of(const CombinedElements& form) const {
    std::vector<std::string> parts;
    if (form.plan.elements > 1) {
      parts.push_back(fmt::format("{} operations in a thread", form.plan.elements - 1));
    }
    if (form.by_warp) {
      parts.emplace_back("1 x redux");
    } else if (!form.plan.lanes.empty()) {
      parts.push_back(fmt::format("{} x shfl", form.plan.lanes.size()));
    }
    for (const isa::ReductionExchange& exchange : form.plan.exchanges) {
      parts.push_back(fmt::format("{} values through shared memory", exchange.partials));
    }
    const std::int64_t results = form.plan.results;
    return Words{fmt::format("{} for each of {} result{}",
                             parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", ")),
                             results, results == 1 ? "" : "s")};
  }

  /// "4 in a thread, 32 by 5 x shfl, 4 through shared memory, for each of 2 rows".
  [[nodiscard]] MaybeWords of(const ScannedElements& form) const {
    std::vector<std::string> parts;
    std::int64_t rows = result_elements();
    for (const isa::ScanLevel& level : form.plan.levels) {
      switch (level.kind) {
        case isa::ScanLevel::Kind::places:
          parts.push_back(fmt::format("{} in a thread", level.size));
          rows /= level.size;
          break;
        case isa::ScanLevel::Kind::lanes:
          parts.push_back(fmt::format("{} lanes by shfl", level.size));
          break;
        case isa::ScanLevel::Kind::threads:
          parts.push_back(fmt::format("{} values through shared memory", level.size));
          break;
      }
    }
    if (parts.empty()) return Words{"nothing: one element"};
    return Words{
        fmt::format("{} for each of {} row{}", fmt::join(parts, ", "), rows, rows == 1 ? "" : "s")};
  }

  [[nodiscard]] MaybeWords of(const SteppedLoop&) const { return std::nullopt; }
  [[nodiscard]] MaybeWords of(const CountedLoop&) const { return std::nullopt; }

 private:
  /// ", evict_first in L2" of a copy; "" if it gives no hint.
  [[nodiscard]] std::string hint() const {
    const auto& cache = std::get_if<isa::CopyAsync>(&stmt_.inst)->cache;
    if (!cache || *cache == isa::CacheHint::normal) return "";
    return fmt::format(", {} in L2", to_string(*cache));
  }
  [[nodiscard]] MaybeWords of_access(const TileAccess& access, const std::string& one) const {
    std::string text = access_text(*access.plan, one);
    if (access.cache != isa::CacheHint::normal) {
      const auto& widths = access.plan->widths;
      const bool wide =
          std::any_of(widths.begin(), widths.end(), [](std::int64_t width) { return width >= 4; });
      text +=
          wide ? fmt::format(", {} in L2", to_string(access.cache)) : ", which take no cache hint";
    }
    if (access.index) text += fmt::format(", where `{}` says", name(*access.index));
    if (access.index && access.plan->mapping.shared) text += ": 1 to 32 wavefronts each";
    return with_missed(std::move(text), *access.plan, access.tensor);
  }
  [[nodiscard]] MaybeWords of_copy(const isa::AccessPlan& plan, const std::string& one,
                                   std::string_view how) const {
    const isa::CopyAsync& copy = *std::get_if<isa::CopyAsync>(&stmt_.inst);
    std::string text = access_text(plan, one) + std::string(how);
    if (copy.index) text += fmt::format(", where `{}` says", name(copy.index->var));
    return with_missed(std::move(text), plan, copy.src.var);
  }
  /// "1.13 instructions an element".
  [[nodiscard]] MaybeWords of_recipe(const BitRecipe& recipe) const {
    const auto instructions = static_cast<double>(recipe.cost() * recipe.repetitions);
    return Words{fmt::format("{:.2f} instructions an element",
                             instructions / static_cast<double>(result_elements()))};
  }

  /// "2 x cp.async.bulk.tensor.2d, boxes of [32, 64], swizzle of 128 bytes".
  [[nodiscard]] MaybeWords of_tensor_copy(const isa::TensorCopy& copy) const {
    isa::NoTensorMap why;
    const auto plan =
        isa::plan_boxes(copy, *std::get_if<isa::GlobalType>(&kernel_.variable(copy.view).type),
                        *std::get_if<isa::SharedType>(&kernel_.variable(copy.tensor).type), why);
    if (!plan) return std::nullopt;
    const isa::TensorMap& map = plan->map;
    return Words{fmt::format("{} x cp.async.bulk.tensor.{}d, boxes of {}{}", plan->boxes.size(),
                             map.box.size(), isa::to_string(map.box),
                             map.swizzle_bytes == 0
                                 ? std::string()
                                 : fmt::format(", swizzle of {} bytes", map.swizzle_bytes))};
  }
  /// Adds why accesses to a tensor are no wider, with the expression that keeps them from it: "the
  /// offset of dimension 1 is only known to be a multiple of 4: `k * 36`".
  [[nodiscard]] Words with_missed(std::string text, const isa::AccessPlan& plan,
                                  isa::VarId tensor) const {
    Words words{std::move(text), describe(plan.missed)};
    const isa::Expr* expr = culprit(plan, kernel_.variable(tensor).type);
    if (expr == nullptr || expr->span() == Span{}) return words;
    words.culprit = expr->span();
    words.missed += fmt::format(": `{}`", source_.text(words.culprit));
    return words;
  }

  /// What the printed code calls a variable.
  [[nodiscard]] const std::string& name(isa::VarId var) const {
    return selected_.names[static_cast<std::size_t>(var.index)];
  }
  [[nodiscard]] const isa::RegisterType& result() const {
    return *std::get_if<isa::RegisterType>(&kernel_.variable(stmt_.results[0]).type);
  }
  [[nodiscard]] std::int64_t result_elements() const { return result().layout.num_locals(); }

  const SourceFile& source_;
  const isa::Kernel& kernel_;
  const SelectedKernel& selected_;
  const isa::InstStmt& stmt_;
};

}  // namespace

std::vector<Remark> describe(const isa::VerifiedProgram& program, const SelectedKernel& selected) {
  std::vector<Remark> remarks;
  const isa::Statements statements(program.kernel(selected.kernel));
  statements.for_each_instruction([&](isa::StmtId id, const isa::InstStmt& inst) {
    const FormWords describer(program, selected, inst);
    auto words =
        std::visit([&](const auto& form) { return describer.of(form); }, selected.forms[id]);
    if (!words) return;
    remarks.push_back({&inst, statements[id].span, std::move(words->text), std::move(words->missed),
                       words->culprit});
  });
  return remarks;
}

}  // namespace tilevm::backend
