// The ways in which the words of a bit recipe can be gathered; the search chooses among them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "backend/select/bit_recipe.h"

namespace tilevm::backend {

/// The low 1 to 32 bits set.
[[nodiscard]] constexpr std::uint32_t low_bits(int bits) {
  return ~std::uint32_t{0} >> (32 - bits);
}

/// A source word in the shape in which pieces are cut from it.
struct WordShape {
  enum class Kind : std::uint8_t {
    rotated,   ///< left by amount
    funnel,    ///< (next word : word) >> amount
    inverted,  ///< ^ amount
  };
  int word = 0;
  Kind kind = Kind::rotated;
  std::uint32_t amount = 0;
  friend auto operator<=>(const WordShape&, const WordShape&) = default;

  [[nodiscard]] bool is_free() const { return kind == Kind::rotated && amount == 0; }
};

/// Bits of a result word that are cut from one shape.
struct Piece {
  WordShape shape;
  std::uint32_t mask = 0;
};

/// One way to gather a result word.
struct Candidate {
  std::vector<int> chosen{};    ///< form of each lane
  std::vector<Piece> pieces{};  ///< steps: and-xor, one after the other; or a byte permutation
  std::uint32_t inverted = 0;   ///< bits that are inverted, of the whole word
  std::optional<std::uint32_t> selector{};  ///< selector of the byte permutation
  std::uint32_t fixed_bytes = 0;  ///< second operand of the byte permutation, if there is one piece
  int cost = 0;
  std::vector<int> shapes{};  ///< numbers of the shapes that cost something
};

/// Numbers for shapes that cost an instruction.
class ShapeNumbers {
 public:
  int number(const WordShape& shape) {
    return numbers_.emplace(shape, static_cast<int>(numbers_.size())).first->second;
  }
  [[nodiscard]] std::size_t count() const { return numbers_.size(); }

 private:
  std::map<WordShape, int> numbers_;
};

/// Every way to gather the word of `elements` elements whose bits come from `source_bits`.
[[nodiscard]] std::vector<Candidate> find_candidates(const WordForm& form,
                                                     const SourceBit* source_bits, int elements,
                                                     ShapeNumbers& numbers);

}  // namespace tilevm::backend
