#include "vm/data/reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "isa/type/number.h"

namespace tilevm::vm {

namespace {

std::vector<double> to_doubles(const HostTensor& tensor) {
  std::vector<double> values(tensor.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = isa::to_double(isa::decode(tensor.dtype, tensor.code(k)));
  }
  return values;
}

/// One row of the product, and of the product of magnitudes.
struct Row {
  std::vector<double> exact, magnitude;
};

void multiply_row(const double* a, const std::vector<double>& b, Row& row) {
  const std::size_t n = row.exact.size();
  std::fill(row.exact.begin(), row.exact.end(), 0.0);
  std::fill(row.magnitude.begin(), row.magnitude.end(), 0.0);
  for (std::size_t k = 0; k * n < b.size(); ++k) {
    const double left = a[k];
    for (std::size_t j = 0; j < n; ++j) {
      const double product = left * b[k * n + j];
      row.exact[j] += product;
      row.magnitude[j] += std::fabs(product);
    }
  }
}

}  // namespace

ProductError compare_product(const HostTensor& a, const HostTensor& b, const HostTensor& c) {
  const auto n = static_cast<std::size_t>(c.shape[1]);
  const auto k = static_cast<std::size_t>(a.shape[1]);
  const isa::DType& type = c.dtype;
  const double rounding = std::ldexp(1.0, -type.mantissa_bits - 1);
  const double subnormal = std::ldexp(1.0, type.least_exponent() - type.mantissa_bits);
  const double summing = static_cast<double>(k) * 0x1p-23;
  const std::vector<double> left = to_doubles(a);
  const std::vector<double> right = to_doubles(b);
  ProductError result;
  result.elements = c.size();
  Row row{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t i = 0; i * n < c.size(); ++i) {
    multiply_row(left.data() + i * k, right, row);
    for (std::size_t j = 0; j < n; ++j) {
      const std::uint64_t code = c.code(i * n + j);
      const double exact = row.exact[j];
      const double error = std::fabs(isa::to_double(isa::decode(type, code)) - exact);
      const double bound = std::fabs(exact) * rounding + row.magnitude[j] * summing + subnormal;
      if (error <= bound) ++result.within;
      result.largest_error = std::max(result.largest_error, error);
      result.largest_value = std::max(result.largest_value, std::fabs(exact));
      if (code == isa::encode(type, isa::number_from(exact))) ++result.nearest;
    }
  }
  return result;
}

}  // namespace tilevm::vm
