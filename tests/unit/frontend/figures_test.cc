// The paper's programs as printed (Tilus, figures 2 and 9) parse to the tree that they mean.
#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "frontend/print/print.h"
#include "tests/unit/frontend/parsing.h"

namespace tilevm::frontend {
namespace {

const std::string figure2_head =
    R"(const M, N, K, BM, BN, BK = 1024, 1024, 1024, 16, 8, 16 # M, N, K are matmul sizes while BM, BN, BK are tile sizes
def matmul<M / BM, N / BN>(f16* a_ptr, u8* transformed_b_ptr, f16* c_ptr):
    bi, bj = BlockIndices() # block index
    ga = ViewGlobal(a_ptr, dtype=f16, shape=[M, K]) # create global tensor views
    gb = ViewGlobal(transformed_b_ptr, dtype=u8, shape=[K/BK, N/BN, BK*BN*6/8])
    gc = ViewGlobal(c_ptr, dtype=f16, shape=[M, N])
    acc = AllocateRegister(f32, layout=[local(2, 1).spatial(8, 4).local(1, 2)], init=0.0)
    for bk in range(K / BK):
        a = LoadGlobal(ga, layout=column_local(2, 2).spatial(8, 4).local(1, 2), offset=[bi * BM:, bk * BK:])
        b = LoadGlobal(gb, layout=local(3).spatial(32), offset=[bk, bj, 0:])
        b1 = View(b, dtype=i6, layout=local(2, 1).column_spatial(4, 8).local(2, 1)) # reinterpret register tensor
        b2 = Cast(b1, dtype=f16)
        Dot(a, b2, acc, out=acc) # acc = dot(a, b2) + acc
)";

const std::string figure9 = R"(const M, N, K, BM, BN, BK = 1024, 1024, 1024, 16, 8, 16
def transform_b<K / BK, N / BN>(
    i6* b_ptr, u8* transformed_b_ptr
):
    bk, bj = BlockIndices()
    b_in = ViewGlobal(b_ptr, dtype=i6, shape=[K, N])
    b_out = ViewGlobal(transformed_b_ptr, dtype=u8,
        shape=[K / BK, N / BN, BK * BN * 6 / 8]
    )
    # the register tensor b is stored in 32 threads, each
    # thread holds 4 int6 elements (in total 24 bits)
    b = LoadGlobal(b_in,
        layout=column(2, 2).spatial(8, 4).local(1, 2),
        offset=[bk*BK:, bj*BM:]
    )
    b = View(b, dtype=u8, layout=local(3).spatial(32))
    StoreGlobal(b, b_out, offset=[bk, bj, 0:])
)";

const ast::Kernel& kernel_of(const ast::Program& program) {
  return *std::get_if<ast::Kernel>(&program.items.at(1).node);
}

TEST_CASE("figure 2 parses with its last two lines after the loop") {
  const Parsed parsed = parse_text(figure2_head +
                                   "    acc = Cast(acc, f16)\n"
                                   "    StoreGlobal(acc, gc, offset=[bi * BM:, bj * BN:])\n");
  REQUIRE(parsed.program);
  const ast::Kernel& kernel = kernel_of(*parsed.program);
  CHECK_EQ(kernel.body.size(), 8);
  CHECK_EQ(std::get_if<ast::For>(&kernel.body.at(5).node)->body.size(), 5);
  CHECK_EQ(parsed.program->comments.size(), 5);
}

TEST_CASE("figure 2 parses with its last two lines inside the loop") {
  const Parsed parsed = parse_text(figure2_head +
                                   "        acc = Cast(acc, f16)\n"
                                   "        StoreGlobal(acc, gc, offset=[bi * BM:, bj * BN:])\n");
  REQUIRE(parsed.program);
  const ast::Kernel& kernel = kernel_of(*parsed.program);
  CHECK_EQ(kernel.body.size(), 6);
  CHECK_EQ(std::get_if<ast::For>(&kernel.body.at(5).node)->body.size(), 7);
}

