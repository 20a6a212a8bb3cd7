#include "vm/data/spec.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fstream>
#include <sstream>

#include "isa/type/number.h"
#include "tests/unit/contains.h"
#include "tests/unit/vm/scratch_folder.h"
#include "tests/unit/vm/tensor_of.h"
#include "vm/data/npy.h"
#include "vm/data/store.h"

namespace isa = tilevm::isa;
using namespace tilevm::vm;
using tilevm::ErrorKind;
using tilevm::Result;
using tilevm::Status;

namespace {

using Values = std::vector<std::string>;

Values values_of(const HostTensor& tensor) {
  Values values;
  for (std::size_t k = 0; k < tensor.size(); ++k) {
    values.push_back(isa::format_value(tensor.dtype, tensor.code(k)));
  }
  return values;
}

Result<HostTensor> loaded(const std::string& spec, const isa::DType& dtype,
                          const isa::Shape& shape) {
  DataReader reader(true);
  return load(*parse_spec(spec), dtype, shape, "b", reader);
}

/// What a specification gives as values, or its message as the only one.
Values made(const std::string& spec, const isa::DType& dtype, const isa::Shape& shape) {
  const Result<Spec> parsed = parse_spec(spec);
  if (!parsed) return {parsed.error().message};
  const Result<HostTensor> tensor = loaded(spec, dtype, shape);
  return tensor ? values_of(*tensor) : Values{tensor.error().message};
}

/// Writes one output.
Status stored(const std::string& dest, const HostTensor& tensor) {
  std::ostringstream out;
  const StoredOutput output{*parse_dest(dest), "c", &tensor};
  return store({&output, 1}, out);
}

std::string fault(const std::string& spec) {
  const Result<Spec> parsed = parse_spec(spec);
  if (parsed) return "it was read";
  CHECK(parsed.error().kind == ErrorKind::usage);
  return parsed.error().message;
}

}  // namespace

TEST_CASE("every kind of source is read") {
  CHECK(parse_spec("w.npy")->kind == SourceKind::file);
  CHECK(parse_spec("dir/rand.npy")->path == "dir/rand.npy");
  CHECK(parse_spec("rand")->seed == 0);
  CHECK(parse_spec("rand:18446744073709551615")->seed == ~std::uint64_t{0});
  CHECK(parse_spec("wild:7")->kind == SourceKind::wild);
  CHECK(parse_spec("zeros")->kind == SourceKind::zeros);
  CHECK(parse_spec("iota")->kind == SourceKind::iota);
  CHECK(parse_spec("full:-1.5")->value == "-1.5");
  CHECK(parse_spec("codes:a b.npy")->path == "a b.npy");
  CHECK(parse_spec("packed:x.npy")->kind == SourceKind::packed);
}

TEST_CASE("a type and a shape may stand before the source") {
  const Result<Spec> both = parse_spec("f16[64, 8]=rand:1");
  REQUIRE(both.ok());
  CHECK(both->dtype == isa::f16);
  CHECK(both->shape == isa::Shape{64, 8});
  CHECK(both->seed == 1);
  CHECK(parse_spec("float6_e3m2[4]=zeros")->dtype == isa::small_float(3, 2));
  CHECK(parse_spec("u4=iota")->dtype == isa::unsigned_int(4));
  CHECK(!parse_spec("u4=iota")->shape);
  CHECK(parse_spec("[2,3]=iota")->shape == isa::Shape{2, 3});
  CHECK(parse_spec("f32[]=zeros")->shape == isa::Shape{});
  CHECK(parse_spec("a=b[1].npy")->path == "a=b[1].npy");
  const Result<Dest> dest = parse_dest("f16[64,64]=codes:c.npy");
  REQUIRE(dest.ok());
  CHECK(dest->codes);
  CHECK(dest->path == "c.npy");
  CHECK(dest->shape == isa::Shape{64, 64});
}

TEST_CASE("a misspelt word is met with the word that was meant") {
  CHECK(contains(fault("rnad:1"), "did you mean `rand`?"));
  CHECK(contains(fault("zero"), "did you mean `zeros`?"));
  CHECK(contains(fault("code:x.npy"), "did you mean `codes`?"));
  CHECK(contains(fault("f17[4]=zeros"), "`f17` in `f17[4]=zeros` is not a type; did you mean `f1"));
  CHECK(contains(fault("weights.bin"), "FILE.npy, FILE.npz[:ARRAY]"));
}

