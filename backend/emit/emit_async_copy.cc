// Asynchronous copies: in pieces, in bulk, or element by element; and of boxes by tensor maps, one
// instruction for each box, by the thread that the program elects.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backend/emit/emit_address.h"
#include "backend/emit/emit_barrier.h"
#include "backend/emit/emit_index.h"
#include "isa/access/access_plan.h"
#include "isa/access/access_run.h"
#include "isa/access/mapped_view.h"
#include "isa/base/check.h"
#include "isa/rules/rules.h"
#include "isa/rules/tensor_map.h"

namespace tilevm::backend {
namespace {

/// The last argument of a copy with a cache hint, ", policy_"; it is declared by this.
std::string declare_policy(const isa::CopyAsync& inst, KernelEmission& kernel) {
  if (!inst.cache || *inst.cache == isa::CacheHint::normal) return "";
  kernel.out.line(fmt::format("const tv::u64 policy_ = tv::{}();", to_string(*inst.cache)));
  return ", policy_";
}

/// A copy's tile and how its pieces are reached on both sides.
class CopyEmission {
 public:
  CopyEmission(const isa::AccessPlan& plan, bool unrolled, std::optional<std::size_t> hoisted,
               const isa::InstStmt& stmt, KernelEmission& kernel)
      : CopyEmission(plan, unrolled, hoisted, *std::get_if<isa::CopyAsync>(&stmt.inst), kernel) {}

  /// l_ counts the pieces of a thread, neighbours in neighbouring threads.
  template <class F>
  void write(F&& move_one) {
    CodeWriter& out = kernel_.out;
    const std::int64_t pieces = isa::element_count(plan_.pieces);
    out.open_plain();
    if (plan_.form == isa::AccessForm::copy) policy_ = declare_policy(inst_, kernel_);
    if (inst_.index) put_index();
    from_.declare_base();
    to_.declare_base();
    out.open_plain(fmt::format("{}for (int l_ = 0; l_ < {}; ++l_)", unrolled_ ? "TV_UNROLL " : "",
                               plan_.count));
    const bool cut = pieces < plan_.count * kernel_.threads();
    if (cut || plan_.by_piece || inst_.index) {
      out.line(
          fmt::format("const tv::u32 piece_ = {} + l_ * {};", kernel_.thread(), kernel_.threads()));
    }
    if (cut) out.line(fmt::format("if (piece_ >= {}) break;", pieces));
    from_.declare_access();
    to_.declare_access();
    if (plan_.tests_bounds()) {
      out.line(fmt::format("const bool inside_ = {};", from_.bounds_test()));
    }
    move_one();
    out.close();
    out.close();
  }

  /// A piece without valid bytes may have any source address.
  void move_piece() {
    const std::int64_t bytes = plan_.elements * bits() / 8;
    std::string valid = fmt::format("{}", bytes);
    if (plan_.cut_dim) {
      const std::size_t dim = *plan_.cut_dim;
      valid = fmt::format("tv::valid_bytes<{}, {}>({} - ({}))", plan_.elements, bits(),
                          from_.extent(dim), from_.index(dim));
    }
    if (plan_.tests_bounds()) valid = fmt::format("inside_ ? {} : 0", valid);
    kernel_.out.line(fmt::format("{}cp_async<{}>({}, {}, {}{});", kernel_.writer(), bytes,
                                 to_.address(0), from_.address(0), valid, policy_));
  }

  void move_element() {
    kernel_.out.line(fmt::format("{6}store<{0}>({1}, {2}, {3} ? tv::load<{0}>({4}, {5}) : 0);",
                                 bits(), to_.data(), to_.element(), inside(), from_.data(),
                                 from_.element(), kernel_.writer()));
  }

 private:
  CopyEmission(const isa::AccessPlan& plan, bool unrolled, std::optional<std::size_t> hoisted,
               const isa::CopyAsync& inst, KernelEmission& kernel)
      : kernel_(kernel),
        plan_(plan),
        inst_(inst),
        unrolled_(unrolled),
        from_(plan_, inst.src.var, numbers(),
              {.form = plan_.address, .prefix = inst.index ? "from_" : "", .index = index()},
              kernel),
        to_(plan_.to, inst.dst.var, numbers(),
            {.form = plan_.to.address, .prefix = "to_", .hoisted = hoisted}, kernel) {}

