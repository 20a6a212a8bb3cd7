// `tilevm fidelity`: rows of the page that the command carries along.
#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"
#include "vm/fidelity/page_tables.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;
using namespace tilevm::vm::fidelity;

constexpr std::string_view page =
    "# Fidelity\n\na | in words\n\n## Dot\n\n"
    "| types | sm_80 | sm_90 |\n|---|---|---|\n"
    "| `f16` + `f32` | published [1] | verified, 20 |\n| `i8` | standard | standard |\n\n"
    "- [1]: results of an A100\n\n## Cast\n\n| from | `f16` |\n|---|---|\n| `u8` | 1,024 |\n";

TEST_CASE("tables have the titles of their sections, and cells without the marks of code") {
  const auto tables = tables_of(page);
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].title == "Dot");
  CHECK(tables[0].heads == std::vector<std::string>{"types", "sm_80", "sm_90"});
  CHECK(tables[0].rows[0] ==
        std::vector<std::string>{"f16 + f32", "published [1]", "verified, 20"});
  CHECK(tables[1].rows == std::vector<std::vector<std::string>>{{"u8", "1,024"}});
  CHECK(source_of(page, "1") == "results of an A100");
  CHECK(source_of(page, "2").empty());
}

TEST_CASE("rows are chosen by all words, columns by the architecture") {
  const auto chosen = select_rows(tables_of(page), {"dot", "F16"}, "sm_90");
  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].heads == std::vector<std::string>{"types", "sm_90"});
  CHECK(chosen[0].rows == std::vector<std::vector<std::string>>{{"f16 + f32", "verified, 20"}});
  CHECK(select_rows(tables_of(page), {"dot"}, "sm_70").empty());
  CHECK(select_rows(tables_of(page), {"u8"}, "sm_90").size() == 1);  // has no such columns
}

TEST_CASE("the command shows the page's rows with their sources, and refuses words that none has") {
  Streams streams;
  CHECK(fidelity_tables({{"Dot", "f16 x f16 + f32", "of warp groups"}, "sm_90", false},
                        streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), "f16 x f16 + f32"));
  CHECK(contains(streams.out.str(), "verified, 4,032,512"));
  CHECK_FALSE(contains(streams.out.str(), "sm_100"));
  Streams none;
  CHECK(fidelity_tables({{"tcgen05", "f64"}, "", false}, none.io) == Exit::usage);
  CHECK(contains(none.err.str(), "no row has `tcgen05 f64`"));
}

}  // namespace
