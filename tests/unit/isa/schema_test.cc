// What holds for every instruction, by looping over the list.
#include "isa/inst/instruction_set.h"

#include <optional>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "isa/dot/target_support.h"

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

TEST_CASE("an instruction exists where a target has the tensor-core instructions that it needs") {
  std::set<std::string> everywhere, somewhere, all;
  for_each_instruction([&]<class Inst>() {
    const std::string name(Inst::schema.description.mnemonic);
    all.insert(name);
    std::size_t targets = 0;
    for (const Target& target : known_targets()) targets += exists_on<Inst>(target) ? 1 : 0;
    if (targets > 0) somewhere.insert(name);
    if (targets == known_targets().size()) everywhere.insert(name);
  });
  CHECK(somewhere == all);
  all.erase("DotScaled");
  all.erase("DotAsync");
  CHECK(everywhere == all);
  for (const Target& target : known_targets()) {
    const bool scales = !scaled_mma_shapes(target, f8e4m3, f8e4m3, f8e8m0, f32).empty();
    CHECK_MESSAGE(exists_on<DotScaled>(target) == scales, to_string(target));
  }
  CHECK(exists_on<DotScaled>({120, true}));
  CHECK_FALSE(exists_on<DotScaled>({90, true}));
  CHECK(exists_on<DotAsync>({90, true}));
  CHECK_FALSE(exists_on<DotAsync>({120, true}));
}