  [[nodiscard]] AddressEmission::Numbers numbers() const {
    if (plan_.by_piece) return {"piece_", isa::element_count(plan_.pieces)};
    return {"l_", plan_.count};
  }
  [[nodiscard]] int bits() const { return plan_.mapping.dtype.bits; }
  [[nodiscard]] std::string inside() const { return plan_.tests_bounds() ? "inside_" : "true"; }

  // An index is put into shared memory in row-major order, since any thread may copy any piece.
  [[nodiscard]] const isa::RegisterType& index_type() const {
    return kernel_.type<isa::RegisterType>(inst_.index->var);
  }
  [[nodiscard]] int stored_bits() const { return index_type().dtype.bits > 32 ? 64 : 32; }

  void put_index() {
    const isa::RegisterLayout& layout = index_type().layout;
    std::vector<isa::RegisterLayout::Term> replicas = layout.replica_terms();
    for (auto& term : replicas) term.dim = 0, term.stride = 1;
    const std::string copies = share(kernel_.thread(), layout.num_threads(), replicas, 0);
    std::string number;
    for (int d = 0; d < layout.rank(); ++d) {
      const std::string own =
          sum(share(kernel_.thread(), layout.num_threads(), layout.thread_terms(), d),
              share("l_", layout.num_locals(), layout.local_terms(), d));
      number = scaled(number, layout.shape()[static_cast<std::size_t>(d)], own);
    }
    kernel_.begin_exchange();
    if (!copies.empty()) kernel_.out.open_plain(fmt::format("if (({}) == 0)", copies));
    kernel_.out.line(fmt::format(
        "TV_UNROLL for (int l_ = 0; l_ < {0}; ++l_) tv::store<{1}>(at_, static_cast<tv::u32>({2}), "
        "tv::get<{3}>({4}, l_));",
        layout.num_locals(), stored_bits(), number.empty() ? "0" : number, index_type().dtype.bits,
        kernel_.name(inst_.index->var)));
    if (!copies.empty()) kernel_.out.close();
    kernel_.synchronize();
  }

  /// "(number) * extent + own".
  static std::string scaled(const std::string& number, std::int64_t extent,
                            const std::string& own) {
    if (number.empty() || number == "0") return own;
    return sum(fmt::format("({}) * {}", number, extent), own == "0" ? "" : own);
  }

  /// That of a piece; "" if there is none.
  [[nodiscard]] std::string index() const {
    if (!inst_.index) return "";
    const isa::Shape& shape = index_type().shape();
    const auto terms = isa::piece_terms(plan_.pieces, plan_.elements);
    const std::size_t extra = plan_.pieces.size() - shape.size();
    std::string number;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      const std::string own = sum("", share("piece_", isa::element_count(plan_.pieces), terms,
                                            static_cast<int>(d + extra)));
      number = scaled(number, shape[d], own);
    }
    return fmt::format(
        "tv::to_integer<{0}>(static_cast<tv::Code<{1}>>(tv::load<{2}>(at_, "
        "static_cast<tv::u32>({3}))))",
        kernel_.element_type(index_type().dtype), index_type().dtype.bits, stored_bits(),
        number.empty() ? "0" : number);
  }

