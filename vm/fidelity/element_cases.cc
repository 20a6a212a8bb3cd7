// Cases of what works element by element: casts to every type, the families of one and of two
// operands, Where and Fma. A case takes one type and has a result for each of its instructions.
#include <utility>

#include <fmt/format.h>

#include "isa/inst/instruction_set.h"
#include "isa/type/arith.h"
#include "isa/type/fma.h"
#include "vm/fidelity/case.h"
#include "vm/fidelity/element_operands.h"

namespace tilevm::vm::fidelity {

namespace {

using isa::DType;
using Codes = std::vector<std::uint64_t>;
using OperandCodes = std::vector<Codes>;

constexpr std::int64_t block_size = 1024;  // one element a thread

constexpr std::int64_t blocks_for(std::int64_t elements) {
  return (elements + block_size - 1) / block_size;
}

constexpr std::int64_t kept_draws = blocks_for(1 << 16);

/// Whether cases enumerate the codes of a type in every size.
bool has_few_codes(const DType& type) { return significant_bits(type) <= 19; }

// --- Programs ----------------------------------------------------------------------------------

/// A narrow element has a byte of its own in memory: quick to compile and to move, and no store
/// shares a byte with another.
DType stored_type(const DType& type) { return type.is_subbyte() ? isa::u8 : type; }

class ElementProgram {
 public:
  /// A tile called `name`.
  void load(const std::string& name, const DType& type) {
    operands_.push_back({name, type, {block_size}, {}, stored_type(type)});
    pointers_ += fmt::format("{}* {}_ptr, ", to_string(stored_type(type)), name);
    body_ += fmt::format(
        "    {0} = LoadGlobal(ViewGlobal({0}_ptr, shape=[n, {1}]), layout=spatial({1}), "
        "offset=[i, 0:])\n",
        name, block_size);
    if (!type.is_subbyte()) return;
    body_ += fmt::format("    {0} = View(Cast({0}, u{1}), dtype={2})\n", name, type.bits,
                         to_string(type));
  }

  void store(const std::string& name, std::string_view instruction, const std::string& expression,
             const DType& type) {
    const std::string pointer = fmt::format("result{}_ptr", results_.size());
    results_.push_back({name, type, {block_size}, std::string(instruction), stored_type(type)});
    pointers_ += fmt::format("{}* {}, ", to_string(stored_type(type)), pointer);
    const std::string value =
        type.is_subbyte() ? fmt::format("Cast(View({}, dtype=u{}), u8)", expression, type.bits)
                          : expression;
    body_ += fmt::format("    StoreGlobal({}, ViewGlobal({}, shape=[n, {}]), offset=[i, 0:])\n",
                         value, pointer, block_size);
  }

  [[nodiscard]] Case finish(Family family, std::string_view name, Draw draw) {
    Case made;
    made.family = family;
    made.name = fmt::format("{} {}", name, to_string(operands_[0].type));
    made.text = fmt::format("def f<n>({}i32 n):\n    i = BlockIndices()\n{}", pointers_, body_);
    made.operands = std::move(operands_);
    made.results = std::move(results_);
    made.draw = std::move(draw);
    return made;
  }

