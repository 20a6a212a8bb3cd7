// Archives and the types of ml_dtypes, as NumPy 2.4, ml_dtypes 0.6 and safetensors 0.8 wrote them
// (tests/data/arrays), and files that are damaged.
#include "vm/data/array_file.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fstream>
#include <sstream>

#include "isa/type/number.h"
#include "tests/unit/contains.h"
#include "tests/unit/vm/scratch_folder.h"
#include "tests/unit/vm/tensor_of.h"
#include "vm/data/spec.h"
#include "vm/data/store.h"

namespace isa = tilevm::isa;
using namespace tilevm::vm;
using tilevm::Result;
using tilevm::Status;

namespace {

using Values = std::vector<std::string>;

std::string sample(const std::string& name) {
  return std::string(TILEVM_SOURCE_DIR) + "/tests/data/arrays/" + name;
}

Values values_of(const HostTensor& tensor) {
  Values values;
  for (std::size_t k = 0; k < tensor.size(); ++k) {
    values.push_back(isa::format_value(tensor.dtype, tensor.code(k)));
  }
  return values;
}

/// What a specification gives for the input `a`, or its message as the only value.
Values made(const std::string& spec, const isa::DType& dtype, const isa::Shape& shape,
            DataReader& reader) {
  const Result<Spec> parsed = parse_spec(spec);
  if (!parsed) return {parsed.error().message};
  const Result<HostTensor> tensor = load(*parsed, dtype, shape, "a", reader);
  return tensor ? values_of(*tensor) : Values{tensor.error().message};
}
Values made(const std::string& spec, const isa::DType& dtype, const isa::Shape& shape) {
  DataReader reader;
  return made(spec, dtype, shape, reader);
}

Bytes bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A .safetensors file of a header and of the data 0, 1, 2 ..
Bytes safetensors(const std::string& header, std::size_t data) {
  Bytes bytes = {static_cast<std::uint8_t>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  bytes.insert(bytes.end(), header.begin(), header.end());
  for (std::size_t i = 0; i < data; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
  return bytes;
}

/// A file of one array.
std::string written(const ScratchFolder& folder, const std::string& name, const Bytes& bytes) {
  const std::string path = folder / name;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));  // bytes
  return path;
}

Result<HostArray> read_bytes(Bytes bytes, const std::string& name) {
  const Result<ArrayFile> file = ArrayFile::open(bytes_in_memory(std::move(bytes), "x"));
  if (!file) return file.error();
  return file->read(name, "a", [](const ArrayType&) { return Status(tilevm::Done{}); });
}

}  // namespace

TEST_CASE("arrays of a .npz file are taken by the input's name, or by their own") {
  for (const std::string& file : {sample("stored.npz"), sample("deflated.npz")}) {
    CHECK(made(file, isa::f32, {2, 3}) == Values{"0.1", "0.2", "0.3", "1", "2", "3"});
    CHECK(made(file + ":b", isa::signed_int(4), {4}) == Values{"-3", "-1", "0", "7"});
    CHECK(contains(made(file + ":bb", isa::i8, {4}).at(0),
                   "holds no array `bb`; did you mean `b`? (FILE:NAME names one) [TV0502]"));
  }
  CHECK(made(sample("deflated.npz") + ":zeros", isa::f32, {64, 64}).at(3 * 64 + 7) == "1.5");
}

TEST_CASE("tensors of a .safetensors file are taken in the same ways") {
  const std::string file = sample("three.safetensors");
  CHECK(made(file, isa::f32, {2, 3}) == Values{"0.1", "0.2", "0.3", "1", "2", "3"});
  CHECK(made(file + ":b", isa::i8, {4}) == Values{"-3", "-1", "0", "7"});
  CHECK(made(file + ":c", isa::f16, {2}) == Values{"1", "2"});
  CHECK(contains(made(file + ":weights", isa::i8, {4}).at(0),
                 "it has `a`, `c`, `b` (FILE:NAME names one)"));
  CHECK(contains(made(file + ":c", isa::f16, {3}).at(0), "holds f16[2], but `a` is f16[3]"));
}

