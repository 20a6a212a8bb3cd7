#include "vm/data/npy.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

#include "isa/type/number.h"
#include "tests/unit/contains.h"
#include "vm/data/npy_header.h"
#include "vm/text/byte_source.h"

namespace isa = tilevm::isa;
using namespace tilevm::vm;
using tilevm::Result;

namespace {

/// A file of format `major`.0 whose dictionary is `header`, as it stands.
Bytes file_of(const std::string& header, const Bytes& data, int major = 1) {
  Bytes bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<std::uint8_t>(major), 0};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  }
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::string header_of(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}

std::vector<std::string> values_of(const HostTensor& tensor) {
  std::vector<std::string> values;
  for (std::size_t k = 0; k < tensor.size(); ++k) {
    values.push_back(isa::format_value(tensor.dtype, tensor.code(k)));
  }
  return values;
}

/// The message of a file that must not be readable.
std::string fault(const Bytes& bytes) {
  const Result<HostArray> tensor = parse_npy(bytes, "x.npy");
  return tensor ? "it was read" : tensor.error().message;
}

using Values = std::vector<std::string>;

}  // namespace

TEST_CASE("a file that NumPy wrote is read") {
  // numpy.save of numpy.array([[1, -2, 3], [4, 5, -6]], dtype='<i2'), byte for byte.
  const std::string header = header_of("<i2", "(2, 3)");
  const std::string padded =
      header.substr(0, header.size() - 1) + std::string(118 - header.size(), ' ') + "\n";
  const Bytes bytes = file_of(padded, {1, 0, 0xfe, 0xff, 3, 0, 4, 0, 5, 0, 0xfa, 0xff});
  CHECK(bytes.size() == 128 + 12);
  const Result<HostArray> tensor = parse_npy(bytes, "x.npy");
  REQUIRE(tensor.ok());
  CHECK(tensor->dtype == isa::i16);
  CHECK(tensor->shape == isa::Shape{2, 3});
  CHECK(values_of(*tensor) == Values{"1", "-2", "3", "4", "5", "-6"});
  CHECK(npy_bytes(*tensor) == bytes);
}

TEST_CASE("both byte orders give the same numbers") {
  const auto little =
      parse_npy(file_of(header_of("<f4", "(2,)"), {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}), "x");
  const auto big =
      parse_npy(file_of(header_of(">f4", "(2,)"), {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}), "x");
  REQUIRE((little.ok() && big.ok()));
  CHECK(*little == *big);
  CHECK(values_of(*big) == Values{"1", "-2"});
}

TEST_CASE("both index orders give the same tensor") {
  const auto c = parse_npy(file_of(header_of("|u1", "(2, 3)"), {1, 2, 3, 4, 5, 6}), "x");
  const auto fortran =
      parse_npy(file_of(header_of("|u1", "(2, 3)", true), {1, 4, 2, 5, 3, 6}), "x");
  REQUIRE((c.ok() && fortran.ok()));
  CHECK(*c == *fortran);
  const auto cube = parse_npy(file_of(header_of(">u2", "(2, 2, 2)", true),
                                      {0, 0, 0, 4, 0, 2, 0, 6, 0, 1, 0, 5, 0, 3, 0, 7}),
                              "x");
  REQUIRE(cube.ok());
  CHECK(values_of(*cube) == Values{"0", "1", "2", "3", "4", "5", "6", "7"});
}

TEST_CASE("every format version and every element type is read") {
  for (const int major : {1, 2, 3}) {
    CHECK(parse_npy(file_of(header_of("<f8", "()"), Bytes(8), major), "x").ok());
  }
  const std::vector<std::pair<std::string, isa::DType>> types = {
      {"|b1", isa::u8},  {"|i1", isa::i8},  {"<i2", isa::i16}, {"=i4", isa::i32},
      {"<i8", isa::i64}, {"u1", isa::u8},   {"<u2", isa::u16}, {"<u4", isa::u32},
      {"<u8", isa::u64}, {"<f2", isa::f16}, {"<f4", isa::f32}, {"<f8", isa::f64}};
  for (const auto& [descr, dtype] : types) {
    const auto tensor =
        parse_npy(file_of(header_of(descr, "(3,)"), Bytes(3 * dtype.bits / 8)), "x");
    REQUIRE_MESSAGE(tensor.ok(), descr);
    CHECK(tensor->dtype == dtype);
  }
  const auto flags = parse_npy(file_of(header_of("|b1", "(3,)"), {0, 1, 255}), "x");
  CHECK(flags->data == Bytes{0, 1, 1});
}

TEST_CASE("a dictionary in another order or style is read") {
  const auto tensor = parse_npy(
      file_of("{\"shape\":(2L,3L),\"descr\":\"<u2\",\"fortran_order\":False}", Bytes(12)), "x");
  REQUIRE(tensor.ok());
  CHECK(tensor->shape == isa::Shape{2, 3});
  CHECK(parse_npy(file_of(header_of("<u2", "(0, 5)"), {}), "x").ok());
}

