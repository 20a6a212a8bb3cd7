#include "vm/diff/bisect_render.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/analysis/operands.h"
#include "isa/analysis/statements.h"
#include "isa/inst/slot_table.h"
#include "isa/program/tile_move.h"
#include "isa/type/number.h"
#include "vm/diff/probe_dump.h"

namespace tilevm::vm {

namespace {

/// A part of what differs or of what was read, in words and as data.
struct Fact {
  std::string text;  ///< one line
  Json json = Json::object();
};

/// "0x3c00 (1)".
std::string code_text(const isa::DType& type, std::uint64_t code) {
  return fmt::format("0x{:0{}x} ({})", code, (type.bits + 3) / 4, isa::format_value(type, code));
}

std::string hex(std::uint64_t code) { return fmt::format("0x{:x}", code); }

std::string shown_name(const isa::Variable& variable) {
  if (!variable.name.starts_with('(')) return variable.name;
  return variable.name.substr(1, variable.name.find(' ') - 1) + "(..)";
}

/// What all parts of the report read.
class BisectReport {
 public:
  BisectReport(const DiffCase& what, const SeedVerdict& verdict, const BisectResult& result)
      : what_(what),
        found_(*result.found),
        kernel_(what.program.kernel(found_.kernel)),
        statements_(kernel_),
        a_(verdict.engines[result.a]),
        b_(verdict.engines[result.b]) {}

  [[nodiscard]] const isa::Stmt& statement() const { return statements_[found_.statement]; }
  [[nodiscard]] LineColumn place() const { return locate(statement().span); }
  [[nodiscard]] const std::string& kernel_name() const { return kernel_.name; }

  [[nodiscard]] std::string mnemonic() const { return mnemonic_of(statement()); }

  /// The indices of the block, one for each extent of the grid.
  [[nodiscard]] std::vector<std::int64_t> block() const {
    const auto rank = std::max<std::size_t>(kernel_.grid.size(), 1);
    return {
        found_.block_index.begin(),
        found_.block_index.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(rank, 3))};
  }

  /// The line of the text and a line of carets.
  [[nodiscard]] std::string excerpt() const {
    const SourceFile& source = what_.program.source();
    if (source.text().empty()) return {};
    const LineColumn begin = place(), end = source.locate(statement().span.end);
    const std::string_view line = source.line_at(statement().span.begin);
    const std::size_t first = static_cast<std::size_t>(begin.column - 1);
    const std::size_t last =
        end.line == begin.line ? static_cast<std::size_t>(end.column - 1) : line.size();
    std::string carets;
    for (std::size_t i = 0; i < first && i < line.size(); ++i)
      carets += line[i] == '\t' ? '\t' : ' ';
    carets += '^';
    if (last > first + 1) carets.append(std::min(last, line.size()) - first - 1, '~');
    return fmt::format("    {}\n    {}\n", line, carets);
  }

  [[nodiscard]] std::vector<Fact> loops() const {
    std::vector<Fact> facts;
    for (const LoopTrip& trip : found_.loops) {
      const isa::Stmt& loop = statements_[trip.loop];
      const int line = locate(loop.span).line;
      Fact fact{fmt::format("iteration {} of the loop in line {}", trip.iteration, line)};
      fact.json.set("line", line).set("iteration", trip.iteration);
      if (const auto* range = std::get_if<isa::ForStmt>(&loop.node); range && trip.value) {
        const std::string& name = kernel_.variable(range->var).name;
        fact.text += fmt::format(", {} = {}", name, to_string(*trip.value));
        fact.json.set("var", name).set("value", to_string(*trip.value));
      }
      facts.push_back(std::move(fact));
    }
    return facts;
  }

  [[nodiscard]] Fact difference() const {
    return std::visit([&](const auto& each) { return tell(each); }, found_.what);
  }

  /// The line of the loop whose end makes the record, if one does.
  [[nodiscard]] std::optional<int> after_loop() const {
    if (!found_.after_loop.valid()) return std::nullopt;
    return locate(statements_[found_.after_loop].span).line;
  }

