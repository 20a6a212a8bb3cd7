#include "vm/data/array_file.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/suggest.h"
#include "vm/text/data_error.h"

namespace tilevm::vm {
namespace {

Error no_array(const ByteSource& file, const std::string& what) {
  return data_error(Code::bad_file, fmt::format("`{}` {}", file.name(), what),
                    {file.name(), {}, {}});
}

bool begins_with(const Bytes& bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(),
                    [](char c, std::uint8_t byte) { return static_cast<std::uint8_t>(c) == byte; });
}

/// The first names of a list that may be long.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), most));
  return fmt::format("`{}`{}", fmt::join(names.begin(), names.begin() + shown, "`, `"),
                     names.size() > most ? fmt::format(" and {} more", names.size() - most) : "");
}

}  // namespace

Result<ArrayFile> ArrayFile::open(std::unique_ptr<ByteSource> bytes) {
  const Result<Bytes> head = bytes->read(0, std::min<std::uint64_t>(bytes->size(), 9));
  if (!head) return head.error();
  if (begins_with(*head, "\x93NUMPY")) {
    ArrayFile file(std::move(bytes), Format::npy);
    file.names_.emplace_back();
    return file;
  }
  if (begins_with(*head, "PK")) {
    Result<std::vector<ZipMember>> members = zip_members(*bytes);
    if (!members) return members.error();
    ArrayFile file(std::move(bytes), Format::npz);
    for (ZipMember& member : *members) {
      if (!member.name.ends_with(".npy")) continue;
      file.names_.push_back(member.name.substr(0, member.name.size() - 4));
      file.members_.push_back(std::move(member));
    }
    return file;
  }
  if (head->size() == 9 && (*head)[8] == '{') {
    Result<std::vector<SafeTensor>> tensors = read_safetensors(*bytes);
    if (!tensors) return tensors.error();
    ArrayFile file(std::move(bytes), Format::safetensors);
    for (const SafeTensor& tensor : *tensors) file.names_.push_back(tensor.name);
    file.tensors_ = *std::move(tensors);
    return file;
  }
  return file_error(bytes->name(),
                    "it begins neither as a .npy file (\"\\x93NUMPY\") nor as a .npz "
                    "nor as a .safetensors file");
}

Result<std::size_t> ArrayFile::find(const std::string& member, const std::string& wanted) const {
  if (format_ == Format::npy) {
    if (member.empty()) return 0;
    return no_array(*bytes_, fmt::format("is a .npy file, which holds one array without a name; "
                                         "leave `:{}` out",
                                         member));
  }
  if (names_.empty()) return no_array(*bytes_, "holds no array");
  const std::string& name = member.empty() ? wanted : member;
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  if (member.empty() && names_.size() == 1) return 0;
  const std::string near = nearest(name, names_);
  return no_array(*bytes_, fmt::format("holds no array `{}`; {} (FILE:NAME names one)", name,
                                       near.empty() ? fmt::format("it has {}", some_of(names_))
                                                    : fmt::format("did you mean `{}`?", near)));
}

Result<HostArray> ArrayFile::read(const std::string& member, const std::string& wanted,
                                  const Check& check) const {
  const Result<std::size_t> index = find(member, wanted);
  if (!index) return index.error();
  switch (format_) {
    case Format::npy:
      return read_npy_file(check);
    case Format::npz:
      return read_npz(members_[*index], check);
    case Format::safetensors:
      return read_safetensor(tensors_[*index], check);
  }
  TILEVM_NO_ENUMERATOR();
}

Result<HostArray> ArrayFile::read_npy_file(const Check& check) const {
  const std::uint64_t size = bytes_->size();
  const Result<Bytes> head = bytes_->read(0, std::min<std::uint64_t>(size, max_npy_header_bytes));
  if (!head) return head.error();
  const Result<ArrayType> type = parse_npy_type(*head, size, bytes_->name());
  if (!type) return type.error();
  if (Status fits = check(*type); !fits) return fits.error();
  const Result<Bytes> bytes = bytes_->read(0, size);
  if (!bytes) return bytes.error();
  return parse_npy(*bytes, bytes_->name());
}

Result<HostArray> ArrayFile::read_npz(const ZipMember& member, const Check& check) const {
  const std::string name =
      fmt::format("{}:{}", bytes_->name(), member.name.substr(0, member.name.size() - 4));
  const Result<Bytes> head = read_member(*bytes_, member, max_npy_header_bytes);
  if (!head) return head.error();
  const Result<ArrayType> type = parse_npy_type(*head, member.size, name);
  if (!type) return type.error();
  if (Status fits = check(*type); !fits) return fits.error();
  const Result<Bytes> bytes = read_member(*bytes_, member, member.size + 1);
  if (!bytes) return bytes.error();
  return parse_npy(*bytes, name);
}

Result<HostArray> ArrayFile::read_safetensor(const SafeTensor& tensor, const Check& check) const {
  if (!tensor.dtype) {
    return no_array(*bytes_, fmt::format("holds `{}` as {}, which tilevm does not have",
                                         tensor.name, tensor.type));
  }
  if (Status fits = check({*tensor.dtype, tensor.shape, false}); !fits) return fits.error();
  Result<HostTensor> made = make_tensor(*tensor.dtype, tensor.shape, tensor.name);
  if (!made) return made.error();
  HostArray array{*std::move(made), false};
  Result<Bytes> bytes = bytes_->read(tensor.offset, tensor.bytes);
  if (!bytes) return bytes.error();
  array.data = *std::move(bytes);
  if (tensor.type == "BOOL") {
    for (std::uint8_t& byte : array.data) byte = byte != 0 ? 1 : 0;
  }
  return array;
}

}  // namespace tilevm::vm
