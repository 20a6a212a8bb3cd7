// The exact model of tensor cores on vectors of codes, for oracles written in Python.
//
//   mma_vectors TARGET INSTRUCTION A B C K FOLDER [block=N] [fraction_bits=N] [min_exponent=N]
//
// FOLDER has a.u32 and b.u32 with K codes for each output, c.u32 with one, and for scaled operands
// a_scales.u8 and b_scales.u8. d.u32 is written. INSTRUCTION is a name of
// isa::instruction_name(), "wgmma" or "tcgen05.mma kind::mxf4". What is given as name=value takes
// the place of the rule's own number: how much other models differ says how sharply vectors
// decide. The rule's numbers are printed.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/numeric/mma_rules.h"
#include "sim/mma/mma_model.h"

namespace tilevm {
namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "mma_vectors: %s\n", message.c_str());
  std::exit(2);
}

template <class Word>
std::vector<Word> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<Word> words(bytes.size() / sizeof(Word));
  bytes.copy(reinterpret_cast<char*>(words.data()), words.size() * sizeof(Word));
  return words;
}

int number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    fail("`" + std::string(text) + "` is not a number");
  }
  return value;
}

isa::MmaClass class_of(char** words) {
  const auto a = isa::parse_dtype(words[3]), b = isa::parse_dtype(words[4]),
             c = isa::parse_dtype(words[5]);
  if (!a || !b || !c) fail("A, B and C are types, such as f16");
  for (const isa::MmaClass& each : isa::mma_classes()) {
    if (to_string(each.target) == words[1] && instruction_name(each) == words[2] && each.a == *a &&
        each.b == *b && each.accumulator == *c) {
      return each;
    }
  }
  fail("no rule of " + std::string(words[1]) + " for " + words[2]);
}

void change(isa::MmaRule& rule, std::string_view word) {
  const std::size_t at = word.find('=');
  const std::string_view name = word.substr(0, at);
  int* const member = name == "block"           ? &rule.block
                      : name == "fraction_bits" ? &rule.fraction_bits
                      : name == "min_exponent"  ? &rule.min_exponent
                                                : nullptr;
  if (at == std::string_view::npos || member == nullptr) {
    fail("`" + std::string(word) + "`: block=, fraction_bits= and min_exponent= can be changed");
  }
  *member = number(word.substr(at + 1));
}

class Vectors {
 public:
  Vectors(const std::string& folder, std::size_t k)
      : k_(k),
        a_(read<std::uint32_t>(folder + "/a.u32")),
        b_(read<std::uint32_t>(folder + "/b.u32")),
        c_(read<std::uint32_t>(folder + "/c.u32")),
        a_scales_(read<std::uint8_t>(folder + "/a_scales.u8")),
        b_scales_(read<std::uint8_t>(folder + "/b_scales.u8")) {
    if (k == 0 || c_.empty() || a_.size() != c_.size() * k || b_.size() != a_.size()) {
      fail("a.u32 and b.u32 have K codes for each of c.u32");
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> results(const isa::MmaClass& type,
                                                   const isa::MmaRule& rule) const {
    const int group = isa::products_per_scale(type.scaling);
    const std::size_t scales = group == 0 ? 0 : k_ / static_cast<std::size_t>(group);
    if (a_scales_.size() != c_.size() * scales || b_scales_.size() != a_scales_.size()) {
      fail("a_scales.u8 and b_scales.u8 have a scale for each group of products");
    }
    std::vector<std::uint32_t> all;
    for (std::size_t i = 0; i < c_.size(); ++i) {
      const auto part = [&](const auto& words, std::size_t count) {
        return std::vector<std::uint64_t>(
            words.begin() + static_cast<std::ptrdiff_t>(i * count),
            words.begin() + static_cast<std::ptrdiff_t>((i + 1) * count));
      };
      const sim::MmaScales factors{std::span(a_scales_).subspan(i * scales, scales),
                                   std::span(b_scales_).subspan(i * scales, scales)};
      all.push_back(static_cast<std::uint32_t>(
          sim::mma_reference(rule, type.a, type.b, part(a_, k_), part(b_, k_), c_[i], factors)));
    }
    return all;
  }

 private:
  std::size_t k_;
  std::vector<std::uint32_t> a_, b_, c_;
  std::vector<std::uint8_t> a_scales_, b_scales_;
};

}  // namespace
}  // namespace tilevm

int main(int argc, char** argv) {
  using namespace tilevm;
  if (argc < 8)
    fail("TARGET INSTRUCTION A B C K FOLDER [block=N] [fraction_bits=N] [min_exponent=N]");
  const isa::MmaClass type = class_of(argv);
  isa::MmaRule rule = *mma_rule(type);
  for (int i = 8; i < argc; ++i) change(rule, argv[i]);
  const std::string folder = argv[7];
  const auto results =
      Vectors(folder, static_cast<std::size_t>(number(argv[6]))).results(type, rule);
  std::ofstream file(folder + "/d.u32", std::ios::binary);
  file.write(reinterpret_cast<const char*>(results.data()),
             static_cast<std::streamsize>(results.size() * sizeof(results[0])));
  std::printf("block=%d fraction_bits=%d min_exponent=%d\n", rule.block, rule.fraction_bits,
              rule.min_exponent);
  return file.flush() ? 0 : 2;
}
