#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "tests/unit/vm/commands_support.h"
#include "vm/cli/cmd_support.h"
#include "vm/run/compile_report.h"
#include "vm/text/isa_reference.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

}  // namespace

TEST_CASE("check shows every error of the file and exits with 1") {
  Streams streams(
      "def f<1>(i32* p):\n    g = ViewGlobl(p, shape=[1])\n    h = ViewGlobal(q, shape=[1])\n");
  CHECK(check({.program = {"-", {}, ""}}, streams.io) == Exit::fault);
  CHECK(contains(streams.err.str(), "<stdin>:2:9: error:"));
  CHECK(contains(streams.err.str(), "ViewGlobal"));
  CHECK(contains(streams.err.str(), "<stdin>:3:20: error:"));
  CHECK(streams.out.str().empty());
}

TEST_CASE("check of a good program says so") {
  Streams streams(shift_program);
  CHECK(check({.program = {"-", {"N=6"}, "sm_80"}}, streams.io) == Exit::ok);
  CHECK(streams.out.str() == "<stdin>: ok (1 kernel, 0 pipelines, sm_80)\n");
}

TEST_CASE("an empty file has nothing to run") {
  Streams streams;
  RunOptions options;
  options.program.file = "-";
  CHECK(run(options, streams.io) == Exit::fault);
  CHECK(contains(streams.err.str(), to_string(Code::no_entry)));
}

TEST_CASE("explain knows every code, however it is written, and suggests") {
  for (const char* text : {"TV0104", "tv0104", "104"}) {
    Streams streams;
    CHECK(explain({text}, streams.io) == Exit::ok);
    CHECK(streams.out.str().starts_with("TV0104: "));
  }
  Streams wrong;
  CHECK(explain({"TV9999"}, wrong.io) == Exit::usage);
  Streams all;
  CHECK(explain({""}, all.io) == Exit::ok);
  CHECK(contains(all.out.str(), "TV0001  "));
}

TEST_CASE("isa lists all instructions, explains one, and suggests") {
  Streams all;
  CHECK(isa_reference({}, all.io) == Exit::ok);
  for (const InstructionInfo& info : all_instructions()) {
    CHECK(contains(all.out.str(), std::string(info.description.mnemonic) + " "));
  }
  Streams one;
  CHECK(isa_reference({"dot", false}, one.io) == Exit::ok);
  CHECK(one.out.str().starts_with("Dot(a, b, c[, out=]) -> register tile\n"));
  Streams wrong;
  CHECK(isa_reference({"Dott", false}, wrong.io) == Exit::usage);
  CHECK(contains(wrong.err.str(), "did you mean `Dot`?"));
}

TEST_CASE("docs/reference/isa.md is what the definitions say") {
  const std::string page = read_text(std::string(TILEVM_SOURCE_DIR) + "/docs/reference/isa.md");
  CHECK_MESSAGE(page == markdown_reference(), "run: tilevm isa --markdown > docs/reference/isa.md");
}

namespace {

LayoutOptions drawing(std::vector<std::string> expressions, const std::string& access = "",
                      const std::string& output = "") {
  return {std::move(expressions), output, access, false, false};
}

}  // namespace

TEST_CASE("layout draws first, then names the tensor-core fragments by shape") {
  Streams text;
  CHECK(layout(drawing({"local(2, 1).spatial(8, 4).local(1, 2)"}), text.io) == Exit::ok);
  const std::string shown = text.out.str();
  CHECK(shown.starts_with("local(2, 1).spatial(8, 4).local(1, 2)\n0:0   0:1   1:0   1:1"));
  CHECK(contains(shown, "a cell is thread:local of the element"));
  CHECK(contains(shown, "C of mma.m16n8k16: f16 -> f32, f16; bf16 -> f32; f8e4m3, f8e5m2"));
  CHECK(std::count(shown.begin(), shown.end(), '\n') < 32);
  Streams svg;
  CHECK(layout(drawing({"spatial(8, 4)"}, "", "-"), svg.io) == Exit::ok);
  CHECK(svg.out.str().starts_with("<svg"));
  Streams memory;
  CHECK(layout(drawing({"row_major(4, 4)"}), memory.io) == Exit::ok);
  CHECK(contains(memory.out.str(), "15"));
}

