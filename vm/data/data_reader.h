// Reading the files that inputs name: archives are opened once, standard input is read once, and
// what was rounded is noted.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "isa/base/codes.h"
#include "isa/base/result.h"
#include "vm/data/array_file.h"
#include "vm/text/stream.h"

namespace tilevm::vm {

/// What was done to an input.
struct DataNote {
  Code code = Code::data_rounded;
  std::string message;
  DataPlace place;  ///< position of the first element
  std::size_t count = 0;
  double largest_error = 0;
};

class DataReader {
 public:
  /// Without a stream nothing reads standard input. `exact` refuses what would be rounded.
  explicit DataReader(bool exact = false, InputStream* standard_input = nullptr)
      : exact_(exact), standard_input_(standard_input) {}

  [[nodiscard]] bool exact() const { return exact_; }

  /// As ArrayFile::read; the path `-` is standard input. Error (usage): two inputs want the one
  /// array of standard input, or there is no such stream.
  [[nodiscard]] Result<HostArray> read(const std::string& path, const std::string& member,
                                       const std::string& wanted, const ArrayFile::Check& check);

  void add(DataNote note) { notes_.push_back(std::move(note)); }
  [[nodiscard]] const std::vector<DataNote>& notes() const { return notes_; }

 private:
  Result<const ArrayFile*> open(const std::string& path, const std::string& wanted);
  Result<ArrayFile> open_standard_input();

  bool exact_;
  InputStream* standard_input_;
  std::string piped_input_;  ///< the input that read standard input first
  std::map<std::string, ArrayFile> files_;
  std::vector<DataNote> notes_;
};

}  // namespace tilevm::vm
