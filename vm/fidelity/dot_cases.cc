// Cases of Dot: every instruction shape, pairs of bipolar integers on those that take them, and
// chains of multiply-adds.
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "isa/dot/mma_shapes.h"
#include "vm/fidelity/case.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::vm::fidelity {

namespace {

using isa::DType;

/// Every block computes d = a b + c of m x n with all of k. The a of a sparse product has the
/// stored half of k, at places that the case draws as well.
struct Product {
  std::string shape;  ///< "m16n8k16", "chain"
  DType a, b, c;
  std::string a_layout, b_layout, c_layout;
  std::int64_t m, n, k;
  int min_sm;
  std::string places_layout = {};  ///< layout of a sparse product's metadata

  [[nodiscard]] bool sparse() const { return !places_layout.empty(); }
  [[nodiscard]] std::int64_t stored() const { return sparse() ? k / 2 : k; }
};

/// One fragment high, two wide, three deep: too deep for an instruction of larger k.
Product mma_product(const isa::MmaShape& shape, const DType& a, const DType& b) {
  return {shape.name,
          a,
          b,
          shape.accumulator,
          "local(1, 3)." + to_string(shape.a_layout),
          "local(3, 2)." + to_string(shape.b_layout),
          "local(1, 2)." + to_string(shape.c_layout),
          shape.m,
          2 * shape.n,
          3 * shape.k,
          shape.min_sm};
}

/// Two steps deep, so that both selectors are used.
Product sparse_product(const isa::MmaShape& shape) {
  Product product = mma_product(shape, shape.a, shape.b);
  product.shape = shape.label();
  product.a_layout = "local(1, 2)." + to_string(shape.a_layout);
  product.b_layout = "local(2, 2)." + to_string(shape.b_layout);
  product.k = 2 * shape.k;
  product.places_layout =
      fmt::format("local(1, {}).{}", 2 / shape.selectors, to_string(shape.places_layout));
  return product;
}

Product chain_product(const DType& a, const DType& b, const DType& c) {
  return {"chain",
          a,
          b,
          c,
          "spatial(8, 1).replicated(4).column_local(2, 12)",
          "replicated(8).spatial(1, 4).local(12, 4)",
          "spatial(8, 4).local(2, 4)",
          16,
          16,
          12,
          80};
}

std::vector<Product> make_products() {
  std::vector<Product> products;
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    products.push_back(mma_product(shape, shape.a, shape.b));
    const bool bits = shape.a == isa::u1, values = shape.a == isa::i8 && shape.b == isa::i8;
    if (!bits && !values) continue;
    for (const auto& [a, b] : {std::pair{1, 1}, {2, 3}, {4, 8}, {7, 7}, {8, 8}}) {
      products.push_back(mma_product(shape, isa::bipolar(a), isa::bipolar(b)));
    }
  }
  for (const isa::MmaShape& shape : isa::sparse_mma_shapes()) {
    products.push_back(sparse_product(shape));
  }
  for (const auto& [a, b, c] : {std::tuple{isa::f32, isa::f32, isa::f32},
                                {isa::f64, isa::f64, isa::f64},
                                {isa::f16, isa::f16, isa::f16},
                                {isa::bf16, isa::bf16, isa::bf16},
                                {isa::tf32, isa::f8e5m2, isa::f32},
                                {isa::f8e4m3, isa::f8e5m2, isa::f16},
                                {isa::i8, isa::u8, isa::bf16},
                                {isa::i32, isa::u32, isa::i32},
                                {isa::i64, isa::bipolar(5), isa::u64}}) {
    products.push_back(chain_product(a, b, c));
  }
  return products;
}

/// The lines that load an operand of rows x columns. Narrow integers are loaded as bytes, which is
/// quicker to compile than element by element.
std::string load_lines(const Product& product, char name, const DType& type, std::int64_t rows,
                       std::int64_t columns, const std::string& layout) {
  const std::int64_t bits = rows * columns / 32 * type.bits;  // of a thread
  const bool by_bytes = !type.is_float() && type.bits <= 8 && bits % 8 == 0;
  if (!by_bytes || product.shape == "chain") {
    return fmt::format(
        "    {0} = LoadGlobal(ViewGlobal({0}_ptr, shape=[n, {1}, {2}]), layout={3}, "
        "offset=[i, 0:, 0:])\n",
        name, rows, columns, layout);
  }
  return fmt::format(
      "    {0} = LoadGlobal(ViewGlobal({0}_ptr, dtype=u8, shape=[n, 32, {1}]), "
      "layout=spatial(32, 1).local(1, {1}), offset=[i, 0:, 0:])\n"
      "    {0} = View({0}, dtype={2}, layout={3})\n",
      name, bits / 8, to_string(type), layout);
}

