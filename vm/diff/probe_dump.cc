#include "vm/diff/probe_dump.h"

#include <algorithm>
#include <bit>
#include <map>

#include "isa/type/bits.h"

namespace tilevm::vm {

namespace {

using Words = std::vector<std::vector<std::uint32_t>>;

/// The variables whose values a statement's record contains.
std::vector<isa::VarId> results_of(const isa::Stmt& stmt) {
  if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
    const auto results = isa::probed_results(*inst);
    return {results.begin(), results.end()};
  }
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

/// What the threads wrote of one word of memory. Threads with replicas of an element write the same
/// bits, so which of them comes last must not matter: each bit has the values that were written.
struct WordWrites {
  std::uint32_t ones = 0, zeros = 0;
  std::vector<std::pair<std::size_t, isa::ProbeWrite>> writes;  ///< writes by thread
};
using Writes = std::map<std::uint64_t, WordWrites>;

Writes merge_writes(const std::vector<std::vector<isa::ProbeWrite>>& writes) {
  Writes merged;
  for (std::size_t t = 0; t < writes.size(); ++t) {
    for (const isa::ProbeWrite& write : writes[t]) {
      WordWrites& word = merged[write.address];
      word.ones |= write.value & write.mask;
      word.zeros |= ~write.value & write.mask;
      word.writes.emplace_back(t, write);
    }
  }
  return merged;
}

/// One engine's writes to a word, from which `bit` differs: the thread that wrote this bit, and
/// where the other engine's threads never wrote the same value, the thread that did.
WriteDifference::Side side_of(const WordWrites& mine, const WordWrites* other, std::uint32_t bit) {
  const auto differs = [&](const isa::ProbeWrite& write) {
    if ((write.mask & bit) == 0) return false;
    if (other == nullptr) return true;
    return ((write.value & bit) != 0 ? other->ones & bit : other->zeros & bit) == 0;
  };
  const auto wrote = [&](const isa::ProbeWrite& write) { return (write.mask & bit) != 0; };
  const auto find = [&](const auto& holds) {
    return std::find_if(mine.writes.begin(), mine.writes.end(),
                        [&](const auto& entry) { return holds(entry.second); });
  };
  auto chosen = find(differs);
  if (chosen == mine.writes.end()) chosen = find(wrote);
  if (chosen == mine.writes.end()) chosen = mine.writes.begin();
  WriteDifference::Side side{chosen->first, 0, 0};
  const auto add = [&](const isa::ProbeWrite& write) {
    side.value = (side.value & ~write.mask) | (write.value & write.mask);
    side.mask |= write.mask;
  };
  for (const auto& [thread, write] : mine.writes) add(write);
  add(chosen->second);
  return side;
}

/// The difference of one word; nothing if there is none.
std::optional<WriteDifference> compare_word(std::uint64_t address, const WordWrites* a,
                                            const WordWrites* b) {
  const auto ones = [](const WordWrites* word) { return word != nullptr ? word->ones : 0; };
  const auto zeros = [](const WordWrites* word) { return word != nullptr ? word->zeros : 0; };
  const std::uint32_t changed = (ones(a) ^ ones(b)) | (zeros(a) ^ zeros(b));
  if (changed == 0) return std::nullopt;
  WriteDifference found{.address = address};
  found.bit = static_cast<unsigned>(std::countr_zero(changed));
  if (a != nullptr) found.a = side_of(*a, b, 1U << found.bit);
  if (b != nullptr) found.b = side_of(*b, a, 1U << found.bit);
  return found;
}

std::optional<WriteDifference> compare_writes(const isa::ProbeDump& dump_a,
                                              const isa::ProbeDump& dump_b) {
  const Writes a = merge_writes(dump_a.writes), b = merge_writes(dump_b.writes);
  std::optional<WriteDifference> found;
  const auto note = [&](const std::optional<WriteDifference>& word) {
    if (!word) return;
    const std::uint64_t different = found ? found->different : 0;
    if (!found || word->address < found->address) found = word;
    found->different = different + 1;
  };
  for (const auto& [address, word] : a) {
    const auto other = b.find(address);
    note(compare_word(address, &word, other != b.end() ? &other->second : nullptr));
  }
  for (const auto& [address, word] : b) {
    if (!a.contains(address)) note(compare_word(address, nullptr, &word));
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