TEST_CASE("a file of another kind names what is wrong") {
  CHECK(contains(fault({}), "`x.npy`"));
  CHECK(contains(fault({}), "it is not an .npy file"));
  CHECK(contains(fault({'P', 'K', 3, 4, 5, 6, 7, 8, 9, 10}), "it is not an .npy file"));
  CHECK(contains(fault({0x93, 'N', 'U', 'M', 'P', 'Y', 1}), "it ends inside its header"));
  CHECK(contains(fault(file_of(header_of("<f4", "(1,)"), Bytes(4), 4)), "its format is 4.0"));
  CHECK(contains(fault({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 200, 0, '{'}), "it ends inside"));
  CHECK(contains(fault({0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 255, 255, 255, 255}), "too long"));
}

TEST_CASE("a type without a counterpart is refused by name") {
  CHECK(contains(fault(file_of(header_of("|O", "(1,)"), Bytes(8))), "Python objects"));
  CHECK(contains(fault(file_of(header_of("<c8", "(1,)"), Bytes(8))), "complex"));
  CHECK(contains(fault(file_of(header_of("<U4", "(1,)"), Bytes(16))), "strings"));
  CHECK(contains(fault(file_of(header_of("<M8[ns]", "(1,)"), Bytes(8))), "`<M8[ns]`"));
  CHECK(contains(
      fault(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", Bytes(4))),
      "records"));
}

TEST_CASE("data that does not match the shape is refused with both sizes") {
  CHECK(contains(fault(file_of(header_of("<f4", "(2, 3)"), Bytes(20))),
                 "cut short: 20 bytes of data, 24 expected for f32[2, 3]"));
  CHECK(contains(fault(file_of(header_of("<f4", "(2, 3)"), Bytes(25))), "1 bytes follow the data"));
  CHECK(contains(fault(file_of(header_of("<f4", "(4294967296, 4294967296)"), {})), "too large"));
  CHECK(contains(fault(file_of(header_of("|u1", "(99999999999999999999,)"), {})), "too large"));
  CHECK(contains(fault(file_of(header_of("|u1", "(140737488355328, 140737488355328, 99)"), {})),
                 "too large"));
}

TEST_CASE("a broken dictionary is refused") {
  for (const char* header :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}", "[1, 2]",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4 'fortran_order': False 'shape': (1,)", "{'descr': '"}) {
    CHECK_MESSAGE(!parse_npy_header(header).ok(), header);
  }
  std::string shape = "(1";
  for (int i = 0; i < 40; ++i) shape += ",1";
  const std::string deep = header_of("<f4", shape + ")");
  CHECK(contains(parse_npy_header(deep).error().message, "more than 32 dimensions"));
}

TEST_CASE("what is written is what is read") {
  CHECK(rc::check("parse_npy . npy_bytes is the identity", [] {
    const auto dtype = *rc::gen::element(isa::i8, isa::i16, isa::i32, isa::i64, isa::u8, isa::u16,
                                         isa::u32, isa::u64, isa::f16, isa::f32, isa::f64);
    const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
    const auto shape = *rc::gen::container<isa::Shape>(rank, rc::gen::inRange<std::int64_t>(0, 5));
    HostTensor tensor = *make_tensor(dtype, shape, "t");
    tensor.data =
        *rc::gen::container<Bytes>(tensor.data.size(), rc::gen::arbitrary<std::uint8_t>());
    const Bytes bytes = npy_bytes(tensor);
    RC_ASSERT(((bytes.size() - tensor.data.size()) % 64 == 0));
    const Result<HostArray> back = parse_npy(bytes, "t.npy");
    RC_ASSERT((back.ok()));
    RC_ASSERT((*back == tensor));
  }));
}

TEST_CASE("no damage to a file crashes the reader") {
  CHECK(rc::check("parse_npy of a damaged file returns", [] {
    Bytes bytes = file_of(header_of(">i4", "(2, 3)", true), Bytes(24, 7));
    const auto hits = *rc::gen::inRange(1, 6);
    for (int i = 0; i < hits; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
      bytes[at] =
          *rc::gen::oneOf(rc::gen::arbitrary<std::uint8_t>(),
                          rc::gen::element<std::uint8_t>('0', '9', '(', ')', ',', '\'', '['));
    }
    bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
    const Result<HostArray> tensor = parse_npy(bytes, "x.npy");
    if (tensor) RC_ASSERT((tensor->data.size() == tensor->size() * tensor->dtype.bits / 8));
    if (!tensor) RC_ASSERT((tensor.error().message.find("x.npy") != std::string::npos));
  }));
}