  /// What the statement read, where the simulator could tell.
  [[nodiscard]] std::vector<Fact> operands() const {
    std::vector<Fact> facts;
    const auto* inst = std::get_if<isa::InstStmt>(&statement().node);
    if (inst == nullptr || found_.before.operands.empty()) return facts;
    if (found_.after_loop.valid()) return facts;  // the record is of all iterations
    std::size_t word = 0;
    isa::for_each_register_operand(inst->inst, [&](isa::VarId var) {
      const auto& type = *std::get_if<isa::RegisterType>(&kernel_.variable(var).type);
      facts.push_back(tile_operand(var, type, word));
      word += words_of(type);
    });
    isa::for_each_operand(inst->inst, [&](isa::VarId var) {
      const auto* type = std::get_if<isa::ScalarType>(&kernel_.variable(var).type);
      const auto slot = static_cast<std::size_t>(var.index);
      if (type == nullptr || slot >= found_.before.scalars.size()) return;
      const isa::Scalar value{type->kind, found_.before.scalars[slot]};
      const std::string name = shown_name(kernel_.variable(var));
      Fact fact{fmt::format("{} = {}", name, to_string(value))};
      fact.json.set("name", name).set("value", to_string(value));
      facts.push_back(std::move(fact));
    });
    return facts;
  }

 private:
  [[nodiscard]] LineColumn locate(Span span) const {
    return what_.program.source().locate(span.begin);
  }

  [[nodiscard]] std::string mnemonic_of(const isa::Stmt& stmt) const {
    if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
      return std::string(isa::mnemonic(inst->inst));
    }
    return std::holds_alternative<isa::ScalarStmt>(stmt.node) ? "assignment" : "loop";
  }

  /// An element of a tile that both engines hold in the same thread and register.
  [[nodiscard]] Fact tell(const TileDifference& tile) const {
    const isa::Variable& variable = kernel_.variable(tile.var);
    const auto& type = *std::get_if<isa::RegisterType>(&variable.type);
    const isa::Index index = type.layout.element(static_cast<std::int64_t>(tile.thread),
                                                 static_cast<std::int64_t>(tile.place));
    const std::size_t bit = tile.place * type.dtype.bits;
    const std::string element = fmt::format("[{}]", fmt::join(index, ", "));
    Fact fact{
        fmt::format("{}{}, thread {}, place {} (register {}, bit {}): {} in {}, {} in {}; {} of {} "
                    "values differ",
                    shown_name(variable), element, tile.thread, tile.place, bit / 32, bit % 32,
                    code_text(type.dtype, tile.a), a_, code_text(type.dtype, tile.b), b_,
                    tile.different, tile.elements)};
    fact.json.set("kind", "tile").set("name", shown_name(variable)).set("index", element);
    fact.json.set("dtype", isa::to_string(type.dtype)).set("thread", tile.thread);
    fact.json.set("place", tile.place).set("register", bit / 32);
    fact.json.set("a", hex(tile.a)).set("b", hex(tile.b));
    fact.json.set("different", tile.different).set("values", tile.elements);
    return fact;
  }

  [[nodiscard]] Fact tell(const ScalarDifference& scalar) const {
    const isa::Variable& variable = kernel_.variable(scalar.var);
    const auto kind = std::get_if<isa::ScalarType>(&variable.type)->kind;
    const std::string a = to_string(isa::Scalar{kind, scalar.a});
    const std::string b = to_string(isa::Scalar{kind, scalar.b});
    Fact fact{fmt::format("{}, thread {}: {} in {}, {} in {}", shown_name(variable), scalar.thread,
                          a, a_, b, b_)};
    fact.json.set("kind", "scalar").set("name", shown_name(variable)).set("thread", scalar.thread);
    fact.json.set("a", a).set("b", b);
    return fact;
  }

  [[nodiscard]] Fact tell(const WriteDifference& write) const {
    const auto* inst = std::get_if<isa::InstStmt>(&statement().node);
    const bool adds = inst != nullptr && isa::updates_memory(inst->inst);
    const std::string place = (adds ? "what is added to " : "") + address_text(write);
    const auto side = [&](const std::optional<WriteDifference::Side>& wrote, bool knows) {
      if (!wrote) return std::string("nothing");
      const std::string part =
          wrote->mask == ~0U ? "" : fmt::format(" in the bits 0x{:08x}", wrote->mask);
      const std::string thread = knows ? fmt::format(", thread {}", wrote->thread) : "";
      return fmt::format("0x{:08x}{}{}", wrote->value, part, thread);
    };
    const bool a_knows = knows_threads(a_), b_knows = knows_threads(b_);
    Fact fact{fmt::format("{}: {} by {}, {} by {}; {} words differ", place, side(write.a, a_knows),
                          a_, side(write.b, b_knows), b_, write.different)};
    fact.json.set("kind", "memory").set("place", place).set("different", write.different);
    const auto set = [&](const char* key, const std::optional<WriteDifference::Side>& wrote) {
      fact.json.set(key, wrote ? Json(hex(wrote->value)) : Json());
      fact.json.set(std::string(key) + "_mask", wrote ? Json(hex(wrote->mask)) : Json());
    };
    set("a", write.a);
    set("b", write.b);
    const bool from_b = write.b && (b_knows || !write.a);
    if (from_b ? b_knows : a_knows) fact.json.set("thread", (from_b ? write.b : write.a)->thread);
    return fact;
  }

