#include "vm/data/safetensors.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "isa/type/bits.h"
#include "vm/data/safetensors_header.h"
#include "vm/text/data_error.h"
#include "vm/text/json.h"

namespace tilevm::vm {
namespace {

constexpr std::uint64_t most_header_bytes = std::uint64_t{1} << 26;

struct TypeName {
  std::string_view name;
  isa::DType dtype;
};

constexpr std::array<TypeName, 20> safetensors_types = {
    {{"BOOL", isa::u8},
     {"U8", isa::u8},
     {"I8", isa::i8},
     {"F8_E5M2", isa::f8e5m2},
     {"F8_E4M3", isa::f8e4m3},
     {"F8_E8M0", isa::f8e8m0},
     {"I16", isa::i16},
     {"U16", isa::u16},
     {"F16", isa::f16},
     {"BF16", isa::bf16},
     {"I32", isa::i32},
     {"U32", isa::u32},
     {"F32", isa::f32},
     {"F64", isa::f64},
     {"I64", isa::i64},
     {"U64", isa::u64},
     // Elements of fewer bits follow one another, from the low bits of a byte on.
     {"F6_E2M3", isa::small_float(2, 3)},
     {"F6_E3M2", isa::small_float(3, 2)},
     {"F4", isa::small_float(2, 1)},
     {"F4_E2M1", isa::small_float(2, 1)}}};

std::optional<isa::DType> find_safetensors_type(std::string_view name) {
  for (const TypeName& type : safetensors_types) {
    if (type.name == name) return type.dtype;
  }
  return {};
}

/// The name of a type in files that are written.
std::string_view safetensors_name(const isa::DType& dtype) {
  for (const TypeName& type : safetensors_types) {
    if (type.dtype == dtype && type.name != "BOOL") return type.name;
  }
  return {};
}

/// Places are of the data.
SafeTensor tensor_of(HeaderEntry entry) {
  SafeTensor tensor{std::move(entry.name),  std::move(entry.type), {},
                    std::move(entry.shape), entry.begin,           entry.end - entry.begin};
  tensor.dtype = find_safetensors_type(tensor.type);
  return tensor;
}

/// Whether shape and bytes agree, for a type that is known.
bool has_its_bytes(const SafeTensor& tensor) {
  const std::optional<std::uint64_t> count = checked_count(tensor.shape);
  if (!count) return false;
  if (!tensor.dtype) return true;
  const unsigned bits = tensor.dtype->bits;
  if (*count > max_tensor_bytes * 64 || *count * bits % 8 != 0) return false;
  return *count * bits / 8 == tensor.bytes;
}

/// Data must be dense: each byte is one tensor's.
Status check_places(const ByteSource& file, const std::vector<SafeTensor>& tensors,
                    std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const SafeTensor& tensor : tensors) {
    if (!has_its_bytes(tensor)) {
      return file_error(file.name(), fmt::format("`{}` has {} bytes, which do not fit its shape",
                                                 tensor.name, tensor.bytes));
    }
    if (tensor.offset != end || tensor.bytes > data_bytes - end) {
      return file_error(
          file.name(),
          tensor.offset < end
              ? fmt::format("`{}` lies in the data of another tensor", tensor.name)
              : fmt::format("the data of `{}` is not where that of other tensors ends, or "
                            "the file is cut short",
                            tensor.name));
    }
    end += tensor.bytes;
  }
  if (end == data_bytes) return Done{};
  return file_error(file.name(),
                    fmt::format("{} bytes follow the data of its tensors", data_bytes - end));
}

}  // namespace

Result<std::vector<SafeTensor>> read_safetensors(const ByteSource& file) {
  const Result<Bytes> length = file.read(0, 8);
  if (!length) return length.error();
  std::uint64_t header_bytes = 0;
  for (std::size_t i = 0; i < 8; ++i) header_bytes |= std::uint64_t{(*length)[i]} << (8 * i);
  if (header_bytes > most_header_bytes) {
    return file_error(file.name(), fmt::format("its header of {} bytes is too long", header_bytes));
  }
  const Result<Bytes> header = file.read(8, header_bytes);
  if (!header) return file_error(file.name(), "it ends inside its header");
  auto entries = parse_safetensors_header(
      {reinterpret_cast<const char*>(header->data()), header->size()});  // bytes
  if (!entries) return file_error(file.name(), "bad header: " + entries.error().message);
  std::vector<SafeTensor> tensors;
  for (HeaderEntry& entry : *entries) tensors.push_back(tensor_of(std::move(entry)));
  std::stable_sort(tensors.begin(), tensors.end(), [](const SafeTensor& a, const SafeTensor& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  const std::uint64_t data = 8 + header_bytes;
  if (Status dense = check_places(file, tensors, file.size() - data); !dense) return dense.error();
  for (SafeTensor& tensor : tensors) tensor.offset += data;
  return tensors;
}

bool is_safetensors_type(const isa::DType& dtype) {
  return dtype.is_byte_sized() && !safetensors_name(dtype).empty();
}

Bytes safetensors_bytes(std::vector<NamedTensor> tensors) {
  // Wide elements first, so that all are aligned.
  std::stable_sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return a.tensor->dtype.bits > b.tensor->dtype.bits;
  });
  Json header = Json::object();
  std::uint64_t end = 0;
  for (const NamedTensor& each : tensors) {
    TILEVM_CHECK(is_safetensors_type(each.tensor->dtype), "a type that the format does not have");
    Json shape = Json::array(), offsets = Json::array();
    for (const std::int64_t extent : each.tensor->shape) shape.push(extent);
    offsets.push(end);
    end += each.tensor->data.size();
    offsets.push(end);
    Json entry = Json::object();
    entry.set("dtype", safetensors_name(each.tensor->dtype)).set("shape", std::move(shape));
    header.set(each.name, std::move(entry.set("data_offsets", std::move(offsets))));
  }
  std::string text = header.text();
  text.append((8 - text.size() % 8) % 8, ' ');
  Bytes bytes;
  for (unsigned i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(std::uint64_t{text.size()} >> (8 * i)));
  }
  bytes.insert(bytes.end(), text.begin(), text.end());
  for (const NamedTensor& each : tensors) {
    bytes.insert(bytes.end(), each.tensor->data.begin(), each.tensor->data.end());
  }
  return bytes;
}

}  // namespace tilevm::vm
