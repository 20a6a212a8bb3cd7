#include "vm/data/store.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "isa/type/number.h"
#include "vm/data/npy.h"
#include "vm/data/safetensors.h"
#include "vm/data/zip.h"
#include "vm/text/file.h"

namespace tilevm::vm {
namespace {

using Format = Dest::Format;

/// The smallest NumPy type that holds every value of `dtype`.
isa::DType number_type(const isa::DType& dtype) {
  if (is_numpy_type(dtype)) return dtype;
  if (dtype.is_float()) return isa::f32;
  if (dtype.is_bipolar()) return isa::i16;
  return dtype.is_signed_int() ? isa::i8 : isa::u8;
}

isa::DType code_type(const isa::DType& dtype) {
  for (const int bits : {8, 16, 32}) {
    if (dtype.bits <= bits) return isa::unsigned_int(bits);
  }
  return isa::u64;
}

/// The name of an output in its archive.
std::string member_of(const StoredOutput& output) {
  return output.dest.member.empty() ? output.name : output.dest.member;
}

/// What a file holds of an output: numbers of the file's types, or codes.
Result<HostTensor> file_array(const StoredOutput& output) {
  const HostTensor& tensor = *output.tensor;
  const Dest& dest = output.dest;
  const Status given =
      check_given(dest.dtype, dest.shape, dest.text, tensor.dtype, tensor.shape, output.name);
  if (!given) return given.error();
  const bool keeps =
      dest.format == Format::safetensors && !dest.codes && is_safetensors_type(tensor.dtype);
  if (keeps) return tensor;
  return to_numpy(tensor, dest.codes);
}

/// The bytes of a file with these outputs: one, or those of an archive.
Result<Bytes> file_bytes(const std::vector<const StoredOutput*>& outputs) {
  std::vector<HostTensor> arrays;
  for (const StoredOutput* output : outputs) {
    Result<HostTensor> array = file_array(*output);
    if (!array) return array.error();
    arrays.push_back(*std::move(array));
  }
  switch (outputs.front()->dest.format) {
    case Format::npy:
      return npy_bytes(arrays.front());
    case Format::npz: {
      std::vector<ZipContent> contents;
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        contents.push_back({member_of(*outputs[i]) + ".npy", npy_bytes(arrays[i])});
      }
      return zip_bytes(contents);
    }
    case Format::safetensors: {
      std::vector<NamedTensor> tensors;
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        tensors.push_back({member_of(*outputs[i]), &arrays[i]});
      }
      return safetensors_bytes(std::move(tensors));
    }
  }
  TILEVM_NO_ENUMERATOR();
}

/// Outputs by their file, in the order of the first of each.
std::vector<std::vector<const StoredOutput*>> by_file(std::span<const StoredOutput> outputs) {
  std::vector<std::vector<const StoredOutput*>> files;
  std::map<std::pair<std::string, Format>, std::size_t> places;
  for (const StoredOutput& output : outputs) {
    const bool is_archive = output.dest.format != Format::npy;
    const auto [place, is_new] =
        places.try_emplace({output.dest.path, output.dest.format}, files.size());
    if (is_new || !is_archive) {
      files.push_back({&output});
    } else {
      files[place->second].push_back(&output);
    }
  }
  return files;
}

Status check_members(const std::vector<const StoredOutput*>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (member_of(*outputs[i]) != member_of(*outputs[k])) continue;
      return Error{ErrorKind::usage,
                   fmt::format("two outputs would be the array `{}` of `{}`; name two arrays",
                               member_of(*outputs[i]), outputs[i]->dest.path)};
    }
  }
  return Done{};
}

}  // namespace

Result<HostTensor> to_numpy(const HostTensor& tensor, bool codes) {
  const isa::DType dtype = codes ? code_type(tensor.dtype) : number_type(tensor.dtype);
  Result<HostTensor> result = make_tensor(dtype, tensor.shape, "the file's data");
  if (!result) return result;
  if (dtype == tensor.dtype) {
    result->data = tensor.data;
    return result;
  }
  for (std::size_t k = 0, size = tensor.size(); k < size; ++k) {
    const std::uint64_t code = tensor.code(k);
    result->set_code(k, codes ? code : isa::encode(dtype, isa::decode(tensor.dtype, code)));
  }
  return result;
}

Status check_destinations(std::span<const StoredOutput> outputs,
                          const std::vector<std::string>& other_files) {
  std::vector<std::string> paths = other_files;
  std::size_t streams = 0;
  for (const auto& file : by_file(outputs)) {
    if (Status distinct = check_members(file); !distinct) return distinct;
    if (file.front()->dest.path == "-") {
      ++streams;
    } else {
      paths.push_back(file.front()->dest.path);
    }
  }
  if (streams > 1) {
    return Error{ErrorKind::usage,
                 "two outputs go to standard output; write both as arrays of one archive by npz:- "
                 "or safetensors:-"};
  }
  return check_outputs(paths);
}

Status store(std::span<const StoredOutput> outputs, OutputStream& standard_output) {
  for (const auto& file : by_file(outputs)) {
    const Result<Bytes> bytes = file_bytes(file);
    if (!bytes) return bytes.error();
    const std::string& path = file.front()->dest.path;
    if (path != "-") {
      if (Status written = write_file_atomic(path, *bytes); !written) return written;
      continue;
    }
    standard_output.write(reinterpret_cast<const char*>(bytes->data()),  // bytes
                          static_cast<std::ptrdiff_t>(bytes->size()));
    standard_output.flush();
    if (!standard_output) return Error{ErrorKind::usage, "cannot write to standard output"};
  }
  return Done{};
}

}  // namespace tilevm::vm