  /// Which thread copies an element asynchronously is a matter of machine code, of which the
  /// simulator knows nothing.
  [[nodiscard]] bool knows_threads(const std::string& engine) const {
    const auto* inst = std::get_if<isa::InstStmt>(&statement().node);
    if (inst == nullptr || engine != "sim") return true;
    const std::optional<isa::TileMove> move = isa::tile_move(*inst);
    return !move || !std::holds_alternative<isa::CopyMove>(*move);
  }

  [[nodiscard]] Fact tell(const PathDifference& path) const {
    const auto next = [&](const std::optional<isa::StmtId>& id) {
      if (!id) return std::string("the block ends");
      const isa::Stmt& stmt = statements_[*id];
      return fmt::format("{} in line {}", mnemonic_of(stmt), locate(stmt.span).line);
    };
    Fact fact{fmt::format("the way through the program is another: next is {} in {}, {} in {}",
                          next(path.a), a_, next(path.b), b_)};
    fact.json.set("kind", "path").set("a", next(path.a)).set("b", next(path.b));
    return fact;
  }

  [[nodiscard]] static Fact tell(const UnknownDifference& unknown) {
    Fact fact{"what it wrote differs; " + unknown.why};
    fact.json.set("kind", "unknown").set("why", unknown.why);
    return fact;
  }

  /// "byte 24 of c, element [0, 6]".
  [[nodiscard]] std::string address_text(const WriteDifference& write) const {
    const std::uint64_t number = write.address >> 48;
    const std::uint64_t byte = write.address & ((std::uint64_t{1} << 48) - 1);
    if (number == 0) return shared_text(byte);
    const std::size_t buffer = number - 1;
    const auto& tensors = what_.entry.tensors;
    if (buffer < tensors.size()) {
      const Entry::Tensor& tensor = tensors[buffer];
      const std::uint64_t element = (byte * 8 + write.bit) / tensor.dtype.bits;
      const auto count = static_cast<std::uint64_t>(isa::element_count(tensor.shape));
      const std::string index =
          element < count ? "element " + format_index(tensor.shape, element) : "behind its end";
      return fmt::format("byte {} of {}, {}", byte, tensor.name, index);
    }
    const auto& workspaces = what_.program.info(found_.kernel).workspaces;
    if (buffer - tensors.size() < workspaces.size()) {
      const isa::VarId var = workspaces[buffer - tensors.size()].var;
      return fmt::format("byte {} of the workspace {}", byte, kernel_.variable(var).name);
    }
    return fmt::format("an address outside of all memory of the launch, 0x{:x}", byte);
  }

  [[nodiscard]] std::string shared_text(std::uint64_t byte) const {
    const std::string plain = fmt::format("byte {} of shared memory", byte);
    const auto* inst = std::get_if<isa::InstStmt>(&statement().node);
    if (inst == nullptr) return plain;
    std::string text = plain;
    isa::for_each_memory_operand<isa::SharedOperand>(inst->inst, [&](isa::Access, isa::VarId var) {
      const auto& tile = what_.program.info(found_.kernel).shared_tile(var);
      const auto begin = static_cast<std::uint64_t>(tile.gpu_offset);
      if (byte < begin || byte >= begin + static_cast<std::uint64_t>(tile.bytes)) return;
      text += fmt::format(", byte {} of {}", byte - begin, shown_name(kernel_.variable(var)));
    });
    return text;
  }

