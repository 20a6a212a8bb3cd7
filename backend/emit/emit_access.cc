// Loads and stores of tiles in registers, as their plan says (isa/access/access_plan.h).
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_address.h"
#include "backend/emit/emit_index.h"
#include "isa/access/access_plan.h"
#include "isa/access/prefetch.h"

namespace tilevm::backend {
namespace {

using isa::AccessDigit;
using isa::AddressForm;

/// What atomic instructions take elements of a type for.
std::string number_type(const isa::DType& dtype) {
  if (dtype == isa::f32) return "float";
  if (dtype == isa::f64) return "double";
  return fmt::format("tv::{}", to_string(dtype));
}

/// The function of the machine that combines an element with the one in memory.
std::string combine_function(isa::ReduceOp op, const isa::DType& dtype) {
  if (dtype.bits == 16) return fmt::format("add_{}", to_string(dtype));
  return fmt::format("combine<tv::Combination::{}, {}>", to_string(op), number_type(dtype));
}

class AccessEmission {
 public:
  AccessEmission(const TileAccess& access, AddressForm address, const isa::InstStmt& stmt,
                 KernelEmission& kernel)
      : kernel_(kernel),
        access_(access),
        plan_(*access.plan),
        stmt_(stmt),
        tile_(kernel.name(access.tile)),
        memory_(plan_, access.tensor, {"l_", plan_.count},
                {address, "", access.hoisted, access.joined, index_of(access, kernel)}, kernel) {}

  /// `load` and `store` write one access.
  template <class Load, class Store>
  void write(Load&& load, Store&& store) {
    access_.stores ? kernel_.note_stores_of(access_.tile) : kernel_.declare_tile(stmt_);
    open();
    access_.stores ? store() : load();
    close();
  }

  void write_elements() {
    write(
        [&] {
          out().line(fmt::format("tv::put<{0}>({1}, {2}, {3} ? tv::load<{0}>({4}, {5}) : 0);",
                                 bits(), tile_, local_place(), inside(), memory_.data(),
                                 memory_.element()));
        },
        [&] {
          out().line(fmt::format("{0}{6}store<{1}>({2}, {3}, tv::get<{1}>({4}, {5}));", guard(),
                                 bits(), memory_.data(), memory_.element(), tile_, local_place(),
                                 kernel_.writer()));
        });
  }

  /// Each element once, by the first thread that holds it.
  void write_combinations(isa::ReduceOp op) {
    const isa::DType& dtype = plan_.mapping.dtype;
    const auto& layout = kernel_.type<isa::RegisterType>(access_.tile).layout;
    const std::string first = first_holder(kernel_.thread(), layout);
    write([] {},
          [&] {
            if (!first.empty()) out().open_plain(fmt::format("if ({})", first));
            out().line(fmt::format("{}{}{}({}, tv::get<{}>({}, {}));", guard(), kernel_.writer(),
                                   combine_function(op, dtype), memory_.address(0), bits(), tile_,
                                   local_place()));
            if (!first.empty()) out().close();
          });
  }

  void write_matrices() {
    write(
        [&] {
          out().line(fmt::format("tv::ldmatrix<{}, {}>({} + {}, {});", plan_.matrices,
                                 plan_.transposed, tile_, first_word(), memory_.address(0)));
        },
        [&] {
          out().line(fmt::format("{}stmatrix<{}, {}>({}, {} + {});", kernel_.writer(),
                                 plan_.matrices, plan_.transposed, memory_.address(0), tile_,
                                 first_word()));
        });
  }

  /// Elements whose order in memory is not that of the registers go through an array.
  void write_wide() {
    if (plan_.in_order()) {
      return write([&] { load_to(tile_, run_begin()); }, [&] { store_from(tile_, run_begin()); });
    }
    write(
        [&] {
          out().line(run_declaration());
          load_to("run_", "0");
          permute(fmt::format("tv::put<{0}>({1}, {2}, tv::get<{0}>(run_, j_));", bits(), tile_,
                              local_place()));
        },
        [&] {
          out().line(run_declaration());
          permute(fmt::format("tv::put<{0}>(run_, j_, tv::get<{0}>({1}, {2}));", bits(), tile_,
                              local_place()));
          store_from("run_", "0");
        });
  }

