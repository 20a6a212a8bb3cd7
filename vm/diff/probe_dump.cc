#include "vm/diff/probe_dump.h"

#include <algorithm>
#include <map>

#include "isa/type/bits.h"

namespace tilevm::vm {

namespace {

using Words = std::vector<std::vector<std::uint32_t>>;

/// The variables whose values a statement's record contains.
std::vector<isa::VarId> results_of(const isa::Stmt& stmt) {
  if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) return inst->results;
  if (const auto* scalar = std::get_if<isa::ScalarStmt>(&stmt.node)) return {scalar->target};
  if (const auto* loop = std::get_if<isa::ForStmt>(&stmt.node)) return {loop->var};
  return {};
}

/// Whether both sides have the words of a variable in every thread.
bool has_words(const Words& words, std::size_t end) {
  return std::all_of(words.begin(), words.end(),
                     [&](const auto& of_thread) { return of_thread.size() >= end; });
}

std::optional<TileDifference> compare_tiles(isa::VarId var, const isa::RegisterType& type,
                                            std::size_t first_word, const Words& a,
                                            const Words& b) {
  const std::uint64_t significant = type.dtype == isa::tf32 ? 0xffffe000U : ~std::uint64_t{0};
  const auto places = static_cast<std::size_t>(type.layout.num_locals());
  TileDifference found{.var = var, .elements = a.size() * places};
  for (std::size_t t = 0; t < a.size(); ++t) {
    for (std::size_t i = 0; i < places; ++i) {
      const std::uint64_t x = code_in_words(a[t], first_word, type.dtype.bits, i) & significant;
      const std::uint64_t y = code_in_words(b[t], first_word, type.dtype.bits, i) & significant;
      if (x == y) continue;
      if (found.different++ > 0) continue;
      found.thread = t;
      found.place = i;
      found.a = x;
      found.b = y;
    }
  }
  return found.different > 0 ? std::optional(found) : std::nullopt;
}

std::optional<ScalarDifference> compare_scalars(isa::VarId var, std::size_t first_word,
                                                const Words& a, const Words& b) {
  for (std::size_t t = 0; t < a.size(); ++t) {
    const std::uint64_t x = code_in_words(a[t], first_word, 64, 0);
    const std::uint64_t y = code_in_words(b[t], first_word, 64, 0);
    if (x != y) return ScalarDifference{var, t, x, y};
  }
  return std::nullopt;
}

std::optional<StatementDifference> compare_values(const isa::Kernel& kernel, const isa::Stmt& stmt,
                                                  const Words& a, const Words& b) {
  std::size_t word = 0;
  for (const isa::VarId var : results_of(stmt)) {
    const isa::Type& type = kernel.variable(var).type;
    const auto* tile = std::get_if<isa::RegisterType>(&type);
    if (tile == nullptr && !std::holds_alternative<isa::ScalarType>(type)) continue;
    const std::size_t words = tile != nullptr ? words_of(*tile) : 2;
    if (!has_words(a, word + words) || !has_words(b, word + words)) return std::nullopt;
    if (tile != nullptr) {
      if (auto found = compare_tiles(var, *tile, word, a, b)) return *found;
    } else if (auto found = compare_scalars(var, word, a, b)) {
      return *found;
    }
    word += words;
  }
  return std::nullopt;
}

using Writes = std::map<std::uint64_t, WriteDifference::Side>;

/// The words of memory that were written, whichever threads wrote their bits.
Writes merge_writes(const std::vector<std::vector<isa::ProbeWrite>>& writes) {
  Writes merged;
  for (std::size_t t = 0; t < writes.size(); ++t) {
    for (const isa::ProbeWrite& write : writes[t]) {
      auto& side = merged.try_emplace(write.address, WriteDifference::Side{t, 0, 0}).first->second;
      side.value = (side.value & ~write.mask) | (write.value & write.mask);
      side.mask |= write.mask;
    }
  }
  return merged;
}

std::optional<WriteDifference> compare_writes(const isa::ProbeDump& dump_a,
                                              const isa::ProbeDump& dump_b) {
  const Writes a = merge_writes(dump_a.writes), b = merge_writes(dump_b.writes);
  std::optional<WriteDifference> found;
  const auto note = [&](std::uint64_t address, std::optional<WriteDifference::Side> x,
                        std::optional<WriteDifference::Side> y) {
    if (!found || address < found->address) {
      found = WriteDifference{address, x, y, found ? found->different : 0};
    }
    ++found->different;
  };
  for (const auto& [address, side] : a) {
    const auto other = b.find(address);
    if (other == b.end()) {
      note(address, side, std::nullopt);
    } else if (other->second.mask != side.mask || other->second.value != side.value) {
      note(address, side, other->second);
    }
  }
  for (const auto& [address, side] : b) {
    if (!a.contains(address)) note(address, std::nullopt, side);
  }
  return found;
}

}  // namespace

std::uint64_t code_in_words(const std::vector<std::uint32_t>& words, std::size_t first_word,
                            unsigned bits, std::size_t place) {
  std::uint64_t code = 0;
  for (unsigned done = 0; done < bits;) {
    const std::size_t bit = place * bits + done;
    const auto shift = static_cast<unsigned>(bit % 32);
    const unsigned part = std::min(bits - done, 32 - shift);
    const std::uint64_t word = words[first_word + bit / 32];
    code |= (word >> shift & isa::low_mask(part)) << done;
    done += part;
  }
  return code;
}

std::size_t words_of(const isa::RegisterType& type) {
  return static_cast<std::size_t>((type.bits_per_thread() + 31) / 32);
}

StatementDifference compare_dumps(const isa::VerifiedProgram& program, int kernel,
                                  const isa::Stmt& stmt, const isa::ProbeDump& a,
                                  const isa::ProbeDump& b) {
  if (a.words.size() != b.words.size()) return UnknownDifference{"no values were kept"};
  if (auto found = compare_values(program.kernel(kernel), stmt, a.words, b.words)) return *found;
  if (a.cut || b.cut) {
    return UnknownDifference{"more values were written than are kept; a smaller tile shows them"};
  }
  if (auto found = compare_writes(a, b)) return *found;
  const bool writes = std::any_of(a.writes.begin(), a.writes.end(),
                                  [](const auto& of_thread) { return !of_thread.empty(); });
  if (writes) {
    return UnknownDifference{"both write the same bits to the same places, but not equally often"};
  }
  return UnknownDifference{"the second run of the engines, which keeps values, did not differ"};
}

}  // namespace tilevm::vm
