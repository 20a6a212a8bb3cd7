// Breakpoints and watchpoints of a session.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isa/base/suggest.h"
#include "isa/inst/slot_table.h"
#include "isa/type/bits.h"
#include "sim/debug/session.h"

namespace tilevm::sim::debug {
namespace {

/// The mnemonic that a word means, whatever its case; empty if there is none.
std::string_view find_mnemonic(const std::string& word, std::vector<std::string>& all) {
  std::string_view found;
  const auto lower = [](std::string_view text) {
    std::string result(text);
    for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
  };
  for (const isa::InstructionEntry& entry : isa::instruction_table()) {
    const std::string_view mnemonic = entry.description->mnemonic;
    all.emplace_back(mnemonic);
    if (lower(mnemonic) == lower(word)) found = mnemonic;
  }
  return found;
}

Error too_many(const command::Watch& request, std::int64_t count) {
  return {ErrorKind::usage, fmt::format("`{}` has {} elements; a watchpoint takes {} at most",
                                        request.what.text, count, max_watched)};
}

/// The elements of a tensor that lie in bytes of its memory.
Result<std::vector<isa::Index>> elements_in_bytes(const command::Watch& request,
                                                  const Tensor& tensor) {
  if (std::holds_alternative<RegisterPlace>(tensor.place)) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` is in registers, which have no address", tensor.name)};
  }
  const auto* shared = std::get_if<SharedPlace>(&tensor.place);
  const std::uint64_t first = shared != nullptr ? shared->first_bit : 0;
  const std::uint64_t low = first + *request.begin * 8, high = first + *request.end * 8;
  std::vector<isa::Index> found;
  const std::int64_t count = isa::element_count(tensor.shape);
  for (std::int64_t k = 0; k < count; ++k) {
    isa::Index index = isa::unravel(k, tensor.shape);
    const auto bit = tensor.bit_of(index);
    if (!bit || *bit >= high || *bit + tensor.dtype.bits <= low) continue;
    found.push_back(std::move(index));
    if (found.size() > max_watched) return too_many(request, count);
  }
  if (found.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("no element of `{}` lies in these bytes", tensor.name)};
  }
  return found;
}

Result<std::vector<isa::Index>> watched_elements(const command::Watch& request,
                                                 const Tensor& tensor) {
  if (request.begin && request.end) return elements_in_bytes(request, tensor);
  const Result<Part> part = resolve(request.what, tensor);
  if (!part) return part.error();
  const std::int64_t count = isa::element_count(part->extents);
  if (count > static_cast<std::int64_t>(max_watched)) return too_many(request, count);
  std::vector<isa::Index> indices;
  for (std::int64_t k = 0; k < count; ++k) indices.push_back(index_in(*part, k));
  return indices;
}

}  // namespace

/// Launches of one kernel share its table.
void Session::make_stop_tables() {
  for (const auto& launch : machine().launches()) {
    StopTable& table = stop_tables_[launch->kernel_index()];
    table.marks.resize(launch->records().size() + 1, 0);
    table.numbers.resize(launch->records().size());
    stop_at_.push_back(&table);
  }
}

const std::vector<std::size_t>& Session::records_of(const Breakpoint& breakpoint,
                                                    const PreparedLaunch& launch) const {
  return breakpoint.line ? launch.records().at_line(*breakpoint.line)
                         : launch.records().at_name(breakpoint.name);
}

/// Makes a breakpoint stop at its records, or no longer.
void Session::mark(const Breakpoint& breakpoint, bool stops) {
  for (const auto& launch : machine().launches()) {
    StopTable& table = stop_tables_[launch->kernel_index()];
    for (const std::size_t record : records_of(breakpoint, *launch)) {
      std::set<int>& numbers = table.numbers[record];
      if (stops) {
        numbers.insert(breakpoint.number);
      } else {
        numbers.erase(breakpoint.number);
      }
      table.marks[record] = numbers.empty() ? 0 : 1;
    }
  }
}

/// Whether a condition holds for a block. One that means nothing there stops, as in gdb.
bool Session::holds(const ExpressionPtr& condition, std::size_t resident) {
  if (!condition) return true;
  const Names names(machine(), resident, spec_.shapes, spec_.dtypes);
  const BlockState& block = machine().state().residents[resident]->state;
  const Result<Value> value =
      evaluate(*condition, names, &block, {block.block, machine().moment()});
  return !value || is_true(*value);
}

/// The breakpoint that stops here; `count` counts its hits.
const Breakpoint* Session::hit(bool count) {
  // A block that waits comes again and again to the same statement.
  if (!machine().has_current() || machine().current_block().wait) return nullptr;
  const StopTable& table = *stop_at_[machine().launch_index()];
  const std::size_t record = std::min(machine().next_record(), table.marks.size() - 1);
  if (table.marks[record] == 0) return nullptr;
  for (const int number : table.numbers[record]) {
    Breakpoint& breakpoint = breakpoints_.find(number)->second;
    if (!holds(breakpoint.condition, machine().state().position)) continue;
    if (!count) return &breakpoint;
    if (++breakpoint.hits > breakpoint.ignore) return &breakpoint;
  }
  return nullptr;
}

/// Which breakpoint stopped the run, and what its condition read.
void Session::describe_hit(const Breakpoint& breakpoint, reply::Stopped& stop) {
  stop.breakpoint = breakpoint.number;
  stop.hits = breakpoint.hits;
  if (!breakpoint.condition || !machine().has_current()) return;
  const std::size_t resident = machine().state().position;
  const Names look(machine(), resident, spec_.shapes, spec_.dtypes);
  const BlockState& block = machine().state().residents[resident]->state;
  const Implied around{block.block, machine().moment()};
  const Result<Value> whole = evaluate(*breakpoint.condition, look, &block, around);
  if (!whole) stop.no_condition = whole.error().message;
  constexpr std::size_t most = 8;
  for (const ExpressionPtr& operand : operands_of(breakpoint.condition)) {
    const Result<Value> value = evaluate(*operand, look, &block, around);
    if (value && stop.condition.size() < most) stop.condition.push_back({operand->text, *value});
  }
}

std::optional<SourceLine> Session::line_from(SourceLine line) {
  std::optional<SourceLine> first;
  for (const auto& launch : machine().launches()) {
    const auto found = launch->records().line_from(line);
    if (found && (!first || found->line < first->line)) first = found;
  }
  return first;
}

/// Where a breakpoint is, and `what` is said of it. Errors (usage): there is no such line or name.
Status Session::place(const command::Break& request, Breakpoint& breakpoint, std::string& what) {
  if (request.line) {
    const Result<SourceLine> named = find_line(*request.line);
    if (!named) return named.error();
    breakpoint.line = line_from(*named);
    if (!breakpoint.line) {
      return Error{ErrorKind::usage,
                   fmt::format("no statement that runs is at line {} or after it{}", named->line,
                               named->file == 0 ? "" : " in this file")};
    }
    what = "line " + line_text(program().source(), *breakpoint.line);
    return Done{};
  }
  std::vector<std::string> all;
  for (const auto& launch : machine().launches()) {
    const auto& functions = launch->records().functions();
    all.push_back(launch->kernel().name);
    all.insert(all.end(), functions.begin(), functions.end());
    const bool is_kernel = launch->kernel().name == request.name;
    if (!is_kernel && !functions.contains(request.name)) continue;
    breakpoint.name = request.name;
    what = fmt::format("the begin of {}`{}`", is_kernel ? "" : "function ", request.name);
    return Done{};
  }
  breakpoint.name = find_mnemonic(request.name, all);
  if (breakpoint.name.empty()) {
    const std::string near = nearest(request.name, all);
    return Error{ErrorKind::usage,
                 fmt::format("`{}` is not a line, kernel, function or instruction{}", request.name,
                             near.empty() ? "" : fmt::format("; did you mean `{}`?", near))};
  }
  what = breakpoint.name;
  return Done{};
}

Reply Session::run(const command::Break& request) {
  Breakpoint breakpoint{.number = next_number_,
                        .line = std::nullopt,
                        .name = {},
                        .condition = request.condition,
                        .ignore = request.ignore,
                        .temporary = request.temporary};
  std::string what;
  if (Status status = place(request, breakpoint, what); !status) return status.error();
  const int number = next_number_++;
  const SourceLine line = breakpoint.line.value_or(SourceLine{});
  mark(breakpoint, true);
  breakpoints_.emplace(number, std::move(breakpoint));
  return reply::Done{
      fmt::format("{}breakpoint {} at {}{}", request.temporary ? "temporary " : "", number, what,
                  request.condition ? " if " + request.condition->text : ""),
      number, line};
}

std::optional<std::vector<Element>> Session::elements_of(const Watchpoint& watch) {
  const BlockState* block = nullptr;
  if (!watch.everywhere) {
    if (machine().finished() || machine().launch_index() != watch.launch) return std::nullopt;
    const auto& residents = machine().state().residents;
    const auto resident =
        std::ranges::find_if(residents, [&](const auto& each) { return each->rank == watch.rank; });
    if (resident == residents.end()) return std::nullopt;
    block = &(*resident)->state;
    if (watch.scalar) {
      const auto slot = static_cast<std::size_t>(watch.scalar->index);
      const Names look(machine(), resident - residents.begin(), spec_.shapes, spec_.dtypes);
      const std::uint64_t code = block->scalars[slot] & isa::low_mask(watch.tensor.dtype.bits);
      return std::vector<Element>(1, Element{code, !look.has_value(*watch.scalar)});
    }
  }
  std::vector<Element> elements;
  for (const isa::Index& index : watch.indices) {
    elements.push_back(watch.tensor.read(block, index));
  }
  return elements;
}

/// What a watchpoint compares: elements of a tensor, or a scalar. Errors (usage).
Result<Watchpoint> Session::watched(const command::Watch& request) {
  const Result<Named> named = names().find(request.what.tensor);
  if (!named) return named.error();
  Watchpoint watch;
  if (const auto* scalar = std::get_if<ScalarVariable>(&*named)) {
    if (request.begin || request.what.thread || !request.what.ranges.empty()) {
      return Error{ErrorKind::usage, fmt::format("`{}` is a scalar, which has no {}", scalar->name,
                                                 request.begin ? "address" : "elements")};
    }
    watch.scalar = names().variable(scalar->name);
    watch.tensor.dtype = isa::element_type(scalar->value.kind);
    watch.indices.assign(1, isa::Index());  // of no dimension
    return watch;
  }
  watch.tensor = *std::get_if<Tensor>(&*named);
  Result<std::vector<isa::Index>> indices = watched_elements(request, watch.tensor);
  if (!indices) return indices.error();
  watch.indices = *std::move(indices);
  watch.everywhere = std::holds_alternative<GlobalPlace>(watch.tensor.place);
  return watch;
}

Reply Session::run(const command::Watch& request) {
  Result<Watchpoint> watch = watched(request);
  if (!watch) return watch.error();
  watch->number = next_number_++;
  watch->what = request.what;
  watch->launch = focus_.launch;
  watch->rank = focus_.rank;
  watch->condition = request.condition;
  watch->ignore = request.ignore;
  watchpoints_.push_back(*std::move(watch));
  remember_watches();
  const Watchpoint& made = watchpoints_.back();
  return reply::Done{fmt::format("watchpoint {}: {}{}{}", made.number, request.what.text,
                                 made.everywhere ? "" : " of this block",
                                 made.condition ? " if " + made.condition->text : ""),
                     made.number,
                     {}};
}

void Session::remember_watches() {
  for (Watchpoint& watch : watchpoints_) watch.last = elements_of(watch);
}

/// Whether a condition holds for the block that made the last step.
bool Session::holds_after_step(const ExpressionPtr& condition) {
  if (!condition || machine().finished()) return true;
  const auto& residents = machine().state().residents;
  for (std::size_t i = 0; i < residents.size(); ++i) {
    if (residents[i]->rank == machine().stepped_rank()) return holds(condition, i);
  }
  return true;
}

/// A watched element that the last step changed. The block's end changes nothing.
std::optional<WatchChange> Session::changed_watch() {
  std::optional<WatchChange> change;
  for (Watchpoint& watch : watchpoints_) {
    if (!watch.enabled) continue;
    // Only what the last step may have written is looked at.
    const bool untouched = watch.everywhere ? machine().writes().written != timeline_->now()
                                            : machine().stepped_rank() != watch.rank;
    if (untouched) continue;
    auto now = elements_of(watch);
    if (watch.last && now && *now != *watch.last) {
      std::size_t first = now->size(), changed = 0;
      for (std::size_t k = 0; k < now->size(); ++k) {
        if ((*now)[k] == (*watch.last)[k]) continue;
        first = std::min(first, k);
        ++changed;
      }
      if (!holds_after_step(watch.condition) || ++watch.hits <= watch.ignore) {
        watch.last = std::move(now);
        continue;
      }
      change = WatchChange{watch.number,
                           watch.what.text,
                           watch.tensor.dtype,
                           watch.indices[first],
                           (*watch.last)[first],
                           (*now)[first],
                           changed,
                           now->size(),
                           {},
                           {}};
    }
    watch.last = std::move(now);
  }
  if (!change) return change;
  // The statement that ran last, of any block.
  Moment latest = 0;
  const MachineState& state = machine().state();
  if (machine().finished()) return change;
  for (const auto& resident : state.residents) {
    for (std::size_t i = 0; i < resident->last_run.size(); ++i) {
      if (resident->last_run[i] <= latest) continue;
      latest = resident->last_run[i];
      change->line = machine().launch().records()[i].line;
      change->block = machine().launch().launch().named(resident->state.block);
    }
  }
  return change;
}

Reply Session::run(const command::Delete& request) {
  if (!request.number) {
    breakpoints_.clear();
    watchpoints_.clear();
    stop_tables_.clear();
    stop_at_.clear();
    make_stop_tables();
    return reply::Done{"all breakpoints and watchpoints are deleted", 0, {}};
  }
  const auto found = breakpoints_.find(*request.number);
  if (found != breakpoints_.end()) {
    mark(found->second, false);
    breakpoints_.erase(found);
  } else if (std::erase_if(watchpoints_, [&](const Watchpoint& watch) {
               return watch.number == *request.number;
             }) == 0) {
    return Error{ErrorKind::usage, fmt::format("there is no breakpoint {}", *request.number)};
  }
  return reply::Done{fmt::format("{} is deleted", *request.number), 0, {}};
}

Reply Session::run(const command::Enable& request) {
  const auto breakpoint = breakpoints_.find(request.number);
  const auto watch = std::ranges::find(watchpoints_, request.number, &Watchpoint::number);
  if (breakpoint != breakpoints_.end()) {
    breakpoint->second.enabled = request.enabled;
    mark(breakpoint->second, request.enabled);
  } else if (watch != watchpoints_.end()) {
    watch->enabled = request.enabled;
  } else {
    return Error{ErrorKind::usage, fmt::format("there is no breakpoint {}", request.number)};
  }
  return reply::Done{
      fmt::format("{} is {}", request.number, request.enabled ? "enabled" : "disabled"), 0, {}};
}

}  // namespace tilevm::sim::debug
