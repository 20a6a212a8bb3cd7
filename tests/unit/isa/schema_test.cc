// What holds for every instruction, by looping over the list.
#include "isa/inst/instruction_set.h"

#include <set>
#include <string>

#include <optional>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace tilevm::isa;

struct ThreeMembers {
  int a;
  std::optional<std::string> b;
  RegisterLayout c;
};

}  // namespace

TEST_CASE("members of an aggregate are counted") {
  static_assert(member_count<ThreeMembers>() == 3);
  static_assert(member_count<BlockIndices>() == 0);
  static_assert(member_count<Dot>() == 3);
}

TEST_CASE("every instruction has a name of its own, a summary and documented slots") {
  std::set<std::string> names;
  for_each_instruction([&]<class Inst>() {
    const Description& description = Inst::schema.description;
    CAPTURE(description.mnemonic);
    CHECK(names.insert(std::string(description.mnemonic)).second);
    CHECK(description.summary.ends_with("."));
    CHECK((description.in_kernel || description.in_pipeline));
    std::set<std::string> slots;
    for_each_slot<Inst>([&](const auto& info, std::size_t) {
      CHECK(slots.insert(std::string(info.name)).second);
      CHECK(info.name != "out");
      CHECK_FALSE(info.doc.empty());
    });
  });
  CHECK(names.size() == instruction_count);
}