 private:
  CodeWriter& out() { return kernel_.out; }
  [[nodiscard]] int bits() const { return plan_.mapping.dtype.bits; }
  [[nodiscard]] std::int64_t run_bytes() const { return plan_.elements * bits() / 8; }

  /// A matrix access moves elements for other threads of the warp. A program needs no barrier
  /// between a thread's own store and load, so the warp must be synchronized here.
  void order_warp() {
    if (plan_.moves_own_stores) out().line("tv::synchronize_warp();");
  }

  /// By access: the place of its index.
  static std::vector<std::int32_t> index_places(const TileAccess& access) {
    std::vector<std::int32_t> places;
    for (std::int64_t i = 0; access.index && i < access.plan->count; ++i) {
      const auto first = static_cast<std::size_t>(access.plan->local_place(i));
      places.push_back(access.plan->index_places[first]);
    }
    return places;
  }
  static bool is_in_order(const std::vector<std::int32_t>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] != static_cast<std::int32_t>(i)) return false;
    }
    return true;
  }

  /// The index of access l_; "" if there is none.
  static std::string index_of(const TileAccess& access, KernelEmission& kernel) {
    if (!access.index) return "";
    const isa::DType& dtype = kernel.type<isa::RegisterType>(*access.index).dtype;
    const auto places = index_places(access);
    const std::string place = places.size() == 1    ? fmt::format("{}", places[0])
                              : is_in_order(places) ? "l_"
                                                    : "index_at_[l_]";
    return fmt::format("tv::to_integer<{}>(tv::get<{}>({}, {}))", kernel.element_type(dtype),
                       dtype.bits, kernel.name(*access.index), place);
  }

  void declare_index_places() {
    const auto places = index_places(access_);
    if (places.size() < 2 || is_in_order(places)) return;
    out().line(fmt::format("constexpr int index_at_[{}] = {{{}}};", places.size(),
                           fmt::join(places, ", ")));
  }

  /// Opens the loop over all accesses, after the text that is the same for all of them.
  void open() {
    order_warp();
    out().open_plain();
    if (access_.cache != isa::CacheHint::normal && access_.plan->form == isa::AccessForm::bytes) {
      out().line(fmt::format("const tv::u64 policy_ = tv::{}();", to_string(access_.cache)));
      policy_ = ", policy_";
    }
    memory_.declare_base();
    declare_index_places();
    if (plan_.count > 1) out().open_unrolled("l_", plan_.count);
    memory_.declare_access();
    if (plan_.tests_bounds()) {
      out().line(fmt::format("const bool inside_ = {};", memory_.bounds_test()));
    }
  }

  void close() {
    if (plan_.count > 1) out().close();
    out().close();
    order_warp();
  }

  /// The local place of element j_ of access l_.
  [[nodiscard]] std::string local_place() const {
    const std::string first = place_of("l_", plan_.count, plan_.outer);
    return plan_.elements > 1 ? sum(first, place_of("j_", plan_.elements, plan_.inner))
                              : sum("", first);
  }

  static std::string place_of(std::string_view x, std::int64_t count,
                              const std::vector<AccessDigit>& digits) {
    std::vector<isa::TensorTerm> terms;
    for (const AccessDigit& digit : digits) {
      terms.push_back({0, digit.divisor, digit.size, digit.step});
    }
    return share(x, count, terms, 0);
  }

  [[nodiscard]] std::string inside() const { return plan_.tests_bounds() ? "inside_" : "true"; }
  [[nodiscard]] std::string guard() const { return plan_.tests_bounds() ? "if (inside_) " : ""; }

  /// The first of the words of access l_'s matrices.
  [[nodiscard]] std::string first_word() const {
    return plan_.count > 1 ? fmt::format("l_ * {}", plan_.matrices) : "0";
  }
  [[nodiscard]] std::string run_begin() const {
    return plan_.count > 1 ? fmt::format("l_ * {}", run_bytes()) : "0";
  }
  [[nodiscard]] std::string run_declaration() const {
    return fmt::format("tv::u32 run_[{}] = {{}};", (run_bytes() + 3) / 4);
  }

  void load_to(std::string_view words, const std::string& begin) {
    std::int64_t at = 0;
    for (const std::int64_t width : plan_.widths) {
      out().line(fmt::format("tv::load_bytes<{}>({}, {}, {}, {}{});", width, words,
                             sum(begin, at == 0 ? "" : fmt::format("{}", at)), memory_.address(at),
                             inside(), policy_));
      at += width;
    }
  }

  void store_from(std::string_view words, const std::string& begin) {
    std::int64_t at = 0;
    for (const std::int64_t width : plan_.widths) {
      out().line(fmt::format("{}{}store_bytes<{}>({}, {}, {}{});", guard(), kernel_.writer(), width,
                             memory_.address(at), words,
                             sum(begin, at == 0 ? "" : fmt::format("{}", at)), policy_));
      at += width;
    }
  }

  /// Moves the elements of a run between memory's order and that of the registers.
  void permute(const std::string& text) {
    out().line(fmt::format("TV_UNROLL for (int j_ = 0; j_ < {}; ++j_) {}", plan_.elements, text));
  }

  KernelEmission& kernel_;
  const TileAccess& access_;
  const isa::AccessPlan& plan_;
  const isa::InstStmt& stmt_;
  const std::string& tile_;
  AddressEmission memory_;
  std::string policy_;  ///< the last argument of an access with a cache hint
};

