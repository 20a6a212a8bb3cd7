#include "isa/type/dtype.h"

#include <fmt/format.h>

#include <unordered_map>

namespace tilevm::isa {
namespace {

constexpr int integer_widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64};

std::vector<DType> make_all_dtypes() {
  std::vector<DType> types;
  for (const int n : integer_widths) types.push_back(signed_int(n));
  for (const int n : integer_widths) types.push_back(unsigned_int(n));
  types.insert(types.end(), {f16, bf16, tf32, f32, f64});
  for (int bits = 8; bits >= 3; --bits) {
    for (int e = bits - 2; e >= 1; --e) types.push_back(small_float(e, bits - 1 - e));
  }
  for (int n = 1; n <= 8; ++n) types.push_back(bipolar(n));
  types.insert(types.end(), {f8e8m0, f7e4m3u});
  return types;
}

bool is_small_float(const DType& type) { return type.is_float() && type.bits <= 8; }

/// What tells a float without a sign from those with one in a name.
std::string_view sign_suffix(const DType& type) {
  return type.has_sign() || !type.has_zero() ? "" : "u";
}

std::string long_name(const DType& type) {
  switch (type.kind) {
    case TypeKind::signed_int:
      return fmt::format("int{}", type.bits);
    case TypeKind::unsigned_int:
      return fmt::format("uint{}", type.bits);
    case TypeKind::bipolar:
      return fmt::format("bipolar{}", type.bits);
    case TypeKind::floating:
      break;
  }
  if (type == bf16) return "bfloat16";
  if (type == tf32) return "tfloat32";
  if (!is_small_float(type)) return fmt::format("float{}", type.bits);
  return fmt::format("float{}_e{}m{}{}", type.bits, type.exponent_bits, type.mantissa_bits,
                     sign_suffix(type));
}

std::unordered_map<std::string, DType> make_names() {
  std::unordered_map<std::string, DType> names;
  for (const DType& type : all_dtypes()) {
    names.emplace(to_string(type), type);
    names.emplace(long_name(type), type);
  }
  return names;
}

}  // namespace

Specials DType::specials() const {
  if (!is_float()) return Specials::finite;
  if (bits > 8 || *this == f8e5m2) return Specials::ieee;
  return *this == f8e4m3 || !has_sign() ? Specials::nan : Specials::finite;
}

std::optional<DType> parse_dtype(std::string_view name) {
  static const std::unordered_map<std::string, DType> names = make_names();
  constexpr std::size_t longest_name = 16;
  if (name.size() > longest_name) return std::nullopt;
  const auto found = names.find(std::string(name));
  if (found == names.end()) return std::nullopt;
  return found->second;
}

std::string to_string(const DType& type) {
  switch (type.kind) {
    case TypeKind::signed_int:
      return fmt::format("i{}", type.bits);
    case TypeKind::unsigned_int:
      return fmt::format("u{}", type.bits);
    case TypeKind::bipolar:
      return fmt::format("b{}", type.bits);
    case TypeKind::floating:
      break;
  }
  if (type == bf16) return "bf16";
  if (type == tf32) return "tf32";
  if (!is_small_float(type)) return fmt::format("f{}", type.bits);
  return fmt::format("f{}e{}m{}{}", type.bits, type.exponent_bits, type.mantissa_bits,
                     sign_suffix(type));
}

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> types = make_all_dtypes();
  return types;
}

}  // namespace tilevm::isa
