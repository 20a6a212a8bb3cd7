// Where a value comes from: backwards through registers, shared memory and global memory, statement
// by statement, to the input that the value was.
//
// What is followed is a range of bits, so that an element of a packed type leads to its bits in the
// bytes that hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/debug/bit_ranges.h"
#include "sim/debug/reply.h"
#include "sim/debug/timeline.h"

namespace tilevm::sim::debug {

/// "bits 4..7 of byte 12, bits 0..1 of byte 44".
[[nodiscard]] std::string byte_ranges(const std::vector<BitRange>& bits);

/// Bits at one moment, in one of the memories.
struct Trail {
  enum class Space : std::uint8_t { registers, shared, global };
  Space space = Space::registers;
  std::size_t launch = 0;
  std::uint64_t rank = 0;  ///< of the block, unless in global memory
  isa::VarId var;          ///< of a tile in registers
  std::size_t thread = 0;
  const std::uint8_t* buffer = nullptr;  ///< in global memory
  /// In the thread's stream, in shared memory or in the buffer. Ascending order of the bits of the
  /// value; the first one is followed.
  std::vector<BitRange> bits;
};

/// A value that another was made of, and when it was there.
struct TrailBranch {
  Trail trail;
  Moment moment = 0;
};

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
  /// the cause numbers them.
  [[nodiscard]] reply::Cause step(Trail trail, const std::string& via, std::optional<Trail>& next,
                                  std::vector<TrailBranch>& branches);

 private:
  struct Writer;

  [[nodiscard]] Machine& machine() { return timeline_.machine(); }
  [[nodiscard]] std::optional<std::size_t> resident_of(const Trail& trail);
  [[nodiscard]] Writer capture_step();
  void describe(const Trail& trail, reply::Cause& cause);
  void describe_registers(const Trail& trail, reply::Cause& cause);
  void describe_memory(const Trail& trail, reply::Cause& cause);
  [[nodiscard]] bool find_register_writer(Trail& trail);
  [[nodiscard]] std::optional<Writer> find_shared_writer(const Trail& trail);
  [[nodiscard]] std::optional<Writer> find_global_writer(const Trail& trail);
  [[nodiscard]] std::optional<Trail> through_registers(const Trail& trail, const std::string& via,
                                                       reply::Cause& cause,
                                                       std::vector<TrailBranch>& branches);
  [[nodiscard]] std::optional<Trail> through_load(const Trail& trail);
  [[nodiscard]] std::optional<Trail> through_elements(const Trail& trail, const std::string& via,
                                                      reply::Cause& cause,
                                                      std::vector<TrailBranch>& branches);
  void branch_off_rest(const Trail& trail, const Writer& writer, Moment origin, reply::Cause& cause,
                       std::vector<TrailBranch>& branches);
  [[nodiscard]] std::optional<Trail> through_store(const Trail& trail, const Writer& writer);
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
};

}  // namespace tilevm::sim::debug
