// A tile's index along a tensor dimension is offset + thread part + local part. The first two are
// computed once, and so is the address where offsets add up; the last is a constant after
// unrolling, so that it becomes a part of the machine instruction.
#include "backend/emit_access.h"

#include <fmt/format.h>

#include "backend/emit_index.h"
#include "isa/access_plan.h"

namespace tilevm::backend {
namespace {

using isa::AccessDigit;
using isa::AccessForm;
using isa::AddressForm;

class AccessEmission {
 public:
  AccessEmission(isa::VarId tile, isa::VarId tensor, const isa::InstStmt& stmt,
                 KernelEmission& kernel)
      : kernel_(kernel),
        plan_(kernel.program().access_plan(stmt)),
        place_(plan_.place),
        tile_(kernel.name(tile)),
        tensor_(kernel.name(tensor)),
        data_(place_.shared ? tensor_ : tensor_ + ".data"),
        address_(plan_.form == AccessForm::bits ? AddressForm::whole : plan_.address) {
    const isa::Type& type = kernel.definition().variable(tensor).type;
    if (const auto* view = std::get_if<isa::GlobalType>(&type)) {
      view_ = view;
      layout_ = view->layout.memory_layout();
    } else {
      layout_ = &std::get_if<isa::SharedType>(&type)->layout;
    }
  }

  void load() {
    order_warp();
    open();
    if (plan_.form == AccessForm::bits) {
      out().line(fmt::format("tv::put<{0}>({1}, {2}, {3} ? tv::load<{0}>({4}, {5}) : 0);", bits(),
                             tile_, local_place(), inside(), data_, offset("i")));
    } else if (plan_.form == AccessForm::matrix) {
      out().line(fmt::format("tv::load_matrices<{}, {}>({} + {}, {});", plan_.matrices,
                             plan_.transposed, tile_, first_word(), address(0)));
    } else if (plan_.in_order()) {
      load_to(tile_, run_begin());
    } else {
      out().line(run_declaration());
      load_to("run_", "0");
      permute(fmt::format("tv::put<{0}>({1}, {2}, tv::get<{0}>(run_, j_));", bits(), tile_,
                          local_place()));
    }
    close();
    order_warp();
  }

  void store() {
    order_warp();
    open();
    if (plan_.form == AccessForm::bits) {
      out().line(fmt::format("{0}tv::store<{1}>({2}, {3}, tv::get<{1}>({4}, {5}));", guard(),
                             bits(), data_, offset("i"), tile_, local_place()));
    } else if (plan_.form == AccessForm::matrix) {
      out().line(fmt::format("tv::store_matrices<{}, {}>({}, {} + {});", plan_.matrices,
                             plan_.transposed, address(0), tile_, first_word()));
    } else if (plan_.in_order()) {
      store_from(tile_, run_begin());
    } else {
      out().line(run_declaration());
      permute(fmt::format("tv::put<{0}>(run_, j_, tv::get<{0}>({1}, {2}));", bits(), tile_,
                          local_place()));
      store_from("run_", "0");
    }
    close();
    order_warp();
  }

 private:
  /// A matrix goes through other threads than those that own its elements. What a thread stores and
  /// what it loads of its own needs no barrier, so the warp must not run ahead of its stores.
  void order_warp() {
    if (plan_.moves_own_stores) out().line("tv::synchronize_warp();");
  }

  CodeWriter& out() { return kernel_.out; }
  [[nodiscard]] int bits() const { return place_.dtype.bits; }
  [[nodiscard]] std::int64_t run_bytes() const { return plan_.elements * bits() / 8; }
  [[nodiscard]] std::string_view index_type() const {
    return place_.fits_32_bits ? "tv::u32" : "tv::u64";
  }

  /// "base0_ = .., base1_ = .." for all dimensions of the tensor.
  template <class F>
  void declare_indices(std::string_view letter, F&& value) {
    std::string text;
    for (std::size_t d = 0; d < place_.dimensions.size(); ++d) {
      text += fmt::format("{}{}{}_ = {}", d > 0 ? ", " : "", letter, d, value(d));
    }
    if (!text.empty()) out().line(fmt::format("const {} {};", index_type(), text));
  }

  /// What is the same for all accesses, then the loop over them.
  void open() {
    out().open_plain();
    declare_indices("base", [&](std::size_t d) {
      const isa::Expr& offset = place_.dimensions[d].offset;
      return sum(place_.fits_32_bits ? kernel_.short_index(offset) : kernel_.index(offset),
                 share("tv::thread()", kernel_.threads(), plan_.threads, static_cast<int>(d)));
    });
    if (address_ == AddressForm::sum) {
      out().line(fmt::format("tv::u8* const at_ = {} + {};", data_, bytes(offset("base"))));
    } else if (address_ == AddressForm::flipped) {
      out().line(fmt::format("const tv::i32 at_ = {};", bytes(offset("base"))));
    }
    if (plan_.count > 1) {
      out().open_plain(fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_)", plan_.count));
    }
    declare_access_indices();
    if (plan_.tests_bounds()) out().line(fmt::format("const bool inside_ = {};", bounds_test()));
  }

  /// i0_, i1_, ... are the place's share of the index, or all of it; x0_, ... is what flips.
  void declare_access_indices() {
    const bool flipped = address_ == AddressForm::flipped;
    if (is_alone()) return;
    declare_indices("i", [&](std::size_t d) {
      const std::string base = address_ == AddressForm::whole ? fmt::format("base{}_", d) : "";
      return sum(base, access_share(static_cast<int>(d), false, flipped));
    });
    if (!flipped) return;
    declare_indices(
        "x", [&](std::size_t d) { return sum("", access_share(static_cast<int>(d), true, true)); });
  }

