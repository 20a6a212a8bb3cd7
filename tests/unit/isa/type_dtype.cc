#include <doctest/doctest.h>

#include <set>
#include <string>

#include "isa/type/dtype.h"
#include "isa/type/number.h"
#include "tests/unit/isa/type_oracle.h"

namespace tilevm::isa {
namespace {

TEST_CASE("every type's name reads back, and no two types share one") {
  std::set<std::string> names;
  for (const DType& type : all_dtypes()) {
    CAPTURE(to_string(type));
    CHECK(parse_dtype(to_string(type)) == type);
    CHECK(names.insert(to_string(type)).second);
  }
  // 11 widths twice, five wide floats, 6+5+4+3+2+1 small ones, 8 bipolar, two of scales.
  CHECK(all_dtypes().size() == 11 * 2 + 5 + 21 + 8 + 2);
}

TEST_CASE("long names are accepted") {
  CHECK(parse_dtype("int6") == signed_int(6));
  CHECK(parse_dtype("uint4") == unsigned_int(4));
  CHECK(parse_dtype("float16") == f16);
  CHECK(parse_dtype("float32") == f32);
  CHECK(parse_dtype("float64") == f64);
  CHECK(parse_dtype("bfloat16") == bf16);
  CHECK(parse_dtype("tfloat32") == tf32);
  CHECK(parse_dtype("float6_e3m2") == small_float(3, 2));
  CHECK(parse_dtype("float8_e4m3") == f8e4m3);
  CHECK(parse_dtype("float8_e8m0") == f8e8m0);
  CHECK(parse_dtype("float7_e4m3u") == f7e4m3u);
  CHECK(parse_dtype("bipolar2") == bipolar(2));
}

TEST_CASE("what is not a type is refused") {
  for (const char* name :
       {"",       "i",       "i0",         "i9",     "i06",    "i128",
        "u65",    "f8",      "f4",         "float8", "f8e4m4", "f6e5m0",
        "f6e0m5", "f6_e3m2", "float6e3m2", "b9",     "b0",     "I8",
        "i8 ",    " i8",     "bool",       "f2e0m1", "f9e4m4", "i99999999999999999999999999",
        "bf32",   "tf16",    "f8e8m0u",    "f7e4m3", "f8e4m3u"}) {
    CAPTURE(name);
    CHECK(!parse_dtype(name));
  }
}

TEST_CASE("hashes and equality tell types apart") {
  CHECK(f16 != bf16);
  CHECK(f32 != tf32);
  CHECK(signed_int(8) != unsigned_int(8));
  std::set<std::size_t> hashes;
  for (const DType& type : all_dtypes()) hashes.insert(std::hash<DType>{}(type));
  CHECK(hashes.size() == all_dtypes().size());
}

TEST_CASE("integer limits are what their width says") {
  for (int n = 1; n <= 8; ++n) {
    CAPTURE(n);
    CHECK(max_code(unsigned_int(n)) == (1u << n) - 1);
    CHECK(lowest_code(unsigned_int(n)) == 0);
    CHECK(to_double(decode(signed_int(n), max_code(signed_int(n)))) == (1 << (n - 1)) - 1);
    CHECK(to_double(decode(signed_int(n), lowest_code(signed_int(n)))) == -(1 << (n - 1)));
    CHECK(to_double(decode(bipolar(n), max_code(bipolar(n)))) == (1 << n) - 1);
    CHECK(to_double(decode(bipolar(n), lowest_code(bipolar(n)))) == -((1 << n) - 1));
  }
  CHECK(max_code(i64) == 0x7fffffffffffffff);
  CHECK(lowest_code(i64) == 0x8000000000000000);
  CHECK(max_code(u64) == 0xffffffffffffffff);
}

TEST_CASE("the largest finite floats are those of the formats' definitions") {
  struct Row {
    DType type;
    std::uint64_t code;
    double value;
  };
  for (const Row& row :
       {Row{f16, 0x7bff, 65504}, Row{bf16, 0x7f7f, 0x1.fep127}, Row{tf32, 0x7f7fe000, 0x1.ffcp127},
        Row{f32, 0x7f7fffff, 0x1.fffffep127}, Row{f64, 0x7fefffffffffffff, 0x1.fffffffffffffp1023},
        Row{f8e4m3, 0x7e, 448}, Row{f8e5m2, 0x7b, 57344}, Row{small_float(3, 2), 0x1f, 28},
        Row{small_float(2, 3), 0x1f, 7.5}, Row{small_float(2, 1), 0x7, 6},
        Row{small_float(1, 1), 0x3, 3}, Row{small_float(1, 3), 0xf, 3.75},
        Row{small_float(1, 2), 0x7, 3.5}}) {
    CAPTURE(to_string(row.type));
    CHECK(max_code(row.type) == row.code);
    CHECK(to_double(decode(row.type, row.code)) == row.value);
    CHECK(to_double(decode(row.type, lowest_code(row.type))) == -row.value);
  }
}

TEST_CASE("types of scales have no sign, and f8e8m0 has no zero") {
  CHECK(max_code(f8e8m0) == 0xfe);
  CHECK(to_double(decode(f8e8m0, 0xfe)) == 0x1p127);
  CHECK(lowest_code(f8e8m0) == 0);
  CHECK(to_double(decode(f8e8m0, 0)) == 0x1p-127);
  CHECK(decode(f8e8m0, 0xff).is_nan());
  CHECK(max_code(f7e4m3u) == 0x7e);
  CHECK(decode(f7e4m3u, 0x7f).is_nan());
  CHECK(decode(f7e4m3u, lowest_code(f7e4m3u)).is_zero());
  for (std::uint64_t code = 0; code < 0x7f; ++code) {
    CAPTURE(code);
    CHECK(to_double(decode(f7e4m3u, code)) == to_double(decode(f8e4m3, code)));
  }
}

TEST_CASE("no finite code of any small type lies beyond its limits") {
  for (const DType& type : oracle::types()) {
    const double top = to_double(decode(type, max_code(type)));
    const double bottom = to_double(decode(type, lowest_code(type)));
    std::uint64_t reached = 0, outside = 0;
    for (std::uint64_t code = 0; code < oracle::code_count(type); ++code) {
      const Number number = decode(type, code);
      if (number.cls != Number::Class::finite) continue;
      const double value = to_double(number);
      outside += value > top || value < bottom;
      reached += value == top || value == bottom;
    }
    CAPTURE(to_string(type));
    CHECK(outside == 0);
    CHECK(reached == 2);
  }
}

}  // namespace
}  // namespace tilevm::isa