TEST_CASE("floats of 6 bits in a .safetensors file are four in three bytes") {
  const ScratchFolder folder;
  for (const auto& [name, dtype] : {std::pair{"F6_E2M3", isa::small_float(2, 3)},
                                    std::pair{"F6_E3M2", isa::small_float(3, 2)}}) {
    const std::string header =
        std::string(R"({"a":{"dtype":")") + name + R"(","shape":[2,4],"data_offsets":[0,6]}})";
    const std::string file = written(folder, "f6.safetensors", safetensors(header, 6));
    DataReader reader;
    const Result<HostTensor> tensor = load(*parse_spec(file), dtype, {2, 4}, "a", reader);
    REQUIRE_MESSAGE(tensor, tensor.error().message);
    // The bytes 0 1 2 3 4 5 as a stream of 6 bits each, low bits first.
    const std::vector<std::uint64_t> codes{0, 4, 32, 0, 3, 16, 16, 1};
    const Result<HostTensor> wide = load(*parse_spec(file), isa::f32, {2, 4}, "a", reader);
    REQUIRE(wide);
    for (std::size_t k = 0; k < codes.size(); ++k) {
      CHECK(tensor->code(k) == codes[k]);
      CHECK(isa::to_double(isa::decode(isa::f32, wide->code(k))) ==
            isa::to_double(isa::decode(dtype, codes[k])));
    }
  }
  const Bytes odd = safetensors(R"({"a":{"dtype":"F6_E3M2","shape":[3],"data_offsets":[0,3]}})", 3);
  CHECK(contains(read_bytes(odd, "a").error().message, "do not fit its shape"));
}

TEST_CASE("names and keys that occur twice are refused") {
  const auto fault = [](Bytes bytes) {
    const Result<HostArray> array = read_bytes(std::move(bytes), "a");
    return array ? std::string("it was read") : array.error().message;
  };
  const std::string one = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  const std::string two = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]})";
  CHECK(contains(fault(safetensors("{" + one + "," + two + "}", 2)), "the key `a` occurs twice"));
  CHECK(contains(fault(safetensors(R"({"\u0061":)" + one.substr(4) + "," + two + "}", 2)),
                 "the key `a` occurs twice"));  // one name, written in two ways
  CHECK(contains(fault(safetensors(
                     R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1)),
                 "the key `dtype` occurs twice"));
  CHECK(contains(
      fault(safetensors(R"({"a":{"dtype":"U8","shape":[2],"shape":[1],"data_offsets":[0,1]}})", 1)),
      "the key `shape` occurs twice"));
  CHECK(contains(fault(safetensors(R"({"__metadata__":{},"__metadata__":{},)" + one + "}", 1)),
                 "the key `__metadata__` occurs twice"));
  CHECK(contains(fault(safetensors(R"({"__metadata__":{"x":"1","x":"2"},)" + one + "}", 1)),
                 "the key `x` occurs twice"));
  const Bytes x = npy_bytes(tensor_of(isa::u8, {1}, {1})),
              y = npy_bytes(tensor_of(isa::u8, {1}, {2}));
  CHECK(contains(fault(*zip_bytes({{"a.npy", x}, {"b.npy", x}, {"a.npy", y}})),
                 "it has two members `a.npy`"));
  CHECK(fault(*zip_bytes({{"a.npy", x}, {"b.npy", y}})) == "it was read");
}

TEST_CASE("an array of no dimensions is one element") {
  const ScratchFolder folder;
  const std::string scale =
      written(folder, "s.safetensors",
              safetensors(R"({"a":{"dtype":"U16","shape":[],"data_offsets":[0,2]}})", 2));
  REQUIRE(write_npy(folder / "s.npy", tensor_of(isa::u16, {}, {256})).ok());
  for (const std::string& file : {scale, folder / "s.npy"}) {
    CHECK(made(file, isa::f32, {1}) == Values{"256"});
    CHECK(made(file, isa::f32, {1, 1}) == Values{"256"});
    CHECK(made("codes:" + file, isa::f16, {1}) == Values{"1.526e-05"});
    CHECK(contains(made(file, isa::f32, {2}).at(0), "holds u16[], but `a` is f32[2]"));
  }
}

