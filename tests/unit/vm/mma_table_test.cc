// docs/reference/products.md against the rules of tensor-core instructions.
#include "vm/fidelity/mma_table.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"

using namespace tilevm;
using namespace tilevm::vm;

TEST_CASE("docs/reference/products.md has the tables that the rules make") {
  const std::string page =
      read_text(std::string(TILEVM_SOURCE_DIR) + "/docs/reference/products.md");
  for (const bool of_dot : {true, false}) {
    const std::string table = fidelity::mma_rules_table(of_dot);
    CHECK_MESSAGE(contains(page, "\n\n" + table + "\n"), "put into docs/reference/products.md:\n"
                                                             << table);
  }
}

TEST_CASE("every class that no Dot uses stands in a row with its source") {
  const std::vector<fidelity::MmaRow> rows = fidelity::mma_rows_by_source();
  for (const isa::MmaClass& each : isa::mma_classes()) {
    if (instruction_name(each) == "mma" && each.target.sm >= 80) continue;
    const auto names = [](const std::string& text, const std::string& name) {
      return contains(text, "`" + name + "`");
    };
    const auto found = std::count_if(rows.begin(), rows.end(), [&](const fidelity::MmaRow& row) {
      return names(row.instruction, instruction_name(each)) &&
             contains(row.architectures, std::to_string(each.target.sm)) &&
             names(row.types, to_string(each.a)) && names(row.types, to_string(each.b)) &&
             names(row.types, to_string(each.accumulator)) &&
             row.rule.source == mma_rule(each)->source;
    });
    CAPTURE(instruction_name(each));
    CAPTURE(to_string(each.target));
    CAPTURE(to_string(each.a));
    CAPTURE(to_string(each.b));
    CHECK(found == 1);
  }
}
