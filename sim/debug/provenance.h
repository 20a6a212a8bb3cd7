// Where a value comes from: backwards through registers, shared memory and global memory, statement
// by statement, to the input that the value was.
//
// What is followed is a range of bits, so that an element of a packed type leads to its bits in the
// bytes that hold it; or a scalar, which leads through expressions, loads, ranges of loops and
// parameters. Each step lists the scalars in offsets and conditions beside (scalar_sources.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/debug/access_capture.h"
#include "sim/debug/reply.h"
#include "sim/debug/scalar_sources.h"
#include "sim/debug/timeline.h"

namespace tilevm::sim::debug {

/// "bits 4..7 of byte 12, bits 0..1 of byte 44".
[[nodiscard]] std::string byte_ranges(const std::vector<BitRange>& bits);

/// Where the machine is, for a block.
[[nodiscard]] Position make_position(Machine& machine, std::size_t resident);

/// Follows trails into the past. The machine is left where the last step of a trail was.
class Provenance {
 public:
  Provenance(Timeline& timeline, const std::vector<isa::DType>& dtypes,
             const std::vector<isa::Shape>& shapes)
      : timeline_(timeline), dtypes_(dtypes), shapes_(shapes) {}

  /// The trail of an element of a tensor that was looked up in the state where the machine is.
  [[nodiscard]] static Trail trail_of(const Tensor& tensor, const isa::Index& index,
                                      std::optional<std::int64_t> thread, std::size_t launch,
                                      std::uint64_t rank);

  /// The statement that wrote the bits last before where the machine is, which then is before that
  /// statement. `next` takes what the value was made of there; nothing at the end of the way. At a
  /// choice the operand called `via` is followed; else one that is NaN or infinite if the value is;
  /// else one that has the value; else the first one. `branches` takes all that can be followed, as
  /// the cause numbers them: values, then the scalars of offsets and conditions.
  [[nodiscard]] reply::Cause step(Trail trail, const std::string& via,
                                  std::optional<TrailBranch>& next,
                                  std::vector<TrailBranch>& branches);

 private:
  friend class OutsideSearch;
  /// A statement that wrote memory: its accesses.
  struct Writer {
    AccessCapture capture;
  };

  [[nodiscard]] Machine& machine() { return timeline_.machine(); }
  [[nodiscard]] const isa::InstStmt* next_instruction();
  [[nodiscard]] std::optional<std::size_t> resident_of(const Trail& trail);
  void follow(Trail trail, const std::string& via, std::optional<Trail>& next, reply::Cause& cause,
              std::vector<TrailBranch>& branches);
  [[nodiscard]] Writer capture_step();
  [[nodiscard]] Moment last_write(Trail& trail);
  [[nodiscard]] bool is_parameter(const Trail& trail);
  [[nodiscard]] std::optional<Trail> through_scalar(const Trail& trail);
  [[nodiscard]] std::vector<ScalarSources::NotTaken> branches_not_taken(
      const Trail& trail, reply::Cause& cause, std::vector<TrailBranch>& branches);
  void list_scalars(const Trail& trail, const std::vector<ScalarSources::NotTaken>& not_taken,
                    const std::string& via, std::optional<TrailBranch>& next, reply::Cause& cause,
                    std::vector<TrailBranch>& branches);
  [[nodiscard]] std::size_t choose_scalar(const reply::Cause& cause,
                                          const std::vector<TrailBranch>& branches);
  [[nodiscard]] std::optional<std::int64_t> element_number(const Trail& trail);
  void list_before(const Trail& trail, reply::Cause& cause, std::vector<TrailBranch>& branches);
  void follow_update(const Trail& trail, std::optional<Trail>& next, reply::Cause& cause,
                     std::vector<TrailBranch>& branches);
  void describe_scalar(const Trail& trail, reply::Cause& cause);
  void describe(const Trail& trail, reply::Cause& cause);
  void describe_registers(const Trail& trail, reply::Cause& cause);
  void describe_memory(const Trail& trail, reply::Cause& cause);
  [[nodiscard]] std::optional<Writer> find_shared_writer(const Trail& trail);
  [[nodiscard]] std::optional<Writer> find_global_writer(const Trail& trail);
  [[nodiscard]] std::optional<Trail> through_registers(const Trail& trail, const std::string& via,
                                                       reply::Cause& cause,
                                                       std::vector<TrailBranch>& branches);
  [[nodiscard]] std::optional<Trail> through_load(const Trail& trail, reply::Cause& cause);
  [[nodiscard]] std::optional<Trail> through_elements(const Trail& trail, const std::string& via,
                                                      reply::Cause& cause,
                                                      std::vector<TrailBranch>& branches);
  void branch_off_rest(const Trail& trail, const Writer& writer, Moment origin, reply::Cause& cause,
                       std::vector<TrailBranch>& branches);
  [[nodiscard]] std::optional<Trail> through_store(const Trail& trail, const Writer& writer,
                                                   reply::Cause& cause);
  [[nodiscard]] std::optional<Trail> through_combination(const Trail& trail, const Writer& writer,
                                                         const std::string& via,
                                                         reply::Cause& cause,
                                                         std::vector<TrailBranch>& branches);
  [[nodiscard]] Trail of_element(const ElementSource& source, const Trail& trail);
  [[nodiscard]] std::string text_of(const ElementSource& source);
  [[nodiscard]] Element read(const ElementSource& source);
  [[nodiscard]] std::string value_text(const ElementSource& source);
  [[nodiscard]] double size_of(const ElementSource& source);
  [[nodiscard]] const isa::DType& dtype_of(const ElementSource& source);
  void list_terms(const std::vector<ElementSource>& sources, reply::Cause& cause,
                  std::vector<std::size_t>& listed);
  void list_sources(const std::vector<ElementSource>& sources, reply::Cause& cause,
                    std::vector<std::size_t>& listed);
  [[nodiscard]] std::size_t choose(const std::vector<ElementSource>& sources,
                                   const std::vector<std::size_t>& listed, DataFlow::Kind kind,
                                   const std::string& via, const reply::Cause& cause);

  Timeline& timeline_;
  const std::vector<isa::DType>& dtypes_;
  const std::vector<isa::Shape>& shapes_;
  ListedConditions listed_;
  AccessCapture access_;               // of the step's statement
  std::optional<MovedElement> moved_;  // by that access
};

}  // namespace tilevm::sim::debug
