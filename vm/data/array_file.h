// A file of arrays: .npy, .npz or .safetensors, told apart by how it begins.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/data/npy.h"
#include "vm/data/safetensors.h"
#include "vm/data/zip.h"

namespace tilevm::vm {

class ArrayFile {
 public:
  /// Error (program): it is none of the three, or its directory is damaged.
  [[nodiscard]] static Result<ArrayFile> open(std::unique_ptr<ByteSource> bytes);

  /// Asked with the type and the shape before any data is read, so that a damaged or hostile file
  /// takes no more memory than what the caller wants.
  using Check = std::function<Status(const ArrayType&)>;

  /// The array called `member`; if that is empty, the only array, else the one called `wanted`.
  /// Errors (program): there is no such array, its data is damaged, or what the check says.
  [[nodiscard]] Result<HostArray> read(const std::string& member, const std::string& wanted,
                                       const Check& check) const;

  /// Whether it has arrays with names.
  [[nodiscard]] bool is_archive() const { return format_ != Format::npy; }

 private:
  enum class Format { npy, npz, safetensors };
  ArrayFile(std::unique_ptr<ByteSource> bytes, Format format)
      : bytes_(std::move(bytes)), format_(format) {}
  Result<std::size_t> find(const std::string& member, const std::string& wanted) const;
  Result<HostArray> read_npy_file(const Check& check) const;
  Result<HostArray> read_npz(const ZipMember& member, const Check& check) const;
  Result<HostArray> read_safetensor(const SafeTensor& tensor, const Check& check) const;

  std::unique_ptr<ByteSource> bytes_;
  Format format_;
  std::vector<std::string> names_;
  std::vector<ZipMember> members_;
  std::vector<SafeTensor> tensors_;
};

}  // namespace tilevm::vm
