#include "backend/launch/probe_buffer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace tilevm::backend {
namespace {

using ProbeBytes = std::vector<std::uint8_t>;

constexpr std::size_t record_bytes = 16;
/// Bytes of the values that each thread keeps of a target.
constexpr std::size_t kept_bytes = std::size_t{1} << 16;
constexpr std::uint32_t no_target = std::numeric_limits<std::uint32_t>::max();

/// The words at the beginning of the memory.
struct ProbeHead {
  std::uint64_t records = 0, first_block = 0, blocks = 0, buffers = 0;
  std::uint32_t target_block = no_target,
                target_record = no_target;  ///< the block within the window
  std::uint64_t kept_bytes = 0, kept_begin = 0, records_begin = 0;
};
static_assert(sizeof(ProbeHead) == 64, "eight words, as prelude/probe.cuh reads them");

template <class T>
T load_at(const ProbeBytes& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::size_t block_bytes(const isa::ProbeWindow& window) {
  return (window.records + std::size_t{1}) * record_bytes;
}

Error overwritten() {
  return {ErrorKind::program,
          "the records of probes are damaged: a block wrote to memory that is not its own; the "
          "simulator finds where"};
}

/// The words of a thread that are its share of a statement's results; nothing if it has none.
std::optional<std::size_t> result_words(const isa::VerifiedProgram& program, int kernel,
                                        std::uint32_t statement) {
  std::optional<std::size_t> words;
  const isa::Kernel& definition = program.kernel(kernel);
  const auto add = [&](isa::VarId var) {
    const isa::Type& type = definition.variable(var).type;
    if (const auto* tile = std::get_if<isa::RegisterType>(&type)) {
      words = words.value_or(0) + static_cast<std::size_t>((tile->bits_per_thread() + 31) / 32);
    } else if (std::holds_alternative<isa::ScalarType>(type)) {
      words = words.value_or(0) + 2;
    }
  };
  isa::for_each_statement(definition.body, [&](const isa::Stmt& stmt) {
    if (stmt.id().index != static_cast<std::int32_t>(statement)) return;
    if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
      const auto results = isa::probed_results(*inst);
      std::for_each(results.begin(), results.end(), add);
    }
    if (const auto* scalar = std::get_if<isa::ScalarStmt>(&stmt.node)) add(scalar->target);
    if (const auto* loop = std::get_if<isa::ForStmt>(&stmt.node)) add(loop->var);
  });
  return words;
}

/// Reads what the threads kept of the target.
class KeptValues {
 public:
  KeptValues(const ProbeBytes& bytes, const ProbeHead& head, isa::ProbeDump& dump)
      : bytes_(bytes), head_(head), dump_(dump) {}

  void read(std::size_t threads, std::optional<std::size_t> results) {
    dump_.words.resize(threads);
    dump_.writes.resize(threads);
    for (std::size_t t = 0; t < threads; ++t) {
      const std::size_t begin = head_.kept_begin + t * head_.kept_bytes;
      const std::size_t room = head_.kept_bytes / 4 - 1;
      const std::size_t wanted = load_at<std::uint32_t>(bytes_, begin);
      dump_.cut = dump_.cut || wanted > room;
      const std::size_t count = std::min(wanted, room);
      if (results) {
        for (std::size_t i = 0; i < count; ++i) dump_.words[t].push_back(word(begin, i));
        continue;
      }
      for (std::size_t i = 0; i + 4 <= count; i += 4) {
        const std::uint64_t high = word(begin, i + 1);
        dump_.writes[t].push_back(
            {high << 32 | word(begin, i), word(begin, i + 2), word(begin, i + 3)});
      }
    }
  }

 private:
  [[nodiscard]] std::uint32_t word(std::size_t begin, std::size_t i) const {
    return load_at<std::uint32_t>(bytes_, begin + 4 + i * 4);
  }

  const ProbeBytes& bytes_;
  const ProbeHead& head_;
  isa::ProbeDump& dump_;
};

}  // namespace

ProbeBytes make_probe_buffer(const isa::VerifiedProgram& program, const isa::ProbeLog& log,
                             const std::vector<ProbedBuffer>& buffers) {
  const isa::ProbeWindow& window = log.window;
  ProbeHead head{.records = window.records,
                 .first_block = window.first_block,
                 .blocks = window.blocks,
                 .buffers = buffers.size()};
  head.records_begin = sizeof head + buffers.size() * sizeof(ProbedBuffer);
  head.kept_begin = head.records_begin + window.blocks * block_bytes(window);
  const auto threads = static_cast<std::size_t>(program.info(log.kernel).num_threads);
  std::size_t size = head.kept_begin;
  if (window.target) {
    head.target_block = static_cast<std::uint32_t>(window.target->block - window.first_block);
    head.target_record = window.target->record;
    head.kept_bytes = kept_bytes;
    size += threads * kept_bytes;
  }
  ProbeBytes bytes(size);
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!buffers.empty()) {
    std::memcpy(bytes.data() + sizeof head, buffers.data(), buffers.size() * sizeof(ProbedBuffer));
  }
  return bytes;
}

Status read_probe_buffer(const isa::VerifiedProgram& program, const ProbeBytes& bytes,
                         isa::ProbeLog& log) {
  const isa::ProbeWindow& window = log.window;
  if (bytes.size() < sizeof(ProbeHead)) return overwritten();
  const auto head = load_at<ProbeHead>(bytes, 0);
  const bool intact = head.records == window.records && head.blocks == window.blocks &&
                      head.kept_begin == head.records_begin + window.blocks * block_bytes(window) &&
                      head.kept_begin <= bytes.size();
  if (!intact) return overwritten();
  log.blocks.assign(window.blocks, {});
  for (std::size_t b = 0; b < log.blocks.size(); ++b) {
    const std::size_t begin = head.records_begin + b * block_bytes(window);
    isa::BlockProbes& block = log.blocks[b];
    block.count = load_at<std::uint32_t>(bytes, begin);
    block.rest = load_at<std::uint64_t>(bytes, begin + 8);
    const auto kept = std::min<std::uint64_t>(block.count, window.records);
    for (std::uint64_t i = 0; i < kept; ++i) {
      const std::size_t at = begin + (i + 1) * record_bytes;
      block.records.push_back(
          {load_at<std::uint64_t>(bytes, at), load_at<std::uint32_t>(bytes, at + 8), false});
    }
  }
  if (!window.target) return Done{};
  const auto& target = *window.target;
  const isa::BlockProbes& block = log.blocks[target.block - window.first_block];
  if (target.record >= block.records.size()) return Done{};
  const auto threads = static_cast<std::size_t>(program.info(log.kernel).num_threads);
  KeptValues(bytes, head, log.dump)
      .read(threads, result_words(program, log.kernel, block.records[target.record].statement));
  return Done{};
}

}  // namespace tilevm::backend
