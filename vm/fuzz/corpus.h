// What a campaign leaves: a folder of plain files, which several campaigns' folders merge into.
//
//   progress.txt   a line for each finished part:
//                  seeds A B shard i n programs P seconds S engines E target T
//   coverage.txt   a line for each part of the schema that was used
//   *.tile         a case for each signature, shrunk, with seed, signature and command in comments
//   *.bundle       the same as a folder for `tilevm diff`, where two of its engines differ
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/fuzz/coverage.h"
#include "vm/fuzz/fuzz_case.h"
#include "vm/fuzz/seed_range.h"

namespace tilevm::vm::fuzz {

/// What is done with a seed.
struct Work {
  std::string engines;  ///< "sim,naive"; "planted" for planted faults
  std::string target;

  friend bool operator==(const Work&, const Work&) = default;
  friend auto operator<=>(const Work&, const Work&) = default;
};

/// A line of progress.txt.
struct Progress {
  SeedRange seeds;
  std::uint64_t programs = 0;
  double seconds = 0;
  Work work;
};

/// A case of a corpus, and what is known of it.
struct KeptCase {
  FuzzCase each;
  Finding finding;
  std::string file;
};

class Corpus {
 public:
  /// Opens or makes a folder. Error (usage): it cannot be written.
  [[nodiscard]] static Result<Corpus> open(const std::string& folder);

  [[nodiscard]] const std::vector<Progress>& progress() const { return progress_; }
  [[nodiscard]] const Coverage& coverage() const { return coverage_; }
  /// Whether a finished part has this seed.
  [[nodiscard]] bool has(std::uint64_t seed, const Work& work) const;

  [[nodiscard]] Status add_progress(const Progress& progress);
  [[nodiscard]] Status add_coverage(const Coverage& coverage);
  /// Writes a case; gives the file's path.
  [[nodiscard]] Result<std::string> add_case(const FuzzCase& each, const Finding& finding) const;
  /// The cases by the names of their files; other files are left out.
  [[nodiscard]] std::vector<KeptCase> cases() const;
  /// Takes over all that another folder has.
  [[nodiscard]] Status merge(const Corpus& other);

 private:
  explicit Corpus(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] Status read();
  void note_done(const Progress& progress);

  std::string folder_;
  std::vector<Progress> progress_;
  std::vector<Progress> done_;  ///< ranges of cases that are done, neighbours joined
  Coverage coverage_;
};

/// Where the bundle of a case's file lies.
[[nodiscard]] std::string bundle_folder(const std::string& case_file);

/// A case as a file: comments with what is known of it, then the program.
[[nodiscard]] std::string case_text(const FuzzCase& each, const Finding& finding);

/// Reads a case's file: what is known of it from the comments. Error (program): it has none.
[[nodiscard]] Result<KeptCase> read_case(const std::string& path);

}  // namespace tilevm::vm::fuzz
