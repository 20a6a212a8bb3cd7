#include "backend/emu/wgmma_unit.h"

#include <algorithm>
#include <cstring>

namespace tilevm::backend {
namespace {

constexpr unsigned rows_of_warp = 16;

/// The extents at which the model is fastest.
isa::MmaShape piece_of(const isa::MmaShape& shape) {
  isa::MmaShape piece = shape;
  piece.m = rows_of_warp;
  piece.n = 8;
  return piece;
}

std::size_t words_of(const isa::DType& type, const isa::RegisterLayout& layout) {
  return static_cast<std::size_t>(layout.num_locals() * type.bits / 32);
}

}  // namespace

DescribedMatrix::DescribedMatrix(std::uint64_t descriptor, bool mn_major, unsigned element_bytes)
    : start_((descriptor & 0x3fff) * 16),
      leading_((descriptor >> 16 & 0x3fff) * 16),
      stride_((descriptor >> 32 & 0x3fff) * 16),
      mn_major_(mn_major),
      element_bytes_(element_bytes) {
  constexpr std::array<std::uint64_t, 4> bytes{0, 128, 64, 32};
  swizzle_ = bytes[descriptor >> 62];
}

std::uint64_t DescribedMatrix::byte(unsigned row, unsigned k) const {
  const std::uint64_t r = row, d = k, es = element_bytes_, unit = 16;
  std::uint64_t at = start_;
  if (!mn_major_ && swizzle_ == 0) {
    at += r / 8 * stride_ + r % 8 * unit + d * es / unit * leading_ + d * es % unit;
  } else if (!mn_major_) {
    at += r / 8 * stride_ + r % 8 * swizzle_ + d * es;
  } else if (swizzle_ == 0) {
    const std::uint64_t period = unit / es;
    at += r / period * stride_ + r % period * es + d / 8 * leading_ + d % 8 * unit;
  } else {
    const std::uint64_t period = swizzle_ / es;
    at += r / period * leading_ + r % period * es + d / 8 * stride_ + d % 8 * swizzle_;
  }
  return swizzle_ == 0 ? at : at ^ (at / 128 % (swizzle_ / unit)) * unit;
}

template <class Element>
void DescribedMatrix::read_elements(const unsigned char* shared, unsigned first_row, unsigned rows,
                                    unsigned depth, std::size_t in_row, std::size_t in_column,
                                    std::span<std::uint64_t> codes) const {
  const std::size_t step = mn_major_ ? in_column : in_row;
  for_each_group(first_row, rows, depth, [&](unsigned row, unsigned k, std::uint64_t at) {
    std::array<Element, group_bytes / sizeof(Element)> group;
    std::memcpy(group.data(), shared + at, sizeof group);
    std::size_t place = (row - first_row) * in_column + k * in_row;
    for (const Element code : group) {
      codes[place] = code;
      place += step;
    }
  });
}

void DescribedMatrix::read(const unsigned char* shared, unsigned first_row, unsigned rows,
                           unsigned depth, std::size_t in_row, std::size_t in_column,
                           std::span<std::uint64_t> codes) const {
  switch (element_bytes_) {
    case 1:
      return read_elements<std::uint8_t>(shared, first_row, rows, depth, in_row, in_column, codes);
    case 2:
      return read_elements<std::uint16_t>(shared, first_row, rows, depth, in_row, in_column, codes);
    default:
      return read_elements<std::uint32_t>(shared, first_row, rows, depth, in_row, in_column, codes);
  }
}

WgmmaUnit::WgmmaUnit(const isa::MmaShape& shape)
    : shape_(shape),
      piece_(piece_of(shape)),
      a_(shape.a.bits, {shape.a.bits}, shape.a_layout, warp_size),
      d_(shape.accumulator.bits, {shape.accumulator.bits}, shape.c_layout, warp_size),
      a_words_(words_of(shape.a, shape.a_layout)),
      d_words_(words_of(shape.accumulator, shape.c_layout)) {}

void WgmmaUnit::multiply(const MmaModel& model, std::span<const std::uint64_t> a,
                         std::span<const std::uint64_t> b, std::span<std::uint64_t> d) const {
  const auto n = static_cast<std::size_t>(shape_.n), k = static_cast<std::size_t>(shape_.k);
  const auto columns = static_cast<std::size_t>(piece_.n);
  for (std::size_t first = 0; first < n; first += columns) {
    model(piece_, a, b.subspan(first * k, columns * k),
          d.subspan(first * rows_of_warp, columns * rows_of_warp), {});
  }
}

WarpProduct::WarpProduct(const WgmmaUnit& unit, const MmaModel& model, unsigned warp,
                         emu::Range shared,
                         const std::array<const emu::DotOperands*, warp_size>& operands,
                         const std::array<unsigned* const*, warp_size>& d)
    : unit_(&unit), model_(&model), warp_(warp), shared_(shared), operands_(*operands[0]) {
  for (unsigned* const* words : d) d_.insert(d_.end(), words, words + unit.d_words());
  if (operands_.a_words == nullptr) return;
  WarpRegisters<const void> a{};
  for (std::size_t lane = 0; lane < warp_size; ++lane) a[lane] = operands[lane]->a_words;
  a_codes_.resize(unit.a().size());
  unit.a().gather(a, a_codes_);
}

std::vector<std::uint64_t> WarpProduct::read_a() const {
  if (!a_codes_.empty()) return a_codes_;
  const isa::MmaShape& shape = unit_->shape();
  const auto bytes = static_cast<unsigned>(shape.a.bits / 8), k = static_cast<unsigned>(shape.k);
  std::vector<std::uint64_t> codes(std::size_t{rows_of_warp} * k);
  DescribedMatrix(operands_.a, operands_.a_mn_major, bytes)
      .read(shared_.begin, warp_ % 4 * rows_of_warp, rows_of_warp, k, rows_of_warp, 1, codes);
  return codes;
}

std::vector<std::uint64_t> WarpProduct::read_b() const {
  const isa::MmaShape& shape = unit_->shape();
  const auto bytes = static_cast<unsigned>(shape.b.bits / 8), k = static_cast<unsigned>(shape.k),
             n = static_cast<unsigned>(shape.n);
  std::vector<std::uint64_t> codes(std::size_t{n} * k);
  DescribedMatrix(operands_.b, operands_.b_mn_major, bytes)
      .read(shared_.begin, 0, n, k, 1, k, codes);
  return codes;
}

std::optional<std::uint64_t> WarpProduct::find_outside() const {
  const isa::MmaShape& shape = unit_->shape();
  const auto k = static_cast<unsigned>(shape.k);
  std::optional<std::uint64_t> found;
  const auto look = [&](std::uint64_t descriptor, bool mn_major, int bits, std::int64_t rows) {
    const auto bytes = static_cast<unsigned>(bits / 8);
    constexpr unsigned group = DescribedMatrix::group_bytes;
    DescribedMatrix(descriptor, mn_major, bytes)
        .for_each_group(0, static_cast<unsigned>(rows), k,
                        [&](unsigned, unsigned, std::uint64_t at) {
                          if (at + group > shared_.size) found = at + group - bytes;
                        });
  };
  if (operands_.a_words == nullptr) look(operands_.a, operands_.a_mn_major, shape.a.bits, shape.m);
  look(operands_.b, operands_.b_mn_major, shape.b.bits, shape.n);
  return found;
}

void WarpProduct::land() const {
  const isa::MmaShape& shape = unit_->shape();
  std::vector<std::uint64_t> a = read_a(), b = read_b();
  const auto negate = [](std::vector<std::uint64_t>& codes, int bits) {
    for (std::uint64_t& code : codes) code ^= std::uint64_t{1} << (bits - 1);
  };
  if (operands_.negate_a) negate(a, shape.a.bits);
  if (operands_.negate_b) negate(b, shape.b.bits);
  const std::size_t words = unit_->d_words();
  std::vector<unsigned> values(d_.size());
  for (std::size_t i = 0; i < d_.size(); ++i) values[i] = *d_[i];
  WarpRegisters<const void> before{};
  WarpRegisters<void> after{};
  for (std::size_t lane = 0; lane < warp_size; ++lane) {
    before[lane] = after[lane] = &values[lane * words];
  }
  std::vector<std::uint64_t> d(unit_->d().size(), 0);
  if (operands_.accumulate) unit_->d().gather(before, d);
  unit_->multiply(*model_, a, b, d);
  unit_->d().scatter(d, after);
  for (std::size_t i = 0; i < d_.size(); ++i) *d_[i] = values[i];
}

}  // namespace tilevm::backend