  /// Whether there is one access, at at_.
  [[nodiscard]] bool is_alone() const { return plan_.count == 1 && address_ == AddressForm::sum; }

  void close() {
    if (plan_.count > 1) out().close();
    out().close();
  }

  /// The share of an access's number in an index; of the digits that flip or do not, if asked.
  [[nodiscard]] std::string access_share(int dim, bool flips, bool selects) const {
    std::vector<isa::PlacedTerm> terms;
    for (const AccessDigit& digit : plan_.outer) {
      if (selects && digit.flips != flips) continue;
      terms.push_back({digit.dim, digit.divisor, digit.size, digit.stride});
    }
    return share("l_", plan_.count, terms, dim);
  }

  /// The local place of element j_ of access l_.
  [[nodiscard]] std::string local_place() const {
    std::string text = place_of("l_", plan_.count, plan_.outer);
    return plan_.elements > 1 ? sum(text, place_of("j_", plan_.elements, plan_.inner))
                              : sum("", text);
  }

  static std::string place_of(std::string_view x, std::int64_t count,
                              const std::vector<AccessDigit>& digits) {
    std::vector<isa::PlacedTerm> terms;
    for (const AccessDigit& digit : digits) {
      terms.push_back({0, digit.divisor, digit.size, digit.step});
    }
    return share(x, count, terms, 0);
  }

  [[nodiscard]] std::string bounds_test() const {
    std::string text;
    for (std::size_t d = 0; d < place_.dimensions.size(); ++d) {
      if (place_.dimensions[d].inside) continue;
      const std::string index = is_alone() ? fmt::format("base{}_", d)
                                : address_ == AddressForm::whole
                                    ? fmt::format("i{}_", d)
                                    : fmt::format("base{0}_ + i{0}_", d);
      const auto extent = view_->extents[d].constant_int();
      text += fmt::format("{}{} < {}", text.empty() ? "" : " && ", index,
                          extent && *extent >= 0 ? fmt::format("{}", *extent)
                                                 : fmt::format("{}.extent[{}]", tensor_, d));
    }
    return text;
  }
  [[nodiscard]] std::string inside() const { return plan_.tests_bounds() ? "inside_" : "true"; }
  [[nodiscard]] std::string guard() const { return plan_.tests_bounds() ? "if (inside_) " : ""; }

  /// The offset in elements of the index with this letter.
  [[nodiscard]] std::string offset(std::string_view letter) const {
    if (layout_ != nullptr) return layout_offset(*layout_, letter);
    std::string text;
    for (std::size_t d = 0; d < place_.dimensions.size(); ++d) {
      const auto stride = (*view_->layout.strides())[d].constant_int();
      if (stride == std::int64_t{0}) continue;
      text += fmt::format("{}{}{}_", text.empty() ? "" : " + ", letter, d);
      if (!stride || *stride < 0) text += fmt::format(" * {}.stride[{}]", tensor_, d);
      if (stride && *stride > 1) text += fmt::format(" * {}", *stride);
    }
    return text.empty() ? "0" : text;
  }
  [[nodiscard]] std::string bytes(const std::string& elements) const {
    return elements == "0" ? "0" : fmt::format("tv::bytes<{}>({})", bits(), elements);
  }

  /// Where byte `at` of access l_ lies.
  [[nodiscard]] std::string address(std::int64_t at) const {
    std::string text;
    if (address_ == AddressForm::whole) {
      text = fmt::format("{} + {}", data_, bytes(offset("i")));
    } else if (address_ == AddressForm::flipped) {
      text = fmt::format("{} + (at_ ^ {}) + {}", data_, bytes(offset("x")), bytes(offset("i")));
    } else {
      text = is_alone() ? "at_" : fmt::format("at_ + {}", bytes(offset("i")));
    }
    return at == 0 ? text : fmt::format("{} + {}", text, at);
  }

  /// Of the words of access l_'s matrices.
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
      out().line(fmt::format("tv::load_bytes<{}>({}, {}, {}, {});", width, words,
                             sum(begin, at == 0 ? "" : fmt::format("{}", at)), address(at),
                             inside()));
      at += width;
    }
  }

  void store_from(std::string_view words, const std::string& begin) {
    std::int64_t at = 0;
    for (const std::int64_t width : plan_.widths) {
      out().line(fmt::format("{}tv::store_bytes<{}>({}, {}, {});", guard(), width, address(at),
                             words, sum(begin, at == 0 ? "" : fmt::format("{}", at))));
      at += width;
    }
  }

  /// Moves the elements of a run between memory's order and that of the registers.
  void permute(const std::string& text) {
    out().line(fmt::format("TV_UNROLL for (int j_ = 0; j_ < {}; ++j_) {}", plan_.elements, text));
  }

  KernelEmission& kernel_;
  const isa::AccessPlan& plan_;
  const isa::TilePlace& place_;
  const std::string &tile_, &tensor_;
  const std::string data_;
  const AddressForm address_;
  const isa::GlobalType* view_ = nullptr;  ///< none for a shared tensor
  const isa::MemoryLayout* layout_ = nullptr;
};

}  // namespace

void emit_load(isa::VarId tile, isa::VarId tensor, const isa::InstStmt& stmt,
               KernelEmission& kernel) {
  AccessEmission(tile, tensor, stmt, kernel).load();
}

void emit_store(isa::VarId tile, isa::VarId tensor, const isa::InstStmt& stmt,
                KernelEmission& kernel) {
  AccessEmission(tile, tensor, stmt, kernel).store();
}

}  // namespace tilevm::backend
