// What the debugger shows as the code of a line: lines of the program in PTX and machine code.
#include <doctest/doctest.h>

#include <string>

#include "vm/debug/code_listing.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

SourceFile two_files() {
  SourceFile source("programs/p.tile", "include \"lib.tile\"\nline two\n");
  source.add_file("programs/lib.tile", "one\ntwo\n", {0, 0});
  return source;
}

TEST_CASE("code: places of PTX lead out of inlined functions to a line of the program") {
  const std::string text =
      ".version 9.0\n"
      ".visible .entry f_kernel(\n"
      "\t.loc\t1 2 0\n"
      "\tld.param.u64 %rd1, [p];\n"
      "\t.loc\t3 161 5, function_name $L__info_string3, inlined_at 1 2 9\n"
      "\t.loc\t2 70 3, function_name $L__info_string4, inlined_at 3 161 5\n"
      "\tmov.u32 %r1, %tid.x;\n"
      "\t.loc\t4 1 3\n"
      "\tret;\n"
      "\t.loc\t2 99 1\n"
      "\tst.global.u32 [%rd1], %r1;\n"
      "}\n"
      "\t.file\t1 \"/somewhere/programs/p.tile\"\n"
      "\t.file\t2 \"/somewhere/prelude/device.cuh\"\n"
      "\t.file\t3 \"/somewhere/prelude/memory.cuh\"\n"
      "\t.file\t4 \"programs/lib.tile\"\n";
  const auto lines = read_ptx(two_files(), text);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].text == ".visible .entry f_kernel(");
  CHECK(lines[0].line.line == 0);
  CHECK(lines[1].line == sim::debug::SourceLine{2, 0});
  CHECK(lines[2].text == "\tmov.u32 %r1, %tid.x;");
  CHECK(lines[2].line == sim::debug::SourceLine{2, 0});
  CHECK(lines[3].line == sim::debug::SourceLine{1, 1});
  CHECK(lines[4].line ==
        sim::debug::SourceLine{1, 1});  // a place that leads nowhere keeps the last
}

TEST_CASE("code: notes of nvdisasm give machine code its line") {
  const std::string text =
      ".text.f_kernel:\n"
      "\t//## File \"/a/programs/p.tile\", line 1\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
      "\t//## File \"/a/prelude/device.cuh\", line 34 inlined at \"/a/programs/p.tile\", line 2\n"
      "\t//## File \"/a/programs/p.tile\", line 2\n"
      "        /*0010*/                   S2R R5, SR_TID.X ;\n"
      ".L_x_0:\n"
      "        /*0020*/                   EXIT ;\n";
  const auto lines = read_sass(two_files(), text);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].text == "f_kernel:");
  CHECK(lines[1].address == "0x0000");
  CHECK(lines[1].text == "LDC R1, c[0x0][0x28] ;");
  CHECK(lines[1].line.line == 1);
  CHECK(lines[2].line.line == 2);
  CHECK(lines[4].text == "EXIT ;");
  CHECK(lines[4].line.line == 2);
}

TEST_CASE("code: texts that are not code give no lines") {
  for (const char* const text :
       {"", "\n\n", "\t.loc\n.loc 1\n.loc x y z\n.file\n.file 1\n",
        "//## File \"\n//## File \"x\"\n/*\n/*00", ".loc 1 2 3, inlined_at"}) {
    CHECK(read_ptx(two_files(), text).empty());
    CHECK(read_sass(two_files(), text).empty());
  }
  CHECK_FALSE(parse_code_kind("fortran").ok());
}

}  // namespace