/// Writes a Prefetch: piece_ counts what one prefetch is for, neighbours in neighbouring threads.
class PrefetchEmission {
 public:
  PrefetchEmission(const isa::Prefetch& inst, KernelEmission& kernel)
      : kernel_(kernel),
        view_(kernel.name(inst.src.var)),
        type_(kernel.type<isa::GlobalType>(inst.src.var)),
        plan_(isa::plan_prefetch(inst, type_)) {}

  void run() {
    CodeWriter& out = kernel_.out;
    const std::int64_t count = isa::element_count(plan_.pieces);
    const std::string_view type = count < std::int64_t{1} << 31 ? "tv::u32" : "tv::u64";
    out.open_plain(fmt::format("for ({} piece_ = {}; piece_ < {}; piece_ += {})", type,
                               kernel_.thread(), count, kernel_.threads()));
    std::string test, offset;
    for (std::size_t d = 0; d < plan_.placement.dimensions.size(); ++d) {
      const auto& dimension = plan_.placement.dimensions[d];
      const std::string of_piece =
          dimension.tile_dim < 0 ? "" : share("piece_", count, plan_.terms, dimension.tile_dim);
      out.line(fmt::format("const tv::u64 at{}_ = {};", d,
                           sum(kernel_.index(dimension.offset), of_piece)));
      test += fmt::format("{}at{}_ < {}.extent[{}]", d > 0 ? " && " : "", d, view_, d);
      offset += fmt::format("{}at{}_ * {}.stride[{}]", d > 0 ? " + " : "", d, view_, d);
    }
    if (const isa::MemoryLayout* layout = type_.layout.memory_layout()) {
      offset = layout_offset(*layout, "at");
    }
    out.line(fmt::format("{}tv::prefetch({}.data{});",
                         test.empty() ? "" : fmt::format("if ({}) ", test), view_,
                         offset.empty() || offset == "0"
                             ? ""
                             : fmt::format(" + tv::bytes<{}>({})", type_.dtype.bits, offset)));
    out.close();
  }

 private:
  KernelEmission& kernel_;
  const std::string& view_;
  const isa::GlobalType& type_;
  isa::PrefetchPlan plan_;
};

}  // namespace

template <>
void emit_plain(const isa::Prefetch& inst, const isa::InstStmt&, KernelEmission& kernel) {
  PrefetchEmission(inst, kernel).run();
}

template <>
void emit_form(const ElementAccesses& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  AccessEmission(form.access, AddressForm::whole, stmt, kernel).write_elements();
}

template <>
void emit_form(const WideAccesses& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  AccessEmission(form.access, form.access.plan->address, stmt, kernel).write_wide();
}

template <>
void emit_form(const CombiningAccesses& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  AccessEmission(form.access, form.access.plan->address, stmt, kernel).write_combinations(form.op);
}

template <>
void emit_form(const MatrixAccesses& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  AccessEmission(form.access, form.access.plan->address, stmt, kernel).write_matrices();
}

}  // namespace tilevm::backend
