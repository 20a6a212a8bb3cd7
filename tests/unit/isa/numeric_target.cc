#include <doctest/doctest.h>

#include <string>

#include "isa/numeric/target.h"

namespace tilevm::isa {
namespace {

TEST_CASE("every known target reads back, with and without its prefix") {
  for (const Target& target : known_targets()) {
    const std::string name = to_string(target);
    CAPTURE(name);
    REQUIRE(parse_target(name));
    CHECK(*parse_target(name) == target);
    REQUIRE(parse_target(name.substr(3)));
    CHECK(*parse_target(name.substr(3)) == target);
  }
}

TEST_CASE("an unknown target is an error that lists the known and suggests the nearest") {
  for (const char* text :
       {"", "sm_", "sm_75", "sm_900", "sm90", "SM_90", "sm_90b", "h100", "sm_90 "}) {
    CAPTURE(text);
    const auto result = parse_target(text);
    REQUIRE(!result);
    CHECK(result.error().kind == ErrorKind::usage);
    CHECK(result.error().message.find("sm_80, sm_86, sm_88, sm_89") != std::string::npos);
  }
  CHECK(parse_target("sm_90b").error().message.find("did you mean `sm_90") != std::string::npos);
  CHECK(parse_target(std::string(100000, 'x')).error().message.size() < 400);
}

TEST_CASE("code of a family and of an architecture are targets of their own") {
  CHECK(*parse_target("sm_100f") == Target{100, false, true});
  CHECK(*parse_target("121a") == Target{121, true, false});
  for (const char* text : {"sm_90f", "sm_88a", "sm_80f", "sm_101a", "sm_100af"}) {
    CAPTURE(text);
    CHECK(!parse_target(text));
  }
  CHECK(known_targets().size() == 24);
}

TEST_CASE("shared memory of a block, as ptxas allows it for targets with a suffix") {
  for (const int sm : {90, 100, 103, 107, 110}) CHECK(max_shared_bytes({sm, true}) == 227 * 1024);
  for (const int sm : {120, 121}) CHECK(max_shared_bytes({sm, true}) == 0x18c00);
}

TEST_CASE("a compiler is asked for the form of an architecture whose matrix instructions need it") {
  CHECK(to_string(compile_target({103, false})) == "sm_103a");
  CHECK(to_string(compile_target({100, false, true})) == "sm_100f");
  CHECK(to_string(compile_target({121, false})) == "sm_121");
  CHECK(to_string(compile_target({90, false})) == "sm_90a");
  CHECK(to_string(compile_target({100, false})) == "sm_100a");
  CHECK(to_string(compile_target({80, false})) == "sm_80");
  CHECK(to_string(compile_target({90, true})) == "sm_90a");
}

}  // namespace
}  // namespace tilevm::isa