TEST_CASE("a specification that says nothing useful is refused") {
  CHECK(contains(fault(""), "not a source of data"));
  CHECK(contains(fault("rand:"), "not a seed"));
  CHECK(contains(fault("rand:-1"), "not a seed"));
  CHECK(contains(fault("rand:18446744073709551616"), "not a seed"));
  CHECK(contains(fault("zeros:1"), "takes no value"));
  CHECK(contains(fault("full"), "needs a value"));
  CHECK(contains(fault("codes"), "needs a file"));
  CHECK(contains(fault("codes:x.txt"), "not an .npy, .npz or .safetensors file"));
  CHECK(contains(fault("f16[0]=zeros"), "not an extent"));
  CHECK(contains(fault("f16[4,]=zeros"), "not an extent"));
  CHECK(contains(fault("f16[9223372036854775807,2]=zeros"), "too large"));
  CHECK(contains(parse_dest("c.txt").error().message, "cannot hold data"));
}

TEST_CASE("generators fill every element") {
  CHECK(made("zeros", isa::f16, {2}) == Values{"0", "0"});
  CHECK(made("full:3", isa::signed_int(6), {2}) == Values{"3", "3"});
  CHECK(made("full:0.1", isa::f16, {1}) == Values{isa::format_value(isa::f16, 0x2e66)});
  CHECK(made("full:inf", isa::f32, {1}) == Values{"inf"});
  CHECK(made("full:-inf", isa::f8e5m2, {1}) == Values{"-inf"});
  CHECK(made("full:-inf", isa::tf32, {1}) == Values{"-inf"});
  CHECK(made("full:nan", isa::f8e4m3, {1}) == Values{"nan"});
  CHECK(made("full:18446744073709551615", isa::u64, {1}) == Values{"18446744073709551615"});
  CHECK(made("full:-9223372036854775808", isa::i64, {1}) == Values{"-9223372036854775808"});
  CHECK(made("iota", isa::signed_int(3), {9}) ==
        Values{"0", "1", "2", "3", "-4", "-3", "-2", "-1", "0"});
  CHECK(made("iota", isa::small_float(1, 1), {5}) == Values{"0", "1", "2", "3", "0"});
}

TEST_CASE("iota counts as far as a float goes, and starts over") {
  const auto value_at = [](const isa::DType& dtype, std::size_t k) {
    const HostTensor tensor = *loaded("iota", dtype, {4100});
    return isa::to_double(isa::decode(dtype, tensor.code(k)));
  };
  CHECK(value_at(isa::f16, 2047) == 2047);
  CHECK(value_at(isa::f16, 2048) == 0);
  CHECK(value_at(isa::bf16, 255) == 255);
  CHECK(value_at(isa::bf16, 256) == 0);
  CHECK(value_at(isa::f32, 4099) == 4099);
}

TEST_CASE("a value that the type does not hold is refused with its range") {
  CHECK(made("full:35", isa::signed_int(6), {2}) ==
        Values{"`full:35`: 35 is not an i6 (-32..31), the type of `b` [TV0505]"});
  CHECK(contains(made("full:0.5", isa::u8, {1}).at(0), "0.5 is not a u8 (0..255)"));
  CHECK(contains(made("full:1000", isa::f8e4m3, {1}).at(0), "is not an f8e4m3 (-448..448)"));
  CHECK(contains(made("full:70000", isa::f16, {1}).at(0), "is not an f16"));
  CHECK(contains(made("full:inf", isa::f8e4m3, {1}).at(0), "is not an f8e4m3"));
  CHECK(contains(made("full:2", isa::bipolar(2), {1}).at(0), "(the odd numbers of -3..3)"));
  CHECK(contains(made("full:1x", isa::f16, {1}).at(0), "is not a number"));
}

