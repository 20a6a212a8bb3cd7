// Statements whose results formulas do not explain: what rounding or data decide.
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isa/verify/verify.h"
#include "vm/naive/naive_block.h"
#include "vm/run/entry.h"

namespace tilevm::vm {

/// A statement, and what its formula does not show.
struct Decision {
  std::string location;  ///< "12:5"
  std::string text;      ///< "`Lt` gives u1 of f32"
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// The statements of all kernels that an entry launches whose results are integers or conditions
/// that floats decide: as they are rounded, not by their formulas.
[[nodiscard]] std::vector<Decision> decisions_of(const isa::VerifiedProgram& program,
                                                 const Entry& entry);
/// The casts of these kernels that may round.
[[nodiscard]] std::vector<Decision> rounding_casts_of(const isa::VerifiedProgram& program,
                                                      const Entry& entry);

/// A statement of a kernel.
struct StatementPlace {
  int kernel = 0;
  isa::StmtId statement;
  friend auto operator<=>(const StatementPlace&, const StatementPlace&) = default;
};
/// Its location, and the name of its instruction.
[[nodiscard]] Decision named(const isa::VerifiedProgram& program, StatementPlace place);

/// Notes the statements of a run that take elements by their bits.
class BitUses : public naive::ResidueObserver {
 public:
  void result(int, isa::StmtId, const naive::NaiveTile&) override {}
  void by_bits(int kernel, isa::StmtId statement, Use use) override {
    all_.insert({StatementPlace{kernel, statement}, use});
  }
  [[nodiscard]] std::vector<Decision> in_words(const isa::VerifiedProgram& program) const;

 private:
  std::set<std::pair<StatementPlace, Use>> all_;
};

/// Lines "  12:5: `Lt` gives u1 of f32".
[[nodiscard]] std::string decision_lines(const std::vector<Decision>& decisions);

}  // namespace tilevm::vm