TEST_CASE("layout shows bits where the type is known, two layouts for a View") {
  Streams bits;
  CHECK(layout(drawing({"i6[8], local(4).spatial(2)"}), bits.io) == Exit::ok);
  CHECK(contains(bits.out.str(),
                 "  register 0  i6 |[0]        |[2]        |[4]        |[6]        |\n"));
  Streams view;
  CHECK(layout(
            drawing({"u8 local(3).spatial(32)", "i6 local(2, 1).column_spatial(4, 8).local(2, 1)"}),
            view.io) == Exit::ok);
  CHECK(contains(view.out.str(), "  register 0  u8 |[0]            |[32]           |[64]"));
  CHECK(contains(view.out.str(), "  register 0  i6 |[0,0]      |[1,0]      |[8,0]      |[9,0]"));
  Streams other_bits;
  CHECK(layout(drawing({"u8 local(3)", "i6 local(3)"}), other_bits.io) == Exit::usage);
  CHECK(contains(other_bits.err.str(), "1 threads of 24 bits, the second 1 threads of 18 bits"));
  Streams other_shape;
  CHECK(layout(drawing({"i6[9], local(4).spatial(2)"}), other_shape.io) == Exit::fault);
}

TEST_CASE("layout counts the bank conflicts of an access") {
  const LayoutOptions plain = drawing({"f32 row_major(32, 32)"}, "spatial(32, 1)");
  Streams text;
  CHECK(layout(plain, text.io) == Exit::ok);
  CHECK(contains(text.out.str(), "1 request of warps: 32 wavefronts, 31 of them for bank"));
  LayoutOptions padded = plain;
  padded.expressions = {"f32 memory_layout([32, 32], [32, 32], [33, 1])"};
  Streams free;
  CHECK(layout(padded, free.io) == Exit::ok);
  CHECK(contains(free.out.str(), "1 request of warps: 1 wavefront, no bank conflicts"));
  Streams untyped;
  CHECK(layout(drawing({"row_major(32, 32)"}, "spatial(32, 1)"), untyped.io) == Exit::usage);
  CHECK(contains(untyped.err.str(), "needs one memory layout after the type"));
}

TEST_CASE("layout writes pictures whole or not at all") {
  const ScratchFolder folder;
  const auto draw = [](const std::string& file, Streams& streams) {
    return layout(drawing({"spatial(8, 4)"}, "", file), streams.io);
  };
  Streams html, wrong, missing;
  CHECK(draw(folder / "x.html", html) == Exit::ok);
  CHECK(contains(read_text(folder / "x.html"), "</html>"));
  CHECK(draw(folder / "x.png", wrong) == Exit::usage);
  CHECK(contains(wrong.err.str(), ".svg or .html"));
  CHECK(draw(folder / "no/x.svg", missing) == Exit::usage);
}

TEST_CASE("a misspelt layout is a fault with a suggestion") {
  Streams streams;
  CHECK(layout(drawing({"clumn_local(2, 2)"}), streams.io) == Exit::fault);
  CHECK(contains(streams.err.str(), "column_local"));
}

TEST_CASE("fmt prints canonical text, checks it, and rewrites files") {
  const ScratchFolder folder;
  const std::string file = write_text(folder / "p.tile", "const N=1+ 2   # three\n");
  Streams print;
  CHECK(format({{file}, false, false}, print.io) == Exit::ok);
  CHECK(contains(print.out.str(), "const N = 1 + 2"));
  Streams check_first;
  CHECK(format({{file}, true, false}, check_first.io) == Exit::fault);
  Streams rewrite;
  CHECK(format({{file}, false, true}, rewrite.io) == Exit::ok);
  CHECK(read_text(file) == print.out.str());
  Streams check_again;
  CHECK(format({{file}, true, false}, check_again.io) == Exit::ok);
  Streams both;
  CHECK(format({{file}, true, true}, both.io) == Exit::usage);
}

