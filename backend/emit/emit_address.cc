#include "backend/emit/emit_address.h"

#include <utility>

#include <fmt/format.h>

#include "backend/emit/emit_index.h"

namespace tilevm::backend {

using isa::AccessDigit;
using isa::AddressForm;

AddressEmission::AddressEmission(const isa::AccessSide& side, isa::VarId tensor, Numbers numbers,
                                 Base base, KernelEmission& kernel)
    : kernel_(kernel),
      side_(side),
      numbers_(std::move(numbers)),
      form_(base.form),
      prefix_(std::move(base.prefix)),
      hoisted_(base.hoisted),
      joined_(base.joined),
      index_(std::move(base.index)),
      tensor_(kernel.name(tensor)),
      data_(side.mapping.shared ? tensor_ : tensor_ + ".data") {
  const isa::Type& type = kernel.definition().variable(tensor).type;
  view_ = std::get_if<isa::GlobalType>(&type);
  layout_ = view_ != nullptr ? view_->layout.memory_layout()
                             : &std::get_if<isa::SharedType>(&type)->layout;
}

std::string AddressEmission::letters(std::string_view letter) const {
  return fmt::format("{}{}", prefix_, letter);
}

/// "base0_ = .., base1_ = .." for all dimensions of the tensor.
template <class F>
void AddressEmission::declare_indices(std::string_view letter, F&& value) {
  std::string text;
  for (std::size_t d = 0; d < side_.mapping.dimensions.size(); ++d) {
    text += fmt::format("{}{}{}_ = {}", d > 0 ? ", " : "", letters(letter), d, value(d));
  }
  if (!text.empty()) kernel_.out.line(fmt::format("const {} {};", index_type(), text));
}

/// The thread's share of an index.
std::string AddressEmission::thread_share(std::size_t dim) const {
  return share(kernel_.thread(), kernel_.threads(), side_.threads, static_cast<int>(dim));
}

void AddressEmission::declare_base() {
  const isa::TileMapping& mapping = side_.mapping;
  declare_indices("base", [&](std::size_t d) {
    const isa::Expr& begin = mapping.dimensions[d].offset;
    return sum(mapping.fits_32_bits ? kernel_.short_index(begin) : kernel_.index(begin),
               hoisted_ ? "" : thread_share(d));
  });
  if (joined_) {
    kernel_.out.line(fmt::format("const tv::i32 {}at_ = {};", prefix_, bytes(offset("base"))));
  } else if (form_ == AddressForm::sum) {
    const std::string begin =
        hoisted_ ? fmt::format("tv::shared_to_generic(place{}_)", *hoisted_) : data_;
    kernel_.out.line(
        fmt::format("tv::u8* const {}at_ = {} + {};", prefix_, begin, bytes(offset("base"))));
  } else if (form_ == AddressForm::flipped) {
    kernel_.out.line(fmt::format("const tv::i32 {}at_ = {};", prefix_, bytes(offset("base"))));
  }
}

/// i0_, i1_, ... are the access's share of the index, or all of the index. x0_, x1_, ... are the
/// share of the digits that flip.
void AddressEmission::declare_access() {
  const bool flipped = form_ == AddressForm::flipped;
  if (is_alone()) return;
  declare_indices("i", [&](std::size_t d) {
    const std::string base =
        form_ == AddressForm::whole ? fmt::format("{}{}_", letters("base"), d) : "";
    const std::string own = access_share(static_cast<int>(d), false, flipped);
    if (side_.mapping.indexed != static_cast<int>(d)) return sum(base, own);
    return sum(base, fmt::format("static_cast<{}>({})", index_type(), index_));
  });
  if (!flipped) return;
  declare_indices(
      "x", [&](std::size_t d) { return sum("", access_share(static_cast<int>(d), true, true)); });
}

/// The share of an access's number in an index; of the digits that flip or do not, if asked.
std::string AddressEmission::access_share(int dim, bool flips, bool selects) const {
  std::vector<isa::TensorTerm> terms;
  for (const AccessDigit& digit : side_.outer) {
    if ((selects && digit.flips != flips) || digit.stride == 0) continue;
    terms.push_back({digit.dim, digit.divisor, digit.size, digit.stride});
  }
  return share(numbers_.name, numbers_.count, terms, dim);
}

std::string AddressEmission::index(std::size_t dim) const {
  if (is_alone()) return fmt::format("{}{}_", letters("base"), dim);
  const std::string own = fmt::format("{}{}_", letters("i"), dim);
  return form_ == AddressForm::whole ? own : fmt::format("{}{}_ + {}", letters("base"), dim, own);
}

std::string AddressEmission::extent(std::size_t dim) const {
  const auto value = view_->extents[dim].constant_int();
  return value && *value >= 0 ? fmt::format("{}", *value)
                              : fmt::format("{}.extent[{}]", tensor_, dim);
}

std::string AddressEmission::bounds_test() const {
  std::string text;
  for (std::size_t d = 0; d < side_.mapping.dimensions.size(); ++d) {
    if (side_.mapping.dimensions[d].inside) continue;
    text += fmt::format("{}{} < {}", text.empty() ? "" : " && ", index(d), extent(d));
  }
  return text;
}

/// The offset in elements of the index with this letter.
std::string AddressEmission::offset(std::string_view letter) const {
  if (layout_ != nullptr) return layout_offset(*layout_, letters(letter));
  std::string text;
  for (std::size_t d = 0; d < side_.mapping.dimensions.size(); ++d) {
    const auto stride = (*view_->layout.strides())[d].constant_int();
    if (stride == std::int64_t{0}) continue;
    text += fmt::format("{}{}{}_", text.empty() ? "" : " + ", letters(letter), d);
    if (!stride || *stride < 0) text += fmt::format(" * {}.stride[{}]", tensor_, d);
    if (stride && *stride > 1) text += fmt::format(" * {}", *stride);
  }
  return text.empty() ? "0" : text;
}

std::string AddressEmission::bytes(const std::string& elements) const {
  return elements == "0" ? "0"
                         : fmt::format("tv::bytes<{}>({})", side_.mapping.dtype.bits, elements);
}

std::string AddressEmission::address(std::int64_t at) const {
  std::string text;
  if (form_ == AddressForm::whole) {
    text = fmt::format("{} + {}", data_, bytes(offset("i")));
  } else if (form_ == AddressForm::flipped) {
    text = fmt::format("{} + ({}at_ ^ {}) + {}", data_, prefix_, bytes(offset("x")),
                       bytes(offset("i")));
  } else if (joined_) {
    text = fmt::format("{} + ({}at_ | {})", data_, prefix_, bytes(offset("i")));
  } else {
    text = prefix_ + "at_";
    if (!is_alone()) text += " + " + bytes(offset("i"));
  }
  return at == 0 ? text : fmt::format("{} + {}", text, at);
}

}  // namespace tilevm::backend
