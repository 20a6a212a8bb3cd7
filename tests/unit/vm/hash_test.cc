#include "vm/data/hash.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

using tilevm::format_hash;
using tilevm::xxh64;
using tilevm::vm::content_hash;
using tilevm::vm::HostTensor;
namespace isa = tilevm::isa;

TEST_CASE("XXH64 gives the published values") {
  CHECK(xxh64("") == 0xef46db3751d8e999);
  CHECK(xxh64("a") == 0xd24ec4f1a98c6e5b);
  CHECK(xxh64("abc") == 0x44bc2cf5ad770999);
  CHECK(xxh64("Nobody inspects the spammish repetition") == 0xfbcea83c8a378bf1);
}

TEST_CASE("XXH64 is the same however long the input is") {
  // The first n bytes of 0, 1, 2, ...; computed with the reference implementation (libxxhash).
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 101; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
  const std::span<const std::uint8_t> all(bytes);
  CHECK(xxh64(all.first(1), 7) == 0xd90df86c76f52e13);
  CHECK(xxh64(all.first(3), 7) == 0x5ab1230478ca6310);
  CHECK(xxh64(all.first(4), 7) == 0x6ae497162d0610d7);
  CHECK(xxh64(all.first(7), 7) == 0x54640963b8c77fa9);
  CHECK(xxh64(all.first(8), 7) == 0x3072f8c5cba43e9a);
  CHECK(xxh64(all.first(12), 7) == 0x17d8629fd1df6544);
  CHECK(xxh64(all.first(31), 7) == 0x0bdbbcaead6c6e56);
  CHECK(xxh64(all.first(32), 7) == 0xa5972d57c4aea230);
  CHECK(xxh64(all.first(33), 7) == 0x0c43e57754c778d9);
  CHECK(xxh64(all.first(63), 7) == 0x379eeab4056e3988);
  CHECK(xxh64(all.first(64), 7) == 0x3c65d1809a38a9bf);
  CHECK(xxh64(all.first(100), 7) == 0x80653e7e9b887cdd);
  CHECK(xxh64(all.first(101), 7) == 0xe878e9791dbc64fa);
}

TEST_CASE("a tensor's hash depends on its type, its shape and every element") {
  const HostTensor zeros{isa::f16, {2, 3}, std::vector<std::uint8_t>(12)};
  std::set<std::uint64_t> seen{content_hash(zeros)};
  HostTensor other = zeros;
  other.dtype = isa::bf16;
  CHECK(seen.insert(content_hash(other)).second);
  other = zeros;
  other.shape = {3, 2};
  CHECK(seen.insert(content_hash(other)).second);
  for (std::size_t k = 0; k < 6; ++k) {
    other = zeros;
    other.set_code(k, 1);
    CHECK(seen.insert(content_hash(other)).second);
  }
}

TEST_CASE("bits that belong to no element do not count") {
  const HostTensor clean{isa::signed_int(6), {3}, {0xff, 0x00, 0x03}};
  HostTensor dirty = clean;
  dirty.data[2] = 0xff;
  CHECK(content_hash(dirty) == content_hash(clean));
  const HostTensor exact{isa::tf32, {1}, {0x00, 0x20, 0x80, 0x3f}};
  HostTensor noisy = exact;
  noisy.data[0] = 0x55;
  noisy.data[1] |= 0x1f;
  CHECK(content_hash(noisy) == content_hash(exact));
}

TEST_CASE("recorded hashes stay what they are") {
  CHECK(format_hash(content_hash({isa::f16, {1, 2}, {0x00, 0x3c, 0x00, 0xc0}})) ==
        "008b91e1a2a6d099");
  CHECK(format_hash(content_hash({isa::signed_int(6), {3}, {0xff, 0x00, 0x03}})) ==
        "d3825fba0cd266d6");
  CHECK(format_hash(0xabc) == "0000000000000abc");
}

TEST_CASE("one bit more or less gives another hash") {
  CHECK(rc::check("xxh64 of two texts that differ in one bit", [] {
    std::string text = *rc::gen::nonEmpty<std::string>();
    const std::uint64_t before = xxh64(text);
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = static_cast<char>(text[at] ^ (1 << *rc::gen::inRange(0, 8)));
    RC_ASSERT((xxh64(text) != before));
  }));
}