TEST_CASE("numbers of a file must be representable, and the first that is not is named") {
  const ScratchFolder folder;
  const std::string path = folder / "w.npy";
  HostTensor numbers = tensor_of(isa::i32, {4, 10}, {});
  numbers.set_code(37, 35);
  numbers.set_code(38, 99);
  REQUIRE(write_npy(path, numbers).ok());
  CHECK(made(path, isa::signed_int(6), {4, 10}) ==
        Values{"`" + path + "`: `b`[3, 7] = 35 is not an i6 (-32..31) [TV0505]"});
  CHECK(made(path, isa::i8, {4, 10}).at(37) == "35");
  CHECK(contains(made(path, isa::i8, {10, 4}).at(0),
                 "holds i32[4, 10], but `b` is i8[10, 4]; reshape the array, or set"));
}

TEST_CASE("any file type serves any parameter that holds its numbers") {
  const ScratchFolder folder;
  const std::string path = folder / "w.npy";
  REQUIRE(write_npy(path, tensor_of(isa::f64, {3}, {-1, 0.5, 448})).ok());
  CHECK(made(path, isa::f8e4m3, {3}) == Values{"-1", "0.5", "448"});
  CHECK(made(path, isa::bf16, {3}) == Values{"-1", "0.5", "448"});
  CHECK(contains(made(path, isa::i16, {3}).at(0), "`b`[1] = 0.5 is not an i16 (-32768..32767)"));
  HostTensor nan = tensor_of(isa::f16, {1}, {});
  nan.set_code(0, 0x7e01);
  REQUIRE(write_npy(path, nan).ok());
  CHECK(loaded(path, isa::f16, {1})->code(0) == 0x7e01);
}

TEST_CASE("codes are taken as they are, if they fit") {
  const ScratchFolder folder;
  const std::string path = folder / "w.npy";
  REQUIRE(write_npy(path, tensor_of(isa::u8, {3}, {0, 31, 32})).ok());
  CHECK(made("codes:" + path, isa::signed_int(6), {3}) == Values{"0", "31", "-32"});
  CHECK(contains(made("codes:" + path, isa::unsigned_int(5), {3}).at(0),
                 "code 32 of `b`[2] has more than the 5 bits of a u5 [TV0505]"));
  REQUIRE(write_npy(path, tensor_of(isa::i8, {1}, {1})).ok());
  CHECK(contains(made("codes:" + path, isa::u8, {1}).at(0), "holds i8, but codes are unsigned"));
}

TEST_CASE("packed bytes are the tensor's memory") {
  const ScratchFolder folder;
  const std::string path = folder / "w.npy";
  REQUIRE(write_npy(path, tensor_of(isa::u8, {3}, {0xc0, 0x0f, 0xfc})).ok());
  CHECK(made("packed:" + path, isa::unsigned_int(6), {2, 2}) == Values{"0", "63", "0", "63"});
  const HostTensor three = *loaded("packed:" + path, isa::unsigned_int(6), {3});
  CHECK(three.data[2] == 0);  // bits behind the last element
  CHECK(contains(made("packed:" + path, isa::unsigned_int(6), {5}).at(0),
                 "holds 3 bytes, but `b` is u6[5], which packs into 4"));
}