TEST_CASE("types of ml_dtypes are read, also those that lose their name in a .npy file") {
  CHECK(made(sample("bfloat16.npy"), isa::bf16, {4}) == Values{"1", "-2.5", "0.1", "inf"});
  CHECK(made(sample("bfloat16.npy"), isa::f32, {4}) == Values{"1", "-2.5", "0.100097656", "inf"});
  CHECK(made(sample("float8_e5m2.npy"), isa::f8e5m2, {4}) == Values{"1", "-2.5", "0.09", "inf"});
  CHECK(made(sample("float8_e4m3fn.npy"), isa::f8e4m3, {4}) == Values{"1", "-2.5", "0.1", "448"});
  CHECK(made(sample("int4.npy"), isa::signed_int(4), {4}) == Values{"1", "-1", "-8", "7"});
  CHECK(made(sample("uint2.npy"), isa::unsigned_int(2), {4}) == Values{"1", "2", "3", "0"});
  CHECK(made(sample("float4_e2m1fn.npy"), isa::small_float(2, 1), {4}) ==
        Values{"1", "-1", "6", "0.5"});
  CHECK(made("codes:" + sample("int4.npy"), isa::u8, {4}) == Values{"1", "15", "8", "7"});
  for (const char* const source : {"codes:", "packed:"}) {  // types that keep their name
    CHECK(made(source + sample("float8_e5m2.npy"), isa::f8e5m2, {4}) ==
          Values{"1", "-2.5", "0.09", "inf"});
    CHECK(made(source + sample("bfloat16.npy"), isa::bf16, {4}).at(3) == "inf");
  }
  // A type that ml_dtypes does not have cannot be meant, nor can codes that are too wide.
  CHECK(contains(made(sample("int4.npy"), isa::f16, {4}).at(0),
                 "holds items of one byte without a type (`V1`)"));
  CHECK(contains(made(sample("int4.npy"), isa::unsigned_int(2), {4}).at(0),
                 "code 15 of `a`[1] has more than the 2 bits of a u2 [TV0505]"));
}

TEST_CASE("floats are rounded to a float type, and one note says how much") {
  const std::string file = sample("stored.npz");
  DataReader reader;
  CHECK(made(file, isa::f16, {2, 3}, reader) == Values{"0.1", "0.2", "0.3", "1", "2", "3"});
  REQUIRE(reader.notes().size() == 1);
  const DataNote& note = reader.notes()[0];
  CHECK(contains(
      note.message,
      "3 of 6 numbers of `a` are not values of f16 and were rounded to the nearest, by at most "
      "4.88e-05 (at [0, 1] 0.2 became 0.199951172); first [0, 0] 0.1 became "
      "0.0999755859; --exact refuses them"));
  CHECK(note.count == 3);
  CHECK(note.place.index == isa::Shape{0, 0});
  CHECK(note.place.tensor == "a");
  DataReader exact(true);
  CHECK(contains(made(file, isa::f16, {2, 3}, exact).at(0),
                 "`a`[0, 0] = 0.1 is not an f16 (the nearest is 0.0999755859) [TV0505]"));
  // What an integer type does not hold is never changed, and nothing overflows.
  CHECK(contains(made(file, isa::i32, {2, 3}).at(0), "`a`[0, 0] = 0.1 is not an i32"));
  const ScratchFolder folder;
  REQUIRE(write_npy(folder / "large.npy", tensor_of(isa::f32, {2}, {65519, 65520})).ok());
  CHECK(contains(made(folder / "large.npy", isa::f16, {2}).at(0),
                 "`a`[1] = 65520 is not an f16 (-65504..65504)"));
  REQUIRE(write_npy(folder / "odd.npy", tensor_of(isa::i32, {1}, {2049})).ok());
  CHECK(contains(made(folder / "odd.npy", isa::f16, {1}).at(0), "2049 is not an f16"));
}

