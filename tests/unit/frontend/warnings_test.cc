// What is warned of while names are bound.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/bind/frontend.h"

namespace tilevm::frontend {
namespace {

/// The warnings about a kernel with these lines, which has no errors: "4 TV0307".
std::vector<std::string> warnings_of(const std::string& lines) {
  const auto source = std::make_shared<SourceFile>(
      "p.tile",
      "const ONE = 1\ndef f<1>(f32* p):\n    x = AllocateRegister(f32, "
      "layout=spatial(32), init=0.0)\n" +
          lines);
  Diagnostics diagnostics;
  CHECK(load(source, {}, diagnostics).has_value());
  std::vector<std::string> result;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    result.push_back(std::to_string(source->locate(diagnostic.span.begin).line) + " " +
                     to_string(diagnostic.code));
  }
  return result;
}

TEST_CASE("a name that takes another type in a block is warned of, where the block may run") {
  using Warnings = std::vector<std::string>;
  const std::string cast = "        x = Cast(x, f16)\n";
  const std::string deep = "    " + cast;
  CHECK(warnings_of("    for i in range(4):\n" + cast) == Warnings{"5 TV0307"});
  CHECK(warnings_of("    if ONE == 1:\n" + cast).empty());  // the branch is not a block of its own
  CHECK(warnings_of("    if ONE == 2:\n" + cast).empty());
  CHECK(warnings_of("    if ONE == 1:\n        pass\n    else:\n" + cast).empty());
  CHECK(warnings_of("    if ONE == 1:\n        pass\n    elif ONE < 2:\n" + cast).empty());
  CHECK(warnings_of("    for i in range(0):\n" + cast).empty());
  CHECK(warnings_of("    if ONE == 2:\n        for i in range(4):\n" + deep).empty());
  CHECK(warnings_of("    if ONE == 2:\n        pass\n    for i in range(4):\n" + cast) ==
        Warnings{"7 TV0307"});
}

TEST_CASE(
    "an offset that passes its view whatever the values are is warned of, unless it is tested") {
  using Warnings = std::vector<std::string>;
  const std::string view = "    g = ViewGlobal(p, shape=[128])\n    for i in range(8):\n";
  const auto store = [&](const std::string& offset) {
    return "StoreGlobal(x, g, offset=[" + offset + ":])\n";
  };
  CHECK(warnings_of(view + "        " + store("i * 32")) == Warnings{"6 TV0305"});
  CHECK(warnings_of(view + "        " + store("i * 16")).empty());
  CHECK(warnings_of(view + "        if i < 4:\n            " + store("i * 32")).empty());
  CHECK(warnings_of(view + "        if ONE < 4:\n            " + store("i * 32")) ==
        Warnings{"7 TV0305"});
  // A load past the end gives zeros: only a tile that lies outside whatever the values are counts.
  const std::string load = "        y = LoadGlobal(g, layout=spatial(32), offset=[";
  CHECK(warnings_of(view + load + "i * 32:])\n").empty());
  CHECK(warnings_of(view + load + "i * 32 + 128:])\n") == Warnings{"6 TV0305"});
}

TEST_CASE("an index without a colon that its view does not have is warned of, of loads too") {
  using Warnings = std::vector<std::string>;
  const std::string view = "    g = ViewGlobal(p, shape=[4, 32])\n    for i in range(8):\n";
  const auto load = [](const std::string& index) {
    return "y = LoadGlobal(g, layout=spatial(32), offset=[" + index + ", 0:])\n";
  };
  CHECK(warnings_of(view + "        " + load("i")) == Warnings{"6 TV0305"});
  CHECK(warnings_of(view + "        " + load("i / 2")).empty());
  CHECK(warnings_of(view + "        " + load("3 - i")) == Warnings{"6 TV0305"});
  CHECK(warnings_of(view + "        if i < 4:\n            " + load("i")).empty());
  // A colon says that the tile may be outside.
  CHECK(warnings_of(view + "        y = LoadGlobal(g, layout=spatial(1, 32), offset=[i:, 0:])\n")
            .empty());
}

TEST_CASE("an address that wraps around is warned of where ranges prove it") {
  using Warnings = std::vector<std::string>;
  const std::string loop = "    g = ViewGlobal(p, shape=[128])\n    for i in range(70000):\n";
  const auto load = [](const std::string& offset) {
    return "        y = LoadGlobal(g, layout=spatial(32), offset=[" + offset + ":])\n";
  };
  CHECK(warnings_of(loop + load("i * 65536")) == Warnings{"6 TV0416"});
  CHECK(warnings_of(loop + load("i64(i) * 65536")).empty());
  CHECK(warnings_of(loop + load("i * 1000")).empty());
  CHECK(warnings_of(loop + load("i * 65536 % 128")).empty());  // a hash
  CHECK(warnings_of(loop + "        n = i * 65536\n" + load("n")) == Warnings{"6 TV0416"});
  CHECK(warnings_of(loop + "        n = i * 65536\n" + load("i")).empty());  // no address
  CHECK(warnings_of(loop + "        if i < 9:\n    " + load("i * 65536")).empty());
}

}  // namespace
}  // namespace tilevm::frontend
