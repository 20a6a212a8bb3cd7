#include "vm/data/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "isa/type/bits.h"
#include "vm/data/npy_header.h"
#include "vm/text/data_error.h"
#include "vm/text/file.h"

namespace tilevm::vm {
namespace {

constexpr std::array<std::uint8_t, 6> magic = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr std::size_t max_header_bytes = 1 << 16;
static_assert(max_npy_header_bytes == max_header_bytes + 12);

struct NpyType {
  std::string_view descr;  ///< element type without the byte order
  isa::DType dtype;
};

constexpr std::array<NpyType, 12> types = {{{"b1", isa::u8},
                                            {"i1", isa::i8},
                                            {"i2", isa::i16},
                                            {"i4", isa::i32},
                                            {"i8", isa::i64},
                                            {"u1", isa::u8},
                                            {"u2", isa::u16},
                                            {"u4", isa::u32},
                                            {"u8", isa::u64},
                                            {"f2", isa::f16},
                                            {"f4", isa::f32},
                                            {"f8", isa::f64}}};

/// An element as the file has it.
struct ItemType {
  isa::DType dtype;
  bool untyped = false;
  std::optional<isa::DType> coded = {};  ///< u8 items are codes of this type
};

/// What ml_dtypes is saved as, and the names of its types.
std::optional<ItemType> parse_ml_dtype(std::string_view descr) {
  if (descr == "V1") return ItemType{isa::u8, true};
  if (descr == "V2" || descr == "bfloat16") return ItemType{isa::bf16};
  if (descr == "f1" || descr == "float8_e5m2") return ItemType{isa::f8e5m2};
  if (descr == "float8_e4m3fn") return ItemType{isa::f8e4m3};
  if (descr == "float8_e8m0fnu") return ItemType{isa::f8e8m0};
  if (descr.ends_with("fn")) descr.remove_suffix(2);  // float6_e2m3fn
  const std::optional<isa::DType> dtype = isa::parse_dtype(descr);
  const bool named = descr.starts_with("int") || descr.starts_with("uint") ||
                     descr.starts_with("float4_") || descr.starts_with("float6_");
  if (named && dtype && dtype->bits < 8) return ItemType{isa::u8, false, dtype};
  return {};
}

/// The element type of a `descr`. Anything but '>' means little-endian: '<', '|' (no order) and '='
/// (the order of the machine that wrote it, which is little wherever tilevm runs).
std::optional<ItemType> parse_descr(std::string_view descr) {
  if (!descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    descr.remove_prefix(1);
  }
  for (const NpyType& type : types) {
    if (type.descr == descr) return ItemType{type.dtype};
  }
  return parse_ml_dtype(descr);
}

bool is_bool(std::string_view descr) { return descr.ends_with("b1"); }

std::string describe_type(std::string_view descr) {
  if (descr.find('O') != std::string_view::npos) return "it holds Python objects";
  if (descr.find('c') != std::string_view::npos) return "it holds complex numbers";
  if (descr.find('U') != std::string_view::npos || descr.find('S') != std::string_view::npos) {
    return "it holds strings";
  }
  std::string shown(descr);
  for (char& c : shown) c = c >= ' ' && c <= '~' ? c : '?';
  return fmt::format("its element type `{}` is not supported", shown);
}

/// Where header and data are in a file.
struct Parts {
  std::string_view header;
  std::span<const std::uint8_t> data;
};

Result<Parts> split(std::span<const std::uint8_t> bytes, const std::string& name) {
  if (bytes.size() < magic.size() || !std::equal(magic.begin(), magic.end(), bytes.begin())) {
    return file_error(name, "it is not an .npy file (it does not begin with \"\\x93NUMPY\")");
  }
  if (bytes.size() < 10) return file_error(name, "it ends inside its header");
  const unsigned major = bytes[6];
  if (major < 1 || major > 3) {
    return file_error(name,
                      fmt::format("its format is {}.{}, known are 1.0 to 3.0", major, bytes[7]));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (bytes.size() < begin) return file_error(name, "it ends inside its header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::size_t{bytes[8 + i]} << (8 * i);
  if (length > max_header_bytes) {
    return file_error(name, fmt::format("its header of {} bytes is too long", length));
  }
  if (bytes.size() - begin < length) return file_error(name, "it ends inside its header");
  const auto* text = reinterpret_cast<const char*>(bytes.data() + begin);
  return Parts{{text, length}, bytes.subspan(begin + length)};
}

void swap_bytes(HostTensor& tensor) {
  const std::ptrdiff_t width = tensor.dtype.bits / 8;
  for (auto p = tensor.data.begin(); p != tensor.data.end(); p += width) std::reverse(p, p + width);
}

/// Data whose first index runs fastest, reordered so that the last does.
void reorder_from_fortran(HostTensor& tensor) {
  const std::size_t rank = tensor.shape.size(), width = tensor.dtype.bits / 8;
  if (rank < 2 || tensor.data.empty()) return;
  std::vector<std::size_t> stride(rank, width), index(rank, 0);
  for (std::size_t i = 1; i < rank; ++i) {
    stride[i] = stride[i - 1] * static_cast<std::size_t>(tensor.shape[i - 1]);
  }
  std::vector<std::uint8_t> result(tensor.data.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to < result.size(); to += width) {
    std::copy_n(tensor.data.begin() + static_cast<std::ptrdiff_t>(from), width,
                result.begin() + static_cast<std::ptrdiff_t>(to));
    for (std::size_t i = rank; i-- > 0;) {
      from += stride[i];
      if (++index[i] < static_cast<std::size_t>(tensor.shape[i])) break;
      from -= stride[i] * index[i];
      index[i] = 0;
    }
  }
  tensor.data = std::move(result);
}

/// Header and data must agree to the byte.
Status check_size(const isa::DType& dtype, const NpyHeader& header, std::size_t available,
                  const std::string& name) {
  const std::optional<std::uint64_t> count = checked_count(header.shape);
  const std::size_t width = dtype.bits / 8;
  if (!count || *count > max_tensor_bytes / width) {
    return file_error(name,
                      fmt::format("its shape ({}) is too large", fmt::join(header.shape, ", ")));
  }
  const std::uint64_t expected = *count * width;
  if (available < expected) {
    return file_error(name, fmt::format("it is cut short: {} bytes of data, {} expected for {}",
                                        available, expected, format_type(dtype, header.shape)));
  }
  if (available > expected) {
    return file_error(name, fmt::format("{} bytes follow the data of {}", available - expected,
                                        format_type(dtype, header.shape)));
  }
  return Done{};
}

/// The head of a file: how its data is to be read, and the place where it begins.
struct Head {
  NpyHeader header;
  ItemType item;
  std::size_t data = 0;
};

Result<Head> read_head(std::span<const std::uint8_t> bytes, std::uint64_t size,
                       const std::string& name) {
  const Result<Parts> parts = split(bytes, name);
  if (!parts) return parts.error();
  Result<NpyHeader> header = parse_npy_header(parts->header);
  if (!header) return file_error(name, "bad header: " + header.error().message);
  const std::optional<ItemType> item = parse_descr(header->descr);
  if (!item) {
    return file_error(name, describe_type(header->descr) +
                                "; readable are bool, int8 to int64, uint8 to uint64, float16, "
                                "float32, float64 and the types of ml_dtypes");
  }
  const std::size_t data = bytes.size() - parts->data.size();
  const Status fits = check_size(item->dtype, *header, size - data, name);
  if (!fits) return fits.error();
  return Head{*std::move(header), *item, data};
}

/// Items of one byte as elements of a type that is narrower.
Result<HostTensor> narrow(const HostTensor& items, const isa::DType& dtype,
                          const std::string& name) {
  Result<HostTensor> tensor = make_tensor(dtype, items.shape, name);
  if (!tensor) return tensor;
  for (std::size_t k = 0; k < items.data.size(); ++k) tensor->set_code(k, items.data[k]);
  return tensor;
}

}  // namespace

Result<ArrayType> parse_npy_type(std::span<const std::uint8_t> bytes, std::uint64_t size,
                                 const std::string& name) {
  const Result<Head> head = read_head(bytes, size, name);
  if (!head) return head.error();
  return ArrayType{head->item.coded.value_or(head->item.dtype), head->header.shape,
                   head->item.untyped};
}

Result<HostArray> parse_npy(std::span<const std::uint8_t> bytes, const std::string& name) {
  const Result<Head> head = read_head(bytes, bytes.size(), name);
  if (!head) return head.error();
  Result<HostTensor> tensor = make_tensor(head->item.dtype, head->header.shape, name);
  if (!tensor) return tensor.error();
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(head->data), bytes.end(),
            tensor->data.begin());
  if (head->header.descr.starts_with('>')) swap_bytes(*tensor);
  if (head->header.fortran_order) reorder_from_fortran(*tensor);
  if (is_bool(head->header.descr)) {
    for (std::uint8_t& byte : tensor->data) byte = byte != 0 ? 1 : 0;
  }
  if (head->item.coded) {
    tensor = narrow(*tensor, *head->item.coded, name);
    if (!tensor) return tensor.error();
  }
  return HostArray{*std::move(tensor), head->item.untyped};
}

Result<HostArray> read_npy(const std::string& path) {
  const Result<std::vector<std::uint8_t>> bytes =
      read_file(path, max_tensor_bytes + max_header_bytes);
  if (!bytes) return bytes.error();
  return parse_npy(*bytes, path);
}

bool is_numpy_type(const isa::DType& dtype) {
  return std::any_of(types.begin(), types.end(),
                     [&](const NpyType& type) { return type.dtype == dtype; });
}

std::vector<std::uint8_t> npy_bytes(const HostTensor& tensor) {
  TILEVM_CHECK(is_numpy_type(tensor.dtype), "a .npy file of a type that NumPy does not have");
  const char kind = tensor.dtype.is_float() ? 'f' : tensor.dtype.is_signed_int() ? 'i' : 'u';
  const int width = tensor.dtype.bits / 8;
  std::string header = fmt::format(
      "{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}{}), }}", width == 1 ? '|' : '<',
      kind, width, fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  // Data begins at a multiple of 64 bytes; the header ends in a line break.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::vector<std::uint8_t> bytes(magic.begin(), magic.end());
  const auto length = static_cast<std::uint16_t>(header.size());
  for (const unsigned byte : {1u, 0u, length & 0xffu, unsigned{length} >> 8}) {
    bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), tensor.data.begin(), tensor.data.end());
  return bytes;
}

Status write_npy(const std::string& path, const HostTensor& tensor) {
  return write_file_atomic(path, npy_bytes(tensor));
}

}  // namespace tilevm::vm