TEST_CASE("the header of figure 2 has the grid and the parameters it shows") {
  const Parsed parsed = parse_text(figure2_head);
  REQUIRE(parsed.program);
  const auto& constants = *std::get_if<ast::ConstDecl>(&parsed.program->items.at(0).node);
  CHECK_EQ(constants.names.size(), 6);
  CHECK_EQ(print(constants.values.at(3)), "16");
  const ast::Kernel& kernel = kernel_of(*parsed.program);
  CHECK_EQ(kernel.name.text, "matmul");
  REQUIRE_EQ(kernel.grid.size(), 2);
  CHECK_EQ(print(kernel.grid.at(1)), "N / BN");
  REQUIRE_EQ(kernel.params.size(), 3);
  CHECK_EQ(kernel.params.at(1).name.text, "transformed_b_ptr");
  CHECK(kernel.params.at(1).is_pointer);
  CHECK_EQ(parsed.source.text(kernel.grid_span), "<M / BM, N / BN>");
}

TEST_CASE("an offset keeps which entries have a colon") {
  const auto list = expression_of("[bk, bj * BN:, 0:]");
  REQUIRE(list);
  const auto& entries = std::get_if<ast::List>(&list->node)->entries;
  CHECK_FALSE(entries.at(0).colon);
  CHECK(entries.at(1).colon);
  CHECK_EQ(print(entries.at(1).value), "bj * BN");
}

TEST_CASE("figure 9 parses with calls and a header over several lines") {
  const Parsed parsed = parse_text(figure9);
  REQUIRE(parsed.program);
  const ast::Kernel& kernel = kernel_of(*parsed.program);
  CHECK_EQ(kernel.params.size(), 2);
  CHECK_EQ(kernel.body.size(), 6);
  CHECK_EQ(parsed.program->comments.at(1).depth, 1);
}

TEST_CASE("a stray bracket after figure 9 is one fault at its place") {
  CHECK_EQ(faults_of(figure9 + ")\n"),
           std::vector<std::string>{"18:1 TV0001 `)` closes no bracket"});
}

TEST_CASE("Windows line ends, a byte-order mark and a missing last line break change nothing") {
  std::string windows = "\xef\xbb\xbf";
  for (const char c : figure9) windows += c == '\n' ? "\r\n" : std::string(1, c);
  windows.resize(windows.size() - 2);
  const Parsed parsed = parse_text(windows);
  REQUIRE(parsed.program);
  CHECK(*parsed.program == *parse_text(figure9).program);
}

TEST_CASE("a pipeline, tunables, requirements and decorators parse") {
  const Parsed parsed = parse_text(
      "const WT: dtype = i6\n"
      "const BM in [16, 32, 64] = 16\n"
      "require K % BM == 0, \"K must be a multiple\"\n"
      "@threads(128)\n"
      "def f<(A > B) + 1>(WT* b, i32 n):\n    pass\n"
      "pipeline main(a: f16[M, K], n: i32) -> (c: f16[M, N]):\n    f(a, n)\n");
  REQUIRE(parsed.program);
  const auto& items = parsed.program->items;
  CHECK_EQ(std::get_if<ast::ConstDecl>(&items.at(0).node)->annotation->text, "dtype");
  CHECK_EQ(std::get_if<ast::ConstDecl>(&items.at(1).node)->choices->size(), 3);
  CHECK_EQ(*std::get_if<ast::Require>(&items.at(2).node)->message, "K must be a multiple");
  const auto& kernel = *std::get_if<ast::Kernel>(&items.at(3).node);
  CHECK_EQ(kernel.decorators.at(0).name.text, "threads");
  CHECK_EQ(print(kernel.grid.at(0)), "(A > B) + 1");
  CHECK_FALSE(kernel.params.at(1).is_pointer);
  const auto& pipeline = *std::get_if<ast::Pipeline>(&items.at(4).node);
  CHECK_EQ(pipeline.inputs.at(0).shape->size(), 2);
  CHECK_FALSE(pipeline.inputs.at(1).shape.has_value());
  CHECK_EQ(pipeline.outputs.at(0).name.text, "c");
}

}  // namespace
}  // namespace tilevm::frontend