  KernelEmission& kernel_;
  const isa::AccessPlan& plan_;
  const isa::CopyAsync& inst_;
  bool unrolled_;
  AddressEmission from_, to_;
  std::string policy_;
};

isa::TensorBoxes boxes_of(const isa::TensorCopy& copy, const isa::Kernel& kernel) {
  isa::NoTensorMap why;
  auto plan =
      isa::plan_boxes(copy, *std::get_if<isa::GlobalType>(&kernel.variable(copy.view).type),
                      *std::get_if<isa::SharedType>(&kernel.variable(copy.tensor).type), why);
  TILEVM_CHECK(plan.has_value(), "a copy by a tensor map that passed its type rule has boxes");
  return *std::move(plan);
}

/// The address of a box in shared memory.
std::string place_of(const isa::TensorBoxes::Box& box, const isa::TensorBoxes& plan,
                     const isa::TensorCopy& copy, const KernelEmission& kernel) {
  std::string distance = fmt::format("{}", box.bytes);
  for (const isa::TensorBoxes::RunTimeIndex& index : plan.indices) {
    distance += fmt::format(" + static_cast<tv::u32>({}) * {}", kernel.scalar(index.value),
                            index.stride_bytes);
  }
  return fmt::format("{} + ({})", kernel.name(copy.tensor), distance);
}

/// Where a box begins in the view, the innermost dimension first: ", a, b".
std::string begin_of(const isa::TensorBoxes::Box& box, const isa::TensorBoxes& plan,
                     const isa::TensorCopy& copy, const KernelEmission& kernel) {
  const auto& view = kernel.type<isa::GlobalType>(copy.view);
  const auto& tensor = kernel.type<isa::SharedType>(copy.tensor);
  int rank = tensor.layout.rank();
  if (copy.offset) {
    rank = static_cast<int>(
        std::count_if(copy.offset->entries.begin(), copy.offset->entries.end(),
                      [](const isa::OffsetList::Entry& entry) { return entry.tile; }));
  }
  const isa::TilePlacement placement = isa::place_tile(copy.view_offset, view.rank(), rank);
  std::string text;
  for (std::size_t d = box.start.size(); d-- > 0;) {
    text += fmt::format(", static_cast<tv::i32>({})",
                        kernel.scalar(placement.dimensions[plan.map.order[d]].offset));
    if (box.start[d] != 0) text += fmt::format(" + {}", box.start[d]);
  }
  return text;
}

}  // namespace

template <>
void emit_form(const PieceCopy& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  CopyEmission copy(*form.plan, form.unrolled, form.hoisted, stmt, kernel);
  copy.write([&] { copy.move_piece(); });
}

template <>
void emit_form(const ElementCopy& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  CopyEmission copy(*form.plan, form.unrolled, {}, stmt, kernel);
  copy.write([&] { copy.move_element(); });
}

/// One thread of each copying warp takes every n-th row, for n copying warps. All values are
/// uniform across a warp, so the compiler keeps them in uniform registers.
template <>
void emit_form(const BulkCopy& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  constexpr std::int64_t most_unrolled = 32;
  CodeWriter& out = kernel.out;
  const CopyRun& run = form.run;
  if (!run.is_single && form.begins_run) {
    out.open_plain(fmt::format("if (bulk_.warp - {}u < {})", run.first_warp, run.warps));
  }
  const auto& inst = *std::get_if<isa::CopyAsync>(&stmt.inst);
  AddressEmission from(form.from, inst.src.var, {"row_", form.rows}, {form.from.address}, kernel);
  AddressEmission to(form.to, inst.dst.var, {"row_", form.rows}, {form.to.address, "to_"}, kernel);
  out.open_plain(
      fmt::format("if (bulk_.warp - {}u < {} && tv::elect_sync())", form.first_warp, form.warps));
  from.declare_base();
  to.declare_base();
  const std::string policy = declare_policy(inst, kernel);
  out.open_plain(fmt::format("{}for (tv::u32 l_ = 0; l_ < {}; ++l_)",
                             form.rounds() <= most_unrolled ? "TV_UNROLL " : "", form.rounds()));
  out.line(
      fmt::format("const tv::u32 row_ = bulk_.warp - {} + l_ * {};", form.first_warp, form.warps));
  if (form.rows % form.warps != 0) {
    out.line(fmt::format("if (l_ == {} && row_ >= {}) break;", form.rounds() - 1, form.rows));
  }
  from.declare_access();
  to.declare_access();
  out.line(fmt::format("{}cp_async_bulk<{}>(bulk_, {}, {}{});", kernel.writer(), form.row_bytes,
                       to.address(0), from.address(0), policy));
  out.close();
  out.close();
  if (!form.ends_run) return;
  if (!run.is_single) out.close();
  out.line(fmt::format("bulk_.bytes += {};", run.bytes));
}

