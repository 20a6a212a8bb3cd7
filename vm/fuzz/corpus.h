// What a campaign leaves: a folder of plain files, which several campaigns' folders merge into.
//
//   progress.txt   a line for each finished batch: seeds A..B shard i/n programs P seconds S
//   coverage.txt   a line for each part of the schema that was used
//   *.tile         a case for each signature, shrunk, with seed, signature and command in comments
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/fuzz/coverage.h"
#include "vm/fuzz/fuzz_case.h"

namespace tilevm::vm::fuzz {

/// The seeds A..B, of those every `count`th from the `index`th on.
struct SeedRange {
  std::uint64_t first = 0, last = 0;
  std::uint64_t index = 0, count = 1;
};

/// A line of progress.txt.
struct Progress {
  SeedRange seeds;
  std::uint64_t programs = 0;
  double seconds = 0;
};

class Corpus {
 public:
  /// Opens or makes a folder. Error (usage): it cannot be written.
  [[nodiscard]] static Result<Corpus> open(const std::string& folder);

  [[nodiscard]] const std::vector<Progress>& progress() const { return progress_; }
  [[nodiscard]] const Coverage& coverage() const { return coverage_; }
  /// Whether a finished batch has this seed.
  [[nodiscard]] bool has(std::uint64_t seed) const;

  [[nodiscard]] Status add_progress(const Progress& progress);
  [[nodiscard]] Status add_coverage(const Coverage& coverage);
  /// Writes a case; gives the file's path.
  [[nodiscard]] Result<std::string> add_case(const FuzzCase& each, const Finding& finding) const;
  /// The files of cases, by name.
  [[nodiscard]] std::vector<std::string> case_files() const;
  /// Takes over all that another folder has.
  [[nodiscard]] Status merge(const Corpus& other);

 private:
  explicit Corpus(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] Status read();

  std::string folder_;
  std::vector<Progress> progress_;
  Coverage coverage_;
};

/// A case as a file: comments with what is known of it, then the program.
[[nodiscard]] std::string case_text(const FuzzCase& each, const Finding& finding);

/// Reads a case's file: its seed, target and inputs from the comments. Error (program): it has
/// none.
[[nodiscard]] Result<FuzzCase> read_case(const std::string& path);

}  // namespace tilevm::vm::fuzz