TEST_CASE("packed words hold their low bits first") {
  const ScratchFolder folder;
  const std::string path = folder / "w.npy";
  const Values wanted{"1", "2", "3", "4", "5", "6", "7", "15"};
  const isa::DType u4 = isa::unsigned_int(4);
  for (const isa::DType& dtype : {isa::u32, isa::i32}) {
    REQUIRE(
        write_npy(path, tensor_of(dtype, {1, 1}, {0xf7654321 - (dtype == isa::i32 ? 0x1p32 : 0)}))
            .ok());
    CHECK(made("packed:" + path, u4, {8}) == wanted);
    CHECK(made("packed:" + path, u4, {2, 3}) == Values(wanted.begin(), wanted.begin() + 6));
    CHECK(contains(made("packed:" + path, u4, {10}).at(0), "holds 4 bytes, but `b` is u4[10]"));
    CHECK(contains(made("packed:" + path, u4, {0}).at(0), "holds 4 bytes"));
  }
  REQUIRE(write_npy(path, tensor_of(isa::u16, {2}, {0x4321, 0xf765})).ok());
  CHECK(made("packed:" + path, u4, {8}) == wanted);
  CHECK(contains(made("packed:" + path, u4, {4}).at(0), "which packs into 2"));
  HostTensor wide = tensor_of(isa::u64, {1}, {0});
  wide.set_code(0, 0x8877665544332211);
  REQUIRE(write_npy(path, wide).ok());
  CHECK(made("packed:" + path, isa::u16, {4}) == Values{"8721", "17459", "26197", "34935"});
  // Words of the other byte order are the same numbers.
  const std::string header = "{'descr': '>u2', 'fortran_order': False, 'shape': (2,), }\n";
  std::string text = std::string("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  std::ofstream(path, std::ios::binary) << text << header << "\x43\x21\xf7\x65";
  CHECK(made("packed:" + path, u4, {8}) == wanted);
  REQUIRE(write_npy(path, tensor_of(isa::f32, {1}, {1})).ok());
  CHECK(contains(made("packed:" + path, u4, {8}).at(0), "words of 16, 32 or 64 bits"));
}

TEST_CASE("a specification's type and shape must be the program's") {
  CHECK(contains(made("f16[4]=zeros", isa::u8, {4}).at(0), "says f16, but `b` is u8[4] [TV0504]"));
  CHECK(contains(made("[5]=zeros", isa::u8, {4}).at(0), "says u8[5], but `b` is u8[4] [TV0503]"));
  CHECK(made("u8[4]=zeros", isa::u8, {4}).size() == 4);
}

TEST_CASE("a result is written in the smallest NumPy type that is exact") {
  const std::vector<std::pair<isa::DType, isa::DType>> types = {
      {isa::signed_int(3), isa::i8}, {isa::unsigned_int(5), isa::u8},
      {isa::bipolar(8), isa::i16},   {isa::f8e5m2, isa::f32},
      {isa::bf16, isa::f32},         {isa::tf32, isa::f32},
      {isa::f16, isa::f16},          {isa::i64, isa::i64}};
  for (const auto& [dtype, expected] : types) {
    CHECK(to_numpy(*make_tensor(dtype, {2}, "t"), false)->dtype == expected);
  }
  CHECK(to_numpy(*make_tensor(isa::signed_int(3), {2}, "t"), true)->dtype == isa::u8);
  CHECK(to_numpy(*make_tensor(isa::tf32, {2}, "t"), true)->dtype == isa::u32);
  CHECK(to_numpy(*make_tensor(isa::f64, {2}, "t"), true)->dtype == isa::u64);
}

TEST_CASE("every code of every narrow type survives a file, as a number and as a code") {
  const ScratchFolder folder;
  const std::string path = folder / "c.npy";
  for (const isa::DType& dtype : isa::all_dtypes()) {
    if (dtype.bits > 8) continue;
    const std::int64_t count = std::int64_t{1} << dtype.bits;
    HostTensor tensor = *make_tensor(dtype, {count}, "t");
    for (std::size_t k = 0; k < tensor.size(); ++k) tensor.set_code(k, k);
    REQUIRE(stored("codes:" + path, tensor).ok());
    CHECK(*loaded("codes:" + path, dtype, {count}) == tensor);
    REQUIRE(stored(path, tensor).ok());
    CHECK(values_of(*loaded(path, dtype, {count})) == values_of(tensor));
  }
}

TEST_CASE("a destination that cannot be written, or is of another type, says so") {
  const HostTensor tensor = *make_tensor(isa::f16, {2}, "t");
  const auto unwritable = stored("/no/such/folder/c.npy", tensor);
  CHECK(unwritable.error().kind == ErrorKind::usage);
  CHECK(contains(stored("f32[2]=c.npy", tensor).error().message, "says f32, but `c` is f16[2]"));
}

TEST_CASE("no text crashes the reader of specifications") {
  CHECK(rc::check("parse_spec and parse_dest return", [] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("frand[]=:,0189.npy-codes \x01\xff")));
    const Result<Spec> spec = parse_spec(text);
    if (spec) RC_ASSERT((spec->text == text));
    if (!spec) RC_ASSERT((spec.error().kind == ErrorKind::usage));
    RC_ASSERT((parse_dest(text).ok() || !parse_dest(text).error().message.empty()));
  }));
}
