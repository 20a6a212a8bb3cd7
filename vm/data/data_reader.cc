#include "vm/data/data_reader.h"

#include <utility>

namespace tilevm::vm {

Result<ArrayFile> DataReader::open_standard_input() {
  if (standard_input_ == nullptr) {
    return Error{ErrorKind::usage, "standard input holds no data here; name a file instead of `-`"};
  }
  const std::string name = "<stdin>";
  Result<Bytes> bytes = read_stream(*standard_input_, max_tensor_bytes + (1 << 16), name);
  if (!bytes) return bytes.error();
  return ArrayFile::open(bytes_in_memory(*std::move(bytes), name));
}

Result<const ArrayFile*> DataReader::open(const std::string& path, const std::string& wanted) {
  const auto found = files_.find(path);
  if (found != files_.end()) {
    if (path == "-" && !found->second.is_archive() && wanted != piped_input_) {
      return Error{ErrorKind::usage,
                   "two inputs read standard input, which holds one array; pipe a .npz or a "
                   ".safetensors file that has both"};
    }
    return &found->second;
  }
  if (path == "-") {
    Result<ArrayFile> file = open_standard_input();
    if (!file) return file.error();
    piped_input_ = wanted;
    return &files_.emplace(path, *std::move(file)).first->second;
  }
  Result<std::unique_ptr<ByteSource>> bytes = open_bytes(path);
  if (!bytes) return bytes.error();
  Result<ArrayFile> file = ArrayFile::open(*std::move(bytes));
  if (!file) return file.error();
  return &files_.emplace(path, *std::move(file)).first->second;
}

Result<HostArray> DataReader::read(const std::string& path, const std::string& member,
                                   const std::string& wanted, const ArrayFile::Check& check) {
  const Result<const ArrayFile*> file = open(path, wanted);
  if (!file) return file.error();
  return (*file)->read(member, wanted, check);
}

}  // namespace tilevm::vm
