// A replay bundle: one folder with everything that a comparison of engines needs to be repeated, on
// another machine and after a change of either.
//
//   bundle.json         the manifest: entry, constants, target, engines, versions, hashes, verdict
//   program.tile        the program's text
//   emitted.cu          its CUDA C++, to read; nothing is read back from it
//   inputs/K.npy        what tensor K of the entry held before the run
//   results/E/K.npy     what engine E gave for tensor K, if it is an output
//
// Tensors are raw codes, one unsigned integer an element, so that every bit of every type is kept.
// Folders come from strangers: file names follow from numbers, never from the manifest, sizes are
// bounded, and all that is read is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/data/tensor.h"
#include "vm/diff/differ.h"

namespace tilevm::vm {

struct Bundle {
  /// What one engine gave.
  struct EngineResult {
    std::string backend, device, driver, compiler;
    std::string outcome;  ///< finished, fault, stopped, unstable
    /// Hashes by tensor; empty for a tensor that is not an output.
    std::vector<std::string> hashes;
    /// By tensor; nothing for those that are not outputs, or after a failure.
    std::vector<std::optional<HostTensor>> tensors;
  };

  std::string version;  ///< version of tilevm
  std::string file;     ///< what messages call the program
  std::string program;  ///< text of the program
  std::string emitted;
  std::vector<std::string> defines;          ///< "NAME=VALUE"
  std::vector<std::string> inputs, outputs;  ///< DataOptions from which the entry follows
  std::string entry, target;
  std::uint64_t seed = 0;
  std::string verdict;  ///< SeedVerdict::Kind
  std::string suspect;
  std::vector<std::string> names;   ///< names of the entry's tensors
  std::vector<HostTensor> tensors;  ///< tensors before the run
  std::vector<EngineResult> engines;

  /// "sim,cuda".
  [[nodiscard]] std::string backends() const;
};

/// What a bundle keeps of the command line.
struct BundleSource {
  std::string version;
  std::vector<std::string> defines;
  DataOptions data;
};

/// The bundle of a comparison.
[[nodiscard]] Bundle make_bundle(const DiffCase& what, const SeedRun& run, const Engines& engines,
                                 const BundleSource& source);

/// Writes a bundle to a folder, which is made, or replaces the bundle that the folder is. Error
/// (usage): the folder has other files, or cannot be written.
[[nodiscard]] Status write_bundle(const std::string& folder, const Bundle& bundle);

/// Whether a path is a folder with a manifest.
[[nodiscard]] bool is_bundle(const std::string& path);

/// Error (program): the folder is not a bundle, is of another schema, or a part of it is missing,
/// damaged or too large.
[[nodiscard]] Result<Bundle> read_bundle(const std::string& folder);

/// The program and the entry of a bundle, ready to run on its tensors. Error (program): the text
/// does not verify any more, or its entry takes other tensors.
[[nodiscard]] Result<DiffCase> load_bundle(const Bundle& bundle);

/// How a repeated run differs from what the bundle has, in words; empty if it does not.
[[nodiscard]] std::string compare_with_bundle(const Bundle& bundle, const DiffCase& what,
                                              const SeedRun& run);

}  // namespace tilevm::vm