TEST_CASE("compile prints CUDA text, and asks for a file for machine code") {
  Streams cuda(shift_program);
  CHECK(compile({{"-", {}, ""}, "cuda", "", "", false}, cuda.io) == Exit::ok);
  CHECK(contains(cuda.out.str(), "__global__"));
  Streams binary(shift_program);
  CHECK(compile({{"-", {}, ""}, "cubin", "", "", false}, binary.io) == Exit::usage);
  CHECK(contains(binary.err.str(), "-o FILE"));
  Streams wrong(shift_program);
  CHECK(compile({{"-", {}, ""}, "cuba", "", "", false}, wrong.io) == Exit::usage);
  CHECK(contains(wrong.err.str(), "did you mean `cuda`?"));
}

/// Without a CUDA compiler it is there, too, only without registers.
TEST_CASE("compile --explain alone gives the report and no code") {
  Streams streams(shift_program);
  CompileOptions options;
  options.program.file = "-";
  options.explain = true;
  CHECK(compile(options, streams.io) == Exit::ok);
  const std::string text = streams.out.str();
  CHECK(
      text.starts_with("shift (shift_kernel in the code), sm_90a\n"
                       "  threads     1\n"
                       "  parameters  f32* a_ptr, f32* c_ptr\n"
                       "  registers   "));
  CHECK(contains(text,
                 "\n  6     a = LoadGlobal(ga, layout=local(6), offset=[0:])\n"
                 "    6:5     LoadGlobal   3 x 8 bytes; a thread has 6 elements in a row\n"
                 "  7     StoreGlobal(Add(a, a), gc, offset=[0:])\n"
                 "    7:17    Add          6 x 1 element\n"
                 "    7:5     StoreGlobal  3 x 8 bytes; a thread has 6 elements in a row\n"));
  CHECK_FALSE(contains(text, "__global__"));
  CHECK(streams.err.str().empty());
}

TEST_CASE("compile --explain beside code on standard output speaks on standard error") {
  Streams streams(shift_program);
  CompileOptions options{{"-", {}, ""}, "", "-", "", true};
  CHECK(compile(options, streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), "__global__"));
  CHECK(streams.err.str().starts_with("shift (shift_kernel in the code)"));
}

TEST_CASE("compile --explain --json is one object with each target's kernels") {
  Streams streams(shift_program);
  CompileOptions options{{"-", {}, "sm_80,sm_90"}, "", "", "", true, true};
  CHECK(compile(options, streams.io) == Exit::ok);
  const std::string text = streams.out.str();
  CHECK(text.starts_with(R"({"schema": 1, "command": "compile", "targets": [{"target": "sm_80")"));
  CHECK(contains(text, R"({"target": "sm_90a")"));
  CHECK(contains(text, R"({"line": 7, "column": 17, "instruction": "Add", "chosen": )"
                       R"("6 x 1 element", "obstacle": null})"));
  CHECK(text.ends_with("\"status\": 0}\n"));
  Streams both(shift_program);
  CHECK(compile({{"-", {}, ""}, "cuda", "", "", true, true}, both.io) == Exit::usage);
  Streams alone(shift_program);
  CHECK(compile({{"-", {}, ""}, "cuda", "", "", false, true}, alone.io) == Exit::usage);
}

TEST_CASE("a kernel that spills is named with the bytes and the way out") {
  Streams streams(shift_program);
  const Result<Loaded> loaded = load_program({"-", {}, ""}, "sm_90", streams.io);
  REQUIRE(loaded->program.has_value());
  Diagnostics none, some;
  warn_of_spills(loaded->program->kernel(0), 128, 0, none);
  CHECK(none.sorted().empty());
  warn_of_spills(loaded->program->kernel(0), 128, 48, some);
  warn_of_spills(loaded->program->kernel(0), 512, 48, some);
  show(streams.io, some, *loaded->source);
  CHECK(contains(streams.err.str(),
                 "each thread of `shift` keeps 48 bytes in memory instead of registers; in a block "
                 "of 128 threads each can have 255"));
  CHECK(contains(streams.err.str(), "spread them over more threads"));
  CHECK(contains(streams.err.str(), "512 threads each can have 128"));
  CHECK(contains(streams.err.str(), "take fewer threads"));
}