void KernelEmission::add_tensor_maps() {
  std::vector<isa::TensorCopy> copies;
  isa::for_each_statement(kernel_.body, [&](const isa::Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    const auto copy = inst == nullptr ? std::nullopt : isa::tensor_copy(inst->inst);
    if (copy) copies.push_back(*copy);
  });
  if (copies.empty()) return;
  const isa::Statements statements(kernel_);
  const isa::Definitions definitions(kernel_, statements);
  for (const isa::TensorCopy& copy : copies) {
    const isa::TensorMap map = boxes_of(copy, kernel_).map;
    const bool is_known =
        std::any_of(result_.parameters.begin(), result_.parameters.end(),
                    [&](const CudaParameter& each) { return each.map && each.map->map == map; });
    if (is_known) continue;
    isa::NoTensorMap why;
    const isa::ViewGlobal* const view =
        isa::mapped_view(kernel_, statements, definitions, map.view, why);
    TILEVM_CHECK(view != nullptr, "a view of which the verifier found no map");
    const auto& view_type = type<isa::GlobalType>(map.view);
    auto made = std::make_shared<MapOfView>(
        MapOfView{map, view_type.dtype, view->ptr.var, /*extents=*/{}, /*strides=*/{}});
    for (const std::size_t d : map.order) {
      made->extents.push_back(view_type.extents[d]);
      made->strides.push_back((*view_type.layout.strides())[d]);
    }
    made->strides.pop_back();
    CudaParameter parameter;
    parameter.role = CudaParameter::Role::tensor_map;
    parameter.map = std::move(made);
    result_.parameters.push_back(std::move(parameter));
  }
}

void KernelEmission::prefetch_maps() {
  std::string calls;
  for (const CudaParameter& parameter : result_.parameters) {
    if (!parameter.map) continue;
    calls += fmt::format(" tv::prefetch_map({});", tensor_map(parameter.map->map));
  }
  if (!calls.empty()) out.plain(fmt::format("if (tv::thread() == 0) {{{} }}", calls));
}

std::string KernelEmission::tensor_map(const isa::TensorMap& map) const {
  int number = 0;
  for (const CudaParameter& parameter : result_.parameters) {
    if (!parameter.map) continue;
    if (parameter.map->map == map) return fmt::format("map{}_", number);
    ++number;
  }
  TILEVM_CHECK(false, "a tensor map that is not a parameter");
  return "";
}

template <>
void emit_plain(const isa::CopyAsyncTensorGlobalToShared& inst, const isa::InstStmt& stmt,
                KernelEmission& kernel) {
  const isa::TensorCopy copy = *isa::tensor_copy(stmt.inst);
  const isa::TensorBoxes plan = boxes_of(copy, kernel.definition());
  for (const isa::TensorBoxes::Box& box : plan.boxes) {
    const std::string mask = inst.multicast ? fmt::format(", static_cast<tv::u16>({})",
                                                          kernel.scalar(inst.multicast->value))
                                            : std::string();
    kernel.out.line(fmt::format(
        "tv::tensor_load{}({}, {}, {}{}{});", inst.multicast ? "_multicast" : "",
        place_of(box, plan, copy, kernel), kernel.tensor_map(plan.map),
        stage_of(inst.barrier, inst.stage, kernel), mask, begin_of(box, plan, copy, kernel)));
  }
}

template <>
void emit_plain(const isa::CopyAsyncTensorSharedToGlobal&, const isa::InstStmt& stmt,
                KernelEmission& kernel) {
  const isa::TensorCopy copy = *isa::tensor_copy(stmt.inst);
  const isa::TensorBoxes plan = boxes_of(copy, kernel.definition());
  for (const isa::TensorBoxes::Box& box : plan.boxes) {
    kernel.out.line(fmt::format("tv::tensor_store({}, {}{});", place_of(box, plan, copy, kernel),
                                kernel.tensor_map(plan.map), begin_of(box, plan, copy, kernel)));
  }
}

template <>
void emit_plain(const isa::CopyAsyncTensorCommitGroup&, const isa::InstStmt&,
                KernelEmission& kernel) {
  kernel.out.line("tv::tensor_commit();");
}

template <>
void emit_plain(const isa::CopyAsyncTensorWaitGroup& inst, const isa::InstStmt&,
                KernelEmission& kernel) {
  const bool reading = inst.read && inst.read->value.constant_value()->as_bool();
  kernel.out.line(fmt::format("tv::tensor_wait{}<{}>();", reading ? "_read" : "",
                              inst.pending.value.constant_int().value_or(0)));
}

}  // namespace tilevm::backend