TEST_CASE("standard input holds one array, or an archive") {
  const Bytes bytes = bytes_of(sample("stored.npz"));
  std::istringstream archive(std::string(bytes.begin(), bytes.end()));
  DataReader reader(false, &archive);
  CHECK(made("-", isa::f32, {2, 3}, reader).at(3) == "1");
  CHECK(made("-:b", isa::i8, {4}, reader).at(3) == "7");
  const Bytes one = bytes_of(sample("int4.npy"));
  std::istringstream single(std::string(one.begin(), one.end()));
  DataReader second(false, &single);
  CHECK(made("-", isa::signed_int(4), {4}, second).at(3) == "7");
  const Result<HostTensor> again = load(*parse_spec("-"), isa::signed_int(4), {4}, "b", second);
  CHECK(contains(again.error().message, "two inputs read standard input"));
  CHECK(contains(made("-", isa::i8, {1}).at(0), "standard input holds no data here"));
}

TEST_CASE("outputs of one archive are its arrays, and read back") {
  const ScratchFolder folder;
  const HostTensor x = tensor_of(isa::bf16, {2}, {1, -2.5});
  const HostTensor y = tensor_of(isa::signed_int(3), {3}, {1, -4, 3});
  for (const char* const suffix : {".npz", ".safetensors"}) {
    const std::string file = folder / (std::string("out") + suffix);
    const std::vector<StoredOutput> outputs = {{*parse_dest(file), "x", &x},
                                               {*parse_dest(file + ":three"), "y", &y}};
    std::ostringstream unused;
    REQUIRE(check_destinations(outputs, {}).ok());
    REQUIRE(store(outputs, unused).ok());
    CHECK(made(file + ":x", isa::bf16, {2}) == Values{"1", "-2.5"});
    CHECK(made(file + ":three", isa::signed_int(3), {3}) == Values{"1", "-4", "3"});
  }
  // A .safetensors file keeps bf16; a .npz file has float32, which NumPy knows.
  CHECK(read_bytes(bytes_of(folder / "out.safetensors"), "x")->dtype == isa::bf16);
  CHECK(read_bytes(bytes_of(folder / "out.npz"), "x")->dtype == isa::f32);
}

TEST_CASE("outputs that would lose one another are refused before the run") {
  const HostTensor x = tensor_of(isa::f32, {1}, {1});
  const auto refusal = [&](const std::string& first, const std::string& second) {
    const std::vector<StoredOutput> outputs = {{*parse_dest(first), "x", &x},
                                               {*parse_dest(second), "y", &x}};
    const Status status = check_destinations(outputs, {});
    return status ? std::string() : status.error().message;
  };
  const ScratchFolder folder;
  CHECK(contains(refusal(folder / "a.npz:x", folder / "a.npz:x"), "the array `x` of"));
  CHECK(contains(refusal("-", "-"), "two outputs go to standard output"));
  CHECK(contains(refusal(folder / "a.npy", folder / "a.npy"), "two outputs would be written to"));
  CHECK(refusal("npz:-", "npz:-").empty());
  CHECK(refusal(folder / "a.npz", folder / "a.npz").empty());
  std::ostringstream out;
  const StoredOutput output{*parse_dest("-"), "x", &x};
  REQUIRE(store({&output, 1}, out).ok());
  CHECK(out.str().starts_with("\x93NUMPY"));
}

