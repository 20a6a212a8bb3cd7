#include "sim/debug/session.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "isa/base/hash.h"

namespace tilevm::sim::debug {

Result<std::unique_ptr<Session>> Session::make(SessionSpec spec) {
  if (spec.launches.empty()) return Error{ErrorKind::usage, "the entry launches no kernel"};
  spec.options.checks.redundant = false;
  std::unique_ptr<Session> session(new Session(std::move(spec)));
  auto machine = Machine::make(session->spec_.program, session->spec_.launches,
                               session->spec_.buffers, session->spec_.options);
  if (!machine) return machine.error();
  session->timeline_ = std::make_unique<Timeline>(*std::move(machine), session->spec_.timeline);
  session->make_stop_tables();
  session->follow();
  return session;
}

namespace {

/// The name that a command looks at; empty if it looks at none.
template <class Request>
std::string looked_at(const Request& request) {
  if constexpr (requires { request.value; }) {
    return {};  // what is changed is of the present
  } else if constexpr (std::is_same_v<Request, command::Watch>) {
    return {};
  } else if constexpr (requires { request.what.tensor; }) {
    return request.what.tensor;
  } else if constexpr (requires { request.tensor; }) {
    return request.tensor;
  } else {
    return {};
  }
}

}  // namespace

Reply Session::execute(const Command& command) {
  timeline_->clear_interrupt();
  past_.reset();
  Reply reply = std::visit([this](const auto& request) { return run(request); }, command);
  if (auto* stop = std::get_if<reply::Stopped>(&reply)) {
    note_changes(*stop);
    if (std::holds_alternative<command::Where>(command)) stop->changed.clear();
    fault_at_ = stop->fault ? std::optional(timeline_->now()) : std::nullopt;
  }
  if (!std::holds_alternative<Error>(reply)) return reply;
  const std::string name =
      std::visit([](const auto& request) { return looked_at(request); }, command);
  const bool here = name.empty() || names().find(name) || names().variable(name);
  return here ? reply : in_past(command, name, std::move(reply));
}

/// The scalars that are not as they were at the last stop; of another block all.
void Session::note_changes(reply::Stopped& stop) {
  const auto resident = resident_of_focus();
  SeenScalars now{focus_, resident.has_value(), {}};
  const bool same_block = seen_.known && seen_.block.launch == focus_.launch &&
                          seen_.block.rank == focus_.rank && resident;
  if (resident) {
    const isa::Kernel& kernel = machine().launch().kernel();
    const BlockState& block = machine().state().residents[*resident]->state;
    const Names look = names();
    now.bits.resize(kernel.variables.size());
    for (const isa::VarId var : look.live()) {
      const auto index = static_cast<std::size_t>(var.index);
      const auto* type = std::get_if<isa::ScalarType>(&kernel.variable(var).type);
      if (type == nullptr) continue;
      now.bits[index] = block.scalars[index];
      if (same_block && seen_.bits[index] == now.bits[index]) continue;
      const std::string& name = kernel.variable(var).name;
      const bool is_told =
          name.starts_with('(') || look.variable(name) != var ||
          std::ranges::any_of(stop.wrote, [&](const Written& w) { return w.name == name; }) ||
          std::ranges::any_of(stop.condition,
                              [&](const reply::Computed& c) { return c.text == name; });
      if (is_told) continue;
      stop.changed.push_back({name, {type->kind, *now.bits[index]}});
    }
  }
  if (resident) seen_ = std::move(now);
}

/// The focus goes to the block that steps next.
void Session::follow() {
  if (machine().finished() || machine().state().residents.empty()) return;
  const std::size_t launch = machine().state().launch;
  const std::size_t position =
      machine().has_current() ? machine().state().position : std::size_t{0};
  focus_ = {launch, machine().state().residents[position]->rank};
}

std::optional<std::size_t> Session::resident_of_focus() {
  const MachineState& state = machine().state();
  if (machine().finished() || state.launch != focus_.launch) return std::nullopt;
  for (std::size_t i = 0; i < state.residents.size(); ++i) {
    if (state.residents[i]->rank == focus_.rank) return i;
  }
  return std::nullopt;
}

void Session::focus_on(std::uint64_t rank) {
  const Focus before = focus_;
  focus_ = {machine().launch_index(), rank};
  if (!resident_of_focus()) focus_ = before;
}

const BlockState* Session::focus_block() {
  const auto resident = resident_of_focus();
  return resident ? &machine().state().residents[*resident]->state : nullptr;
}

Names Session::names() { return {machine(), resident_of_focus(), spec_.shapes, spec_.dtypes}; }

Implied Session::implied() {
  const BlockState* block = focus_block();
  return {block != nullptr ? block->block : std::array<std::int64_t, 3>{}, timeline_->now()};
}

Position make_position(Machine& machine, std::size_t resident) {
  const MachineState& state = machine.state();
  Position position;
  position.moment = state.moment;
  position.launch = state.launch;
  position.launches = machine.launches().size();
  if (machine.finished()) return position;
  const PreparedLaunch& launch = machine.launch();
  position.kernel = launch.kernel().name;
  if (resident >= state.residents.size()) {
    position.kind = Position::Kind::stuck;
    position.span = launch.kernel().span;
    position.line = source_line(machine.program().source(), position.span.begin);
    return position;
  }
  const Resident& block = *state.residents[resident];
  position.block = launch.launch().named(block.state.block);
  const std::size_t next = block.state.next;
  if (next >= launch.plan().records.size()) {
    position.kind = Position::Kind::block_end;
    return position;
  }
  position.kind = state.stuck != MachineState::Stuck::no ? Position::Kind::stuck
                  : block.state.wait                     ? Position::Kind::waiting
                                                         : Position::Kind::statement;
  position.line = launch.records()[next].line;
  position.span = launch.plan().records[next].span;
  const SourceFile& source = machine.program().source();
  for (SourceFile::Call& call : source.calls_at(position.span.begin)) {
    position.calls.push_back(
        {std::move(call.function), source_line(source, call.call.begin), call.call});
  }
  position.mnemonic = launch.plan().records[next].mnemonic;
  return position;
}

Position Session::position_of(std::size_t resident) { return make_position(machine(), resident); }

Position Session::position() { return position_of(resident_of_focus().value_or(SIZE_MAX)); }

/// The record that a block ran last.
std::optional<std::size_t> Session::last_record(std::size_t resident) {
  const std::vector<Moment>& last = machine().state().residents[resident]->last_run;
  const auto latest = std::max_element(last.begin(), last.end());
  if (latest == last.end() || *latest == 0) return std::nullopt;
  return static_cast<std::size_t>(latest - last.begin());
}

std::vector<Written> Session::written_by(std::size_t resident, std::size_t record) {
  std::vector<Written> written;
  const PreparedLaunch& launch = machine().launch();
  const BlockState& block = machine().state().residents[resident]->state;
  const Names names(machine(), resident, spec_.shapes, spec_.dtypes);
  for (const isa::VarId var : launch.records()[record].written) {
    Written value{names.name_of(var), std::nullopt, {}, {}, 0};
    const isa::Type& type = launch.kernel().variable(var).type;
    if (const auto* scalar = std::get_if<isa::ScalarType>(&type)) {
      value.scalar = {scalar->kind, block.scalars[static_cast<std::size_t>(var.index)]};
    } else if (const auto* tile = std::get_if<isa::RegisterType>(&type)) {
      const Tile place = make_tile(*tile, launch.registers().offset(var));
      value.dtype = tile->dtype;
      value.shape = tile->shape();
      value.hash = xxh64({block.registers.at(place.offset), place.bytes()});
    } else {
      continue;
    }
    written.push_back(std::move(value));
  }
  return written;
}

std::uint64_t Session::memory_hash() {
  std::uint64_t hash = 0;
  for (const auto& launch : machine().launches()) {
    for (std::size_t i = 0; i < launch->memory().size(); ++i) {
      const MemoryBuffer& buffer = launch->memory()[i];
      if (i >= launch->workspaces() && launch != machine().launches().front()) continue;
      hash = xxh64({buffer.data, buffer.bytes}, hash);
      if (buffer.undefined != nullptr) hash = xxh64({buffer.undefined, buffer.bytes}, hash);
    }
  }
  return hash;
}

Reply Session::run(const command::Hash&) {
  const std::uint64_t state = hash_of(machine().state());
  const std::array<std::uint64_t, 2> both{state, memory_hash()};
  return reply::HashShown{
      xxh64({reinterpret_cast<const std::uint8_t*>(both.data()), sizeof(both)})};
}

Reply Session::run(const command::Where&) {
  reply::Stopped where;
  where.reason = Reason::arrived;
  where.position = position();
  return where;
}

Reply Session::run(const command::FocusThread& thread) {
  if (thread.thread && !machine().finished() &&
      (*thread.thread < 0 || *thread.thread >= machine().launch().plan().threads)) {
    return Error{ErrorKind::usage, fmt::format("a block of `{}` has threads 0 to {}",
                                               machine().launch().kernel().name,
                                               machine().launch().plan().threads - 1)};
  }
  thread_ = thread.thread;
  return reply::Done{thread_ ? fmt::format("thread {}", *thread_) : "all threads", 0, {}};
}

}  // namespace tilevm::sim::debug