  /// An operand's element where the result differs, or the first of what the thread has of it.
  [[nodiscard]] Fact tile_operand(isa::VarId var, const isa::RegisterType& type,
                                  std::size_t word) const {
    constexpr std::size_t most = 8;
    const std::string name = shown_name(kernel_.variable(var));
    const auto* tile = std::get_if<TileDifference>(&found_.what);
    const auto* write = std::get_if<WriteDifference>(&found_.what);
    std::size_t thread = tile != nullptr ? tile->thread : 0;
    if (write != nullptr) thread = write->a ? write->a->thread : write->b->thread;
    Fact fact;
    fact.json.set("name", name).set("thread", thread);
    if (thread >= found_.before.operands.size()) return fact;
    const auto& words = found_.before.operands[thread];
    const auto places = static_cast<std::size_t>(type.layout.num_locals());
    if (words.size() < word + words_of(type)) return fact;
    const auto code = [&](std::size_t place) {
      return code_in_words(words, word, type.dtype.bits, place);
    };
    const bool same = tile != nullptr && same_layout(tile->var, type);
    std::vector<std::string> values, codes;
    const std::size_t first = same ? tile->place : 0;
    const std::size_t end = same ? first + 1 : std::min(places, most);
    for (std::size_t i = first; i < end; ++i) {
      values.push_back(code_text(type.dtype, code(i)));
      codes.push_back(hex(code(i)));
    }
    const isa::Index index =
        type.layout.element(static_cast<std::int64_t>(thread), static_cast<std::int64_t>(first));
    fact.text = fmt::format("{}[{}]{} = {}{}", name, fmt::join(index, ", "),
                            same ? "" : fmt::format(" and on, in thread {}", thread),
                            fmt::join(values, ", "), !same && places > most ? ", .." : "");
    Json list = Json::array();
    for (std::string& each : codes) list.push(std::move(each));
    fact.json.set("index", fmt::format("[{}]", fmt::join(index, ", ")));
    fact.json.set("codes", std::move(list));
    return fact;
  }

  [[nodiscard]] bool same_layout(isa::VarId result, const isa::RegisterType& operand) const {
    const auto* type = std::get_if<isa::RegisterType>(&kernel_.variable(result).type);
    return type != nullptr && type->layout == operand.layout;
  }

  const DiffCase& what_;
  const BisectedStatement& found_;
  const isa::Kernel& kernel_;
  isa::Statements statements_;
  const std::string &a_, &b_;
};

std::string left_out_text(const BisectResult& result) {
  std::string text;
  for (const std::string& each : result.left_out) text += fmt::format("  not compared: {}\n", each);
  return text;
}

}  // namespace

std::string render_bisect(const DiffCase& what, const SeedVerdict& verdict,
                          const BisectResult& result) {
  const std::string &a = verdict.engines[result.a], &b = verdict.engines[result.b];
  if (!result.found) {
    return fmt::format(
               "bisect: all {} records of {} and {} are equal while they are made: either the "
               "difference goes away when it is looked at, as faults of an optimiser may, or it is "
               "in what was not compared\n",
               result.compared, a, b) +
           left_out_text(result);
  }
  const BisectReport report(what, verdict, result);
  const LineColumn place = report.place();
  const Fact difference = report.difference();
  std::string text =
      fmt::format("bisect: the first statement that {} and {} execute differently\n", a, b);
  text += fmt::format("{}:{}:{}: {} in block [{}] of {}, launch {}\n", what.program.source().name(),
                      place.line, place.column, report.mnemonic(), fmt::join(report.block(), ", "),
                      report.kernel_name(), result.found->launch + 1);
  text += report.excerpt();
  for (const Fact& loop : report.loops()) text += fmt::format("  in {}\n", loop.text);
  if (const auto line = report.after_loop()) {
    text += fmt::format("  after the loop in line {}, which adds its products up\n", *line);
  }
  text += fmt::format("  {}\n", difference.text);
  for (const Fact& operand : report.operands()) text += fmt::format("  reads {}\n", operand.text);
  return text + left_out_text(result);
}

Json bisect_json(const DiffCase& what, const SeedVerdict& verdict, const BisectResult& result) {
  Json object = Json::object();
  object.set("backends",
             Json::array().push(verdict.engines[result.a]).push(verdict.engines[result.b]));
  object.set("seed", verdict.seed).set("found", result.found.has_value());
  object.set("compared", result.compared);
  Json left_out = Json::array();
  for (const std::string& each : result.left_out) left_out.push(each);
  object.set("left_out", std::move(left_out));
  if (!result.found) return object;
  const BisectReport report(what, verdict, result);
  Json block = Json::array(), loops = Json::array(), operands = Json::array();
  for (const std::int64_t index : report.block()) block.push(index);
  for (Fact& loop : report.loops()) loops.push(std::move(loop.json));
  for (Fact& operand : report.operands()) operands.push(std::move(operand.json));
  object.set("kernel", report.kernel_name()).set("launch", result.found->launch);
  object.set("block", std::move(block)).set("record", result.found->record);
  object.set("line", report.place().line).set("column", report.place().column);
  object.set("mnemonic", report.mnemonic()).set("loops", std::move(loops));
  if (const auto line = report.after_loop()) object.set("after_loop", *line);
  object.set("difference", report.difference().json);
  return object.set("operands", std::move(operands));
}

}  // namespace tilevm::vm
