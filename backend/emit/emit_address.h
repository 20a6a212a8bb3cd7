// Addresses and bounds of a tile's accesses to one tensor, as text.
//
// A tile's index along a tensor dimension is offset + thread part + access part. The first two are
// computed once, and the address, too, where offsets add up. The access part is a constant after
// unrolling, so it becomes an immediate of the machine instruction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/emit/emit_kernel.h"
#include "isa/access/access_plan.h"

namespace tilevm::backend {

class AddressEmission {
 public:
  /// What the numbers of accesses are called, and how many there are.
  struct Numbers {
    std::string name;
    std::int64_t count;
  };
  struct Base {
    isa::AddressForm form = isa::AddressForm::whole;
    std::string prefix{};                  ///< distinguishes the names of two sides
    std::optional<std::size_t> hoisted{};  ///< index in SelectedKernel::hoisted
    bool joined = false;                   ///< TileAccess::joined
    std::string index{};                   ///< index of an access, along TileMapping::indexed
  };
  AddressEmission(const isa::AccessSide& side, isa::VarId tensor, Numbers numbers, Base base,
                  KernelEmission& kernel);

  /// Declares what is the same for all accesses.
  void declare_base();
  /// Declares the indices of one access, inside the loop over accesses.
  void declare_access();

  /// The address of byte `at` of an access.
  [[nodiscard]] std::string address(std::int64_t at) const;
  /// The memory and the offset in elements of an access, for AddressForm::whole.
  [[nodiscard]] const std::string& data() const { return data_; }
  [[nodiscard]] std::string element() const { return offset("i"); }
  /// Whether the first element of an access is in the view; "" if that needs no test.
  [[nodiscard]] std::string bounds_test() const;
  /// The index and the extent along a dimension of the view.
  [[nodiscard]] std::string index(std::size_t dim) const;
  [[nodiscard]] std::string extent(std::size_t dim) const;

 private:
  template <class F>
  void declare_indices(std::string_view letter, F&& value);
  [[nodiscard]] std::string_view index_type() const {
    return side_.mapping.fits_32_bits ? "tv::u32" : "tv::u64";
  }
  [[nodiscard]] std::string thread_share(std::size_t dim) const;
  [[nodiscard]] std::string access_share(int dim, bool flips, bool selects) const;
  [[nodiscard]] std::string offset(std::string_view letter) const;
  [[nodiscard]] std::string bytes(const std::string& elements) const;
  [[nodiscard]] std::string letters(std::string_view letter) const;
  /// Whether there is one access, at at_.
  [[nodiscard]] bool is_alone() const {
    return numbers_.count == 1 && form_ == isa::AddressForm::sum && index_.empty();
  }

  KernelEmission& kernel_;
  const isa::AccessSide& side_;
  Numbers numbers_;
  isa::AddressForm form_;
  std::string prefix_;
  std::optional<std::size_t> hoisted_;
  bool joined_;  ///< at_ is the thread's part of the offset, to be combined by OR
  std::string index_;
  std::string tensor_, data_;
  const isa::GlobalType* view_ = nullptr;  ///< none for a shared tensor
  const isa::MemoryLayout* layout_ = nullptr;
};

}  // namespace tilevm::backend
