// What may be tuned: the cross product of a file's tunables, and which of its points are legal.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/bind/constants.h"
#include "frontend/syntax/ast.h"
#include "isa/numeric/target.h"

namespace tilevm::vm::tuning {

/// The tunables that no define fixes; points are numbered, the last axis fastest.
struct Space {
  std::vector<isa::Tunable> axes;

  [[nodiscard]] std::uint64_t size() const;  ///< number of choices, 2^63 at most
  /// The values of a point, index < size().
  [[nodiscard]] std::vector<frontend::Define> point(std::uint64_t index) const;
  /// The number of "BM=16 BN=8": axes that are not named have their defaults, other names do not
  /// matter. Nothing: a value is not a choice.
  [[nodiscard]] std::optional<std::uint64_t> index_of(std::string_view point) const;
  /// The points that differ from this one in one axis, those with the next choice before those with
  /// one farther away.
  [[nodiscard]] std::vector<std::uint64_t> neighbours(std::uint64_t index) const;
};

/// A point that verifies.
struct Candidate {
  std::uint64_t index = 0;
  std::vector<frontend::Define> point;
  std::string key;      ///< names the emitted source and what is run of it
  double least_us = 0;  ///< no GPU reads the copied tensors faster (least_time.h)
};

struct PointsSettings {
  std::vector<frontend::Define> fixed = {};
  isa::Target target = {};
  std::string entry = {}, kernel = {};  ///< what is timed; a part of every key
  /// Number of the GPU's multiprocessors; 0: unknown, and every least_us is 0.
  int multiprocessors = 0;
  std::uint64_t seed = 0;
  std::vector<std::string> inputs = {};  ///< "NAME=SPEC", a part of every key
};

/// The points of a file, each looked at once and only when it is asked for: in a large space most
/// never are.
class Points {
 public:
  /// Faults of the file itself are diagnostics, also those of the only point.
  Points(std::shared_ptr<const SourceFile> source, PointsSettings settings,
         Diagnostics& diagnostics);

  [[nodiscard]] const Space& space() const { return space_; }
  /// What the diagnostics point into.
  [[nodiscard]] const std::shared_ptr<const SourceFile>& source() const { return source_; }

  /// Null: the point breaks a `require` or does not verify (too much shared memory, too many
  /// threads ..). The candidate lives as long as this object.
  const Candidate* look_at(std::uint64_t index);
  /// The next point of a random order, each once; nothing at its end. A space of more than 200,000
  /// points gives so many.
  std::optional<std::uint64_t> draw();

  /// How many points were looked at, and how many of these are legal.
  [[nodiscard]] std::uint64_t seen() const { return looked_at_.size(); }
  [[nodiscard]] std::uint64_t legal() const { return legal_; }
  /// Points by the reason for which they were rejected.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& rejected() const { return rejected_; }

 private:
  std::optional<Candidate> make(std::uint64_t index, Diagnostics& why);

  std::shared_ptr<const SourceFile> source_;
  PointsSettings settings_;
  std::optional<frontend::ast::Program> tree_;
  Space space_;
  std::map<std::uint64_t, std::optional<Candidate>> looked_at_;
  std::map<std::string, std::uint64_t> rejected_;
  std::uint64_t legal_ = 0;
  std::vector<std::uint64_t> order_;  // of a small space
  std::set<std::uint64_t> drawn_;     // of a large one
  std::uint64_t draws_ = 0;
};

/// "BM=16 BN=8".
[[nodiscard]] std::string to_string(const std::vector<frontend::Define>& point);

}  // namespace tilevm::vm::tuning
