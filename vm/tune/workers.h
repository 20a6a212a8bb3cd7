// The processes of a search: one times a point, one proves it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/host/subprocess.h"
#include "vm/tune/search_settings.h"
#include "vm/tune/space.h"
#include "vm/tune/trial.h"

namespace tilevm::vm::tuning {

class Workers {
 public:
  /// `folder`: where processes run and where the lock of the GPU is.
  Workers(const SearchSettings& settings, std::string folder)
      : settings_(settings), folder_(std::move(folder)) {}

  /// The file that a process locks while it uses the GPU.
  [[nodiscard]] std::string lock() const { return folder_ + "/gpu.lock"; }

  /// Nothing: the process did not end before `deadline`, and was killed.
  [[nodiscard]] std::optional<Trial> time(const Candidate& candidate, bool refuse_spills,
                                          Clock::time_point deadline) const;

  /// Whether the GPU gives the simulator's bits; the same.
  struct Proof {
    bool exact = false;
    std::string reason;  ///< why not
  };
  [[nodiscard]] std::optional<Proof> prove(const Candidate& candidate,
                                           Clock::time_point deadline) const;

 private:
  [[nodiscard]] std::vector<frontend::Define> defines_of(const Candidate& candidate) const;
  [[nodiscard]] Result<backend::ProcessResult> start(std::vector<std::string> arguments,
                                                     Clock::time_point deadline) const;

  const SearchSettings& settings_;
  std::string folder_;
};

}  // namespace tilevm::vm::tuning