TEST_CASE("doctor always works and says what can be run") {
  Streams streams;
  CHECK(doctor({"1.2.3", true}, streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), R"("what": "tilevm", "detail": "1.2.3)"));
  CHECK(contains(streams.out.str(), R"("backends": ["sim")"));
}

TEST_CASE("the demo finds its program, checks itself, and ends with things to try") {
  DemoOptions options;
  options.program_folder = std::string(TILEVM_SOURCE_DIR) + "/programs";
  options.size = 64;
  Streams streams;
  CHECK(demo(options, streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), "all of 4096 elements within the rounding of f16 and f32"));
  CHECK(contains(streams.out.str(), "try next"));
  Streams nowhere;
  options.program_folder = "/no/such/folder";
  CHECK(demo(options, nowhere.io) == Exit::usage);
}

TEST_CASE("every command names the included file, the line and the call of a mistake") {
  const ScratchFolder folder;
  write_text(folder / "library.tile",
             "def store(x: tile, g: view, b):\n"
             "    StoreGlobal(x, g, offset=[b * 32:])\n");
  // The warning, and after it an error: both are in the included function.
  const std::string text =
      "include \"library.tile\"\n"
      "def f<2>(f32* y):\n"
      "    b = BlockIndices()\n"
      "    x = AllocateRegister(f32, layout=spatial(32), init=0)\n"
      "    store(x, ViewGlobal(y, shape=[60]), b * 4)\n";
  const std::string warned = write_text(folder / "warned.tile", text);
  const std::string wrong = write_text(folder / "wrong.tile", text + "    store(x, b, b)\n");
  const auto names_both = [](const std::string& said, const std::string& line) {
    INFO(said);
    CHECK(contains(said, "library.tile:2:"));
    CHECK(contains(said, line + ":5: note: in `store`, which is called here"));
  };
  const auto check_both = [&](const auto& command, Exit expected) {
    Streams first, second;
    CHECK(command(warned, first.io) == expected);
    names_both(first.err.str(), "warned.tile:5");
    CHECK(command(wrong, second.io) == Exit::fault);
    names_both(second.err.str(), "wrong.tile:5");
  };
  check_both([](const std::string& file, Io& io) { return check({.program = {file, {}, ""}}, io); },
             Exit::ok);
  check_both(
      [](const std::string& file, Io& io) {
        RunOptions options;
        options.program.file = file;
        return run(options, io);
      },
      Exit::ok);
  check_both(
      [](const std::string& file, Io& io) {
        CompileOptions options;
        options.program.file = file;
        return compile(options, io);
      },
      Exit::ok);
  check_both(
      [](const std::string& file, Io& io) {
        DiffOptions options;
        options.program.file = file;
        options.backends = "sim,sim";
        return diff(options, io);
      },
      Exit::ok);
}

TEST_CASE("compile --explain names the file of a line that is included") {
  const ScratchFolder folder;
  // Both statements are in line 2 of their files.
  write_text(folder / "twice.tile", "def twice(x: tile) -> tile:\n    return x + x\n");
  CompileOptions options;
  options.program.file = write_text(folder / "main.tile",
                                    "def f<1>(f32* y):\n"
                                    "    StoreGlobal(twice(AllocateRegister(f32, "
                                    "layout=spatial(32), init=1)), ViewGlobal(y, shape=[32]))\n"
                                    "include \"twice.tile\"\n");
  options.explain = true;
  options.emit = "cuda";
  Streams text;
  CHECK(compile(options, text.io) == Exit::ok);
  INFO(text.err.str());
  CHECK(contains(text.err.str(), "twice.tile:2  return x + x\n    2:12    Add "));
  CHECK(contains(text.err.str(), "\n  2     StoreGlobal(twice("));
  options.json = true;
  options.output = folder / "main.cu";
  Streams json;
  CHECK(compile(options, json.io) == Exit::ok);
  INFO(json.out.str());
  CHECK(contains(json.out.str(), "twice.tile\", \"line\": 2"));
}