 private:
  std::string pointers_, body_;
  std::vector<Part> operands_, results_;
};

// --- One operand -------------------------------------------------------------------------------

/// All codes in turn, after the kept blocks where these are drawn.
Codes enumerate(const DType& type, std::int64_t block, Random& random) {
  Codes codes(block_size);
  const auto first = static_cast<std::uint64_t>(block) * block_size;
  for (std::uint64_t i = 0; i < block_size; ++i) codes[i] = code_at(type, first + i, random);
  return codes;
}

Codes draw(const DType& type, std::int64_t block, Random& random) {
  Codes codes(block_size);
  const auto first = static_cast<std::uint64_t>(block) * block_size;
  for (std::uint64_t i = 0; i < block_size; ++i) codes[i] = wide_code(type, first + i, random);
  return codes;
}

/// `all`: every code of a type that has many, after the kept draws.
Draw draw_one(const DType& type, bool all) {
  return [type, all](std::uint64_t seed, std::int64_t block) -> OperandCodes {
    Random random = block_random(seed, block);
    if (has_few_codes(type)) return {enumerate(type, block, random)};
    if (all && block >= kept_draws) {
      return {enumerate(type, block - kept_draws, random)};
    }
    return {draw(type, block, random)};
  };
}

void set_sizes(const DType& type, std::int64_t exhaustive, Case& made) {
  if (has_few_codes(type)) {
    made.kept = blocks_for(std::int64_t{1} << significant_bits(type));
    return;
  }
  made.kept = kept_draws;
  made.full = blocks_for(1 << 22);
  made.exhaustive = exhaustive;
}

Case cast_case(const DType& from) {
  ElementProgram program;
  program.load("a", from);
  for (const DType& to : measured_types()) {
    program.store(to_string(to), "Cast", fmt::format("Cast(a, {})", to_string(to)), to);
  }
  Case made = program.finish(Family::cast, "Cast", draw_one(from, false));
  set_sizes(from, blocks_for(100'000'000), made);
  return made;
}

template <isa::UnaryOp op>
constexpr isa::UnaryOp operation(const isa::Unary<op>*) {
  return op;
}

template <isa::BinaryOp op>
constexpr isa::BinaryOp operation(const isa::Binary<op>*) {
  return op;
}

/// The operations of a family, in the order of the instructions.
template <class Op>
std::vector<Op> operations() {
  std::vector<Op> found;
  isa::for_each_instruction([&]<class Inst>() {
    if constexpr (requires {
                    { operation(static_cast<const Inst*>(nullptr)) } -> std::same_as<Op>;
                  }) {
      found.push_back(operation(static_cast<const Inst*>(nullptr)));
    }
  });
  return found;
}

/// Records keep the results of whole families, so what came later has one of its own.
Family family_of(isa::UnaryOp op) {
  if (class_of(op) == isa::UnaryClass::integral) return Family::rounding;
  if (class_of(op) == isa::UnaryClass::approximation) return Family::approximation;
  const bool is_late = op == isa::UnaryOp::erf || op == isa::UnaryOp::exp2_approximate;
  return is_late ? Family::function : Family::unary;
}
Family family_of(isa::BinaryOp op) {
  if (class_of(op) == isa::BinaryClass::quotient) return Family::quotient;
  return class_of(op) == isa::BinaryClass::power ? Family::power : Family::binary;
}

/// The operations of one family of one operand, in one program: records keep the results of each.
Case unary_case(const DType& type, Family family, std::string_view title) {
  ElementProgram program;
  program.load("a", type);
  for (const isa::UnaryOp op : operations<isa::UnaryOp>()) {
    if (!is_defined(op, type) || family_of(op) != family) continue;
    const std::string name(isa::describe(op).mnemonic);
    program.store(name, name, name + "(a)", type);
  }
  const bool all = type == isa::f32;
  Case made = program.finish(family, title, draw_one(type, all));
  constexpr std::int64_t all_words = blocks_for(std::int64_t{1} << 32);
  set_sizes(type, all ? kept_draws + all_words : blocks_for(1 << 26), made);
  return made;
}

// --- Two operands ------------------------------------------------------------------------------

constexpr std::int64_t row_blocks = blocks_for(1 << 16);

/// Every code of 16 bits beside one fixed code, a row after the other.
std::pair<Codes, Codes> draw_row(const DType& type, std::int64_t block) {
  const auto row = static_cast<std::uint64_t>(block / row_blocks);
  std::pair<Codes, Codes> codes{Codes(block_size, row_code(type, row)), Codes(block_size)};
  const auto first = static_cast<std::uint64_t>(block % row_blocks) * block_size;
  for (std::uint64_t i = 0; i < block_size; ++i) codes.second[i] = first + i;
  return codes;
}

std::pair<Codes, Codes> draw_pairs(const DType& type, std::int64_t block, Random& random) {
  if (type.bits == 16 && block >= kept_draws) return draw_row(type, block - kept_draws);
  std::pair<Codes, Codes> codes{Codes(block_size), Codes(block_size)};
  for (std::uint64_t i = 0; i < block_size; ++i) {
    const std::uint64_t k = static_cast<std::uint64_t>(block) * block_size + i;
    if (type.bits <= 8) {
      codes.first[i] = k >> type.bits & isa::low_mask(type.bits);
      codes.second[i] = k & isa::low_mask(type.bits);
    } else {
      codes.first[i] = wide_code(type, k, random);
      codes.second[i] = partner_of(type, codes.first[i], k, random);
    }
  }
  return codes;
}

/// a, b, b without zeros (the divisor), a condition.
Draw draw_two(const DType& type) {
  return [type](std::uint64_t seed, std::int64_t block) -> OperandCodes {
    Random random = block_random(seed, block);
    auto [a, b] = draw_pairs(type, block, random);
    Codes divisor = b, condition(block_size);
    for (std::uint64_t& code : divisor) code = code == 0 ? 1 : code;
    for (std::uint64_t& code : condition) code = random.next() & 1;
    return {std::move(a), std::move(b), std::move(divisor), std::move(condition)};
  };
}

Case binary_case(const DType& type, Family family, std::string_view title) {
  ElementProgram program;
  program.load("a", type);
  program.load("b", type);
  program.load("divisor", type);
  program.load("condition", isa::u1);
  for (const isa::BinaryOp op : operations<isa::BinaryOp>()) {
    if (!is_defined(op, type) || family_of(op) != family) continue;
    const std::string name(isa::describe(op).mnemonic);
    const char* const right = faults_on_zero(op, type) ? "divisor" : "b";
    program.store(name, name, fmt::format("{}(a, {})", name, right), result_type(op, type));
  }
  if (family == Family::binary) {
    program.store("Where", "Where", "Where(condition, a, b)", type);
  }
  Case made = program.finish(family, title, draw_two(type));
  if (type.bits <= 8) {
    made.kept = blocks_for(std::int64_t{1} << (2 * type.bits));
    return made;
  }
  constexpr std::int64_t rows = 2304;  // some of the chosen ones are among the others, too
  made.kept = kept_draws;
  made.full = blocks_for(1 << 22);
  made.exhaustive = type.bits == 16 ? kept_draws + rows * row_blocks : blocks_for(1 << 26);
  if (family == Family::quotient) made.exhaustive = blocks_for(1 << 30);
  return made;
}

// --- Three operands ----------------------------------------------------------------------------

/// The third is near the negative product of the two others in every second element, so that much
/// of it cancels.
Draw draw_three(const DType& type) {
  return [type](std::uint64_t seed, std::int64_t block) -> OperandCodes {
    Random random = block_random(seed, block);
    OperandCodes codes(3, Codes(block_size));
    for (std::uint64_t i = 0; i < block_size; ++i) {
      const std::uint64_t k = static_cast<std::uint64_t>(block) * block_size + i;
      const std::uint64_t a = wide_code(type, k, random), b = partner_of(type, a, k, random);
      const std::uint64_t product = isa::apply(isa::BinaryOp::mul, type, a, b);
      const std::uint64_t near = isa::apply(isa::UnaryOp::neg, type, product);
      codes[0][i] = a;
      codes[1][i] = b;
      const std::uint64_t place = random.next();
      codes[2][i] = partner_of(type, random.next() % 2 == 0 ? near : a, place, random);
    }
    return codes;
  };
}

Case ternary_case(const DType& type) {
  ElementProgram program;
  for (const char* const name : {"a", "b", "c"}) program.load(name, type);
  const std::string name(isa::Fma::schema.description.mnemonic);
  program.store(name, name, name + "(a, b, c)", type);
  Case made = program.finish(Family::ternary, "Ternary", draw_three(type));
  made.kept = kept_draws;
  made.full = blocks_for(1 << 22);
  made.exhaustive = blocks_for(1 << 26);
  return made;
}

}  // namespace

std::vector<DType> measured_types() {
  std::vector<DType> types;
  for (const DType& type : isa::all_dtypes()) {
    if (!type.is_unsigned_float()) types.push_back(type);
  }
  return types;
}

std::vector<Case> element_cases() {
  std::vector<Case> cases;
  for (const DType& type : measured_types()) cases.push_back(cast_case(type));
  for (const DType& type : measured_types()) {
    if (!type.is_bipolar()) cases.push_back(unary_case(type, Family::unary, "Unary"));
  }
  for (const DType& type : measured_types()) {
    cases.push_back(binary_case(type, Family::binary, "Binary"));
  }
  for (const DType& type : measured_types()) {
    if (isa::has_fma(type)) cases.push_back(ternary_case(type));
  }
  for (const DType& type : measured_types()) {
    if (type.is_float()) cases.push_back(unary_case(type, Family::rounding, "Rounding"));
  }
  for (const DType& type : measured_types()) {
    if (!is_defined(isa::UnaryOp::erf, type)) continue;
    cases.push_back(unary_case(type, Family::function, "Function"));
    cases.push_back(binary_case(type, Family::power, "Power"));
  }
  for (const DType& type : measured_types()) {
    if (is_defined(isa::UnaryOp::ex2_approx, type) || is_defined(isa::UnaryOp::tanh_approx, type) ||
        is_defined(isa::UnaryOp::rcp_approx_ftz, type)) {
      cases.push_back(unary_case(type, Family::approximation, "Approximation"));
    }
  }
  cases.push_back(binary_case(isa::f32, Family::quotient, "Quotient"));
  return cases;
}

}  // namespace tilevm::vm::fidelity