TEST_CASE("a damaged archive is refused with its fault") {
  const auto fault = [](Bytes bytes) {
    const Result<HostArray> array = read_bytes(std::move(bytes), "a");
    return array ? std::string("it was read") : array.error().message;
  };
  const Bytes good = bytes_of(sample("deflated.npz"));
  CHECK(fault(good) == "it was read");
  Bytes cut(good.begin(), good.end() - 10);
  CHECK(contains(fault(cut), "cut short: it has no directory at its end [TV0502]"));
  Bytes flipped = good;
  flipped[70] ^= 0x40;  // in the deflated data of `a`
  CHECK(contains(fault(flipped), "`a.npy`"));
  CHECK(contains(fault({'P', 'K', 3, 4}), "cut short"));
  CHECK(contains(fault({1, 2, 3}), "begins neither as a .npy file"));
  CHECK(contains(fault({0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, '{'}), "is too long"));
  CHECK(contains(fault({9, 0, 0, 0, 0, 0, 0, 0, '{', '}'}), "ends inside its header"));
  CHECK(contains(fault(safetensors("{\"a\": 1}", 0)), "bad header"));
  const auto one_byte = [&](const std::string& before, const std::string& after) {
    return fault(
        safetensors(before + R"({"dtype":"U8", "shape":[ 1 ], "data_offsets":[0,1]})" + after, 1));
  };
  CHECK(one_byte(R"({"\u0061":)", "} ") == "it was read");
  CHECK(one_byte(R"({"__metadata__":{"x":[1,-2.5e3,true,null,{},"\ud83d\ude00\n"]},"a":)", "}") ==
        "it was read");
  CHECK(contains(one_byte(R"({"a":)", ""),
                 "bad header: it is not JSON: incomplete JSON, at byte 56"));
  CHECK(contains(one_byte("{\"a\xff\":", "}"),
                 "bad header: it is not JSON: syntax error, at byte 3"));
  CHECK(contains(one_byte(R"({"a":)", "}}"), "something follows the object"));
  CHECK(contains(one_byte(R"({"__metadata__":nil,"a":)", "}"),
                 "bad header: it is not JSON: syntax error, at byte 16"));
  CHECK(contains(one_byte(R"({"\ud83d":)", "}"),
                 "bad header: it is not JSON: syntax error, at byte 8"));
  CHECK(
      contains(one_byte(R"({"\q":)", "}"), "bad header: it is not JSON: syntax error, at byte 3"));
  CHECK(contains(fault(safetensors(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3)),
                 "cut short"));
  CHECK(contains(fault(safetensors(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,4]}})", 4)),
                 "do not fit its shape"));
  CHECK(contains(fault(safetensors(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                                   R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                                   4)),
                 "lies in the data of another tensor"));
  CHECK(contains(fault(safetensors(R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})", 8)),
                 "holds `a` as C64, which tilevm does not have"));
}

TEST_CASE("what a file claims takes no memory: its shape is compared first") {
  // 16 MiB of zeros deflate to 16 KiB; the header alone is inflated before the shape is refused.
  const ScratchFolder folder;
  std::size_t asked = 0;
  const Result<ArrayFile> file = ArrayFile::open(*open_bytes(sample("deflated.npz")));
  REQUIRE(file.ok());
  const Result<HostArray> array = file->read("zeros", "a", [&](const ArrayType& type) -> Status {
    asked = static_cast<std::size_t>(isa::element_count(type.shape));
    return tilevm::Error{tilevm::ErrorKind::program, "not wanted"};
  });
  CHECK(asked == 64 * 64);
  CHECK(array.error().message == "not wanted");
}

TEST_CASE("no damage of an archive crashes its reader") {
  for (const char* const name : {"stored.npz", "deflated.npz", "three.safetensors"}) {
    const Bytes good = bytes_of(sample(name));
    CHECK(rc::check("a damaged archive is read or refused", [&] {
      Bytes bytes = good;
      for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
        bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] =
            *rc::gen::arbitrary<std::uint8_t>();
      }
      bytes.resize(*rc::gen::elementOf(std::vector<std::size_t>{
          bytes.size(), bytes.size() - *rc::gen::inRange<std::size_t>(0, bytes.size())}));
      const Result<HostArray> array = read_bytes(bytes, "a");
      RC_ASSERT((array.ok() || !array.error().message.empty()));
    }));
  }
}
