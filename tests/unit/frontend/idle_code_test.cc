// What `tilevm check` notes: values that nothing depends on, statements that never run, barriers
// that order nothing.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/bind/frontend.h"
#include "isa/analysis/idle_code.h"

namespace tilevm::frontend {
namespace {

using Notes = std::vector<std::string>;

/// The notes about a program without errors: "4 TV0120 the message".
Notes notes_of(const std::string& text) {
  const auto source = std::make_shared<SourceFile>("p.tile", text);
  Diagnostics loading, diagnostics;
  const auto program = load(source, {}, loading);
  REQUIRE(program.has_value());
  for (const isa::Kernel& kernel : program->kernels) {
    isa::note_idle_code(kernel, *program->source, diagnostics);
  }
  Notes notes;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    CHECK(diagnostic.severity == Severity::note);
    notes.push_back(std::to_string(source->locate(diagnostic.span.begin).line) + " " +
                    to_string(diagnostic.code) + " " + diagnostic.message);
  }
  return notes;
}

/// A kernel with these lines from line 5 on, whose tile `x` is stored at its end.
Notes notes_in(const std::string& lines, const std::string& parameters = "") {
  return notes_of("def f<4>(f32* p, f32* q" + parameters +
                  "):\n"
                  "    b = BlockIndices()\n"
                  "    g = ViewGlobal(p, shape=[4, 128])\n"
                  "    x = LoadGlobal(g, layout=spatial(1, 128), offset=[b:, 0:])\n" +
                  lines + "    StoreGlobal(x, ViewGlobal(q, shape=[4, 128]), offset=[b:, 0:])\n");
}

const std::string store = "    StoreGlobal(x, ViewGlobal(q, shape=[4, 128]), offset=[b:, 0:])\n";

TEST_CASE("a kernel of which everything is needed has no note") { CHECK(notes_in("").empty()); }

TEST_CASE("tiles, scalars, views, shared tensors and parameters that nothing depends on") {
  CHECK(notes_in("    z = Exp(x)\n") ==
        Notes{"5 TV0120 nothing that `f` writes or shows depends on the tile `z`"});
  CHECK(notes_in("    z = Exp(x)\n    z = z + z\n").size() == 1);  // one name, written twice
  // The tiles of one value that numbers become are not names of the program.
  CHECK(notes_in("    z = Where(x > 0, x, 0)\n") ==
        Notes{"5 TV0120 nothing that `f` writes or shows depends on the tile `z`"});
  CHECK(notes_in("    n = LoadScalar(g, offset=[0, 0])\n") ==
        Notes{"5 TV0120 nothing that `f` writes or shows depends on the scalar `n`"});
  CHECK(notes_in("    h = ViewGlobal(p, shape=[512])\n") ==
        Notes{"5 TV0120 nothing that `f` writes or shows depends on the view `h`"});
  CHECK(notes_in("    s = AllocateShared(f32, shape=[128])\n") ==
        Notes{"5 TV0120 nothing that `f` writes or shows depends on the shared tensor `s`"});
  // What is stored into a shared tensor that nobody reads is as needless as the tensor.
  CHECK(notes_in("    s = AllocateShared(f32, shape=[1, 128])\n    StoreShared(x, s)\n").size() ==
        1);
  CHECK(notes_in("", ", i32 spare") == Notes{"1 TV0120 `f` does not use its parameter `spare`"});
  CHECK(notes_in("", ", f32* spare") == Notes{"1 TV0120 `f` does not use its parameter `spare`"});
}

TEST_CASE("what is needed by a condition, an offset, a grid or a print is needed") {
  CHECK(notes_in("    n = LoadScalar(g, offset=[0, 0])\n    if n > 1.0:\n        x = x + x\n")
            .empty());
  CHECK(notes_in("    z = Exp(x)\n    Print(z)\n").empty());
  CHECK(notes_in("    for i in range(4):\n        x = x + x\n").empty());  // a counter
  CHECK(notes_of("def f<n>(f32* q, i32 n):\n"
                 "    StoreGlobal(AllocateRegister(f32, layout=spatial(32), init=0), "
                 "ViewGlobal(q, shape=[32]))\n")
            .empty());
}

TEST_CASE("a name that begins with an underscore is meant to be unused") {
  CHECK(notes_in("    _z = Exp(x)\n", ", i32 _spare").empty());
}

TEST_CASE("statements behind a loop without an end, and behind an Exit") {
  const Notes endless = notes_in("    i = 0\n    while true:\n        i = i + 1\n");
  REQUIRE(endless.size() == 2);  // and `i`, which counts for nothing
  CHECK(endless[1] ==
        "8 TV0115 this never runs: the loop before it never ends, as it has no `break` and no "
        "`Exit`");
  CHECK(notes_in("    while true:\n        break\n").empty());
  CHECK(notes_in("    while true:\n        Exit()\n").empty());
  CHECK(notes_in("    Exit()\n") ==
        Notes{"6 TV0115 this never runs: an `Exit` before it ends the block"});
  CHECK(notes_in("    if b == 1:\n        Exit()\n").empty());
  CHECK(notes_in("    if b == 1:\n        Exit()\n    else:\n        Exit()\n").size() == 1);
  // Nothing in the loop changes what its condition reads.
  const Notes stuck = notes_in("    n = 0\n    while n < b:\n        x = x + x\n");
  REQUIRE(stuck.size() == 1);
  CHECK(stuck[0].starts_with("6 TV0115 once this loop has begun it never ends"));
  CHECK(notes_in("    n = 0\n    while n < b:\n        n = n + 1\n").empty());
}

TEST_CASE("a Synchronize of threads that share no memory") {
  const Notes idle = notes_in("    Synchronize()\n");
  REQUIRE(idle.size() == 1);
  CHECK(idle[0].starts_with("5 TV0408 this `Synchronize` orders nothing"));
  CHECK(notes_in("    s = AllocateShared(f32, shape=[1, 128])\n    StoreShared(x, s)\n"
                 "    Synchronize()\n    x = LoadShared(s, layout=spatial(1, 128))\n")
            .empty());
  // Global memory that is written and read again.
  CHECK(notes_in(store + "    Synchronize()\n    x = LoadGlobal(ViewGlobal(q, shape=[4, 128]), "
                         "layout=spatial(1, 128), offset=[b:, 0:])\n")
            .empty());
}

}  // namespace
}  // namespace tilevm::frontend