std::string text_of(const Product& product) {
  const std::int64_t m = product.m, n = product.n, k = product.k;
  const bool sparse = product.sparse();
  return fmt::format(
             "def f<n>({0}* a_ptr, {3}{1}* b_ptr, {2}* c_ptr, {2}* d_ptr, i32 n):\n"
             "    i = BlockIndices()\n",
             to_string(product.a), to_string(product.b), to_string(product.c),
             sparse ? "u2* p_ptr, " : "") +
         load_lines(product, 'a', product.a, m, product.stored(), product.a_layout) +
         (sparse ? load_lines(product, 'p', isa::unsigned_int(2), m, product.stored(),
                              product.places_layout)
                 : "") +
         load_lines(product, 'b', product.b, k, n, product.b_layout) +
         load_lines(product, 'c', product.c, m, n, product.c_layout) +
         fmt::format(
             "    StoreGlobal({}, ViewGlobal(d_ptr, shape=[n, {}, {}]), "
             "offset=[i, 0:, 0:])\n",
             sparse ? "DotSparse(a, p, b, c)" : "Dot(a, b, c)", m, n);
}

/// Pairs that ascend.
std::vector<std::uint64_t> random_places(Random& random, std::size_t count) {
  std::vector<std::uint64_t> places;
  while (places.size() < count) {
    const int first = random.below(3);
    places.push_back(static_cast<std::uint64_t>(first));
    places.push_back(static_cast<std::uint64_t>(first + 1 + random.below(3 - first)));
  }
  return places;
}

Draw draw_of(const Product& product) {
  return [a = product.a, b = product.b, c = product.c, sparse = product.sparse(),
          m = static_cast<std::size_t>(product.m), n = static_cast<std::size_t>(product.n),
          k = static_cast<std::size_t>(product.k),
          stored = static_cast<std::size_t>(product.stored())](std::uint64_t seed,
                                                               std::int64_t block) {
    Random random = block_random(seed, block);
    const Spreads spreads = random_spreads(random, a, b, c);
    std::vector<std::vector<std::uint64_t>> codes;
    codes.push_back(random_codes(random, a, m * stored, spreads.a));
    if (sparse) codes.push_back(random_places(random, m * stored));
    codes.push_back(random_codes(random, b, k * n, spreads.b));
    codes.push_back(random_codes(random, c, m * n, spreads.c));
    return codes;
  };
}

Case make_case(const Product& product) {
  const std::string instruction = product.sparse() ? "DotSparse" : "Dot";
  const auto part = [&](std::string name, const DType& type, std::int64_t rows,
                        std::int64_t columns) {
    return Part{std::move(name), type, {rows, columns}, instruction, type};
  };
  const auto& [shape, a, b, c, a_layout, b_layout, c_layout, m, n, k, min_sm, places] = product;
  Case made;
  made.family = shape == "chain"   ? Family::chain
                : product.sparse() ? Family::sparse
                                   : Family::tensor_core;
  made.name =
      fmt::format("{} {} {} {} {}", instruction, to_string(a), to_string(b), to_string(c), shape);
  made.min_sm = min_sm;
  made.text = text_of(product);
  made.operands = {part("a", a, m, product.stored()), part("b", b, k, n), part("c", c, m, n)};
  if (product.sparse()) {
    made.operands.insert(made.operands.begin() + 1,
                         part("p", isa::unsigned_int(2), m, product.stored()));
  }
  made.results = {part(instruction, c, m, n)};
  made.draw = draw_of(product);
  made.kept = 64;
  made.full = 1'000'000 / (m * n) + 1;
  made.exhaustive = 10'000'000 / (m * n) + 1;
  return made;
}

}  // namespace

std::vector<Case> dot_cases() {
  std::vector<Case> cases;
  for (const Product& product : make_products()) cases.push_back(make_case(product));
  return cases;
}

}  // namespace tilevm::vm::fidelity
