#include "vm/text/json.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

using tilevm::vm::Json;

TEST_CASE("every kind of JSON value is written on one line, members in order") {
  Json object = Json::object();
  object.set("b", 1).set("a", -2).set("big", std::numeric_limits<std::uint64_t>::max());
  object.set("none", Json()).set("yes", true).set("half", 0.5);
  object.set("list", Json::array().push("x").push(Json::array()).push(Json::object()));
  CHECK(object.text() ==
        R"({"b": 1, "a": -2, "big": 18446744073709551615, "none": null, "yes": true, )"
        R"("half": 0.5, "list": ["x", [], {}]})");
}

TEST_CASE("numbers that are not in JSON become strings") {
  CHECK(Json(std::nan("")).text() == R"("nan")");
  CHECK(Json(std::numeric_limits<double>::infinity()).text() == R"("inf")");
  CHECK(Json(-std::numeric_limits<double>::infinity()).text() == R"("-inf")");
}

TEST_CASE("strings are escaped, and bytes that are not UTF-8 are replaced") {
  CHECK(Json("a\"b\\c\nd\te\x01").text() == R"("a\"b\\c\nd\u0009e\u0001")");
  CHECK(Json("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80").text() ==
        "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
  CHECK(Json("\xff").text() == R"("\ufffd")");
  CHECK(Json("\xc3").text() == R"("\ufffd")");
  CHECK(Json("\xc0\xaf").text() == R"("\ufffd\ufffd")");            // overlong
  CHECK(Json("\xed\xa0\x80").text() == R"("\ufffd\ufffd\ufffd")");  // a surrogate
}
