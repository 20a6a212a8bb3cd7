// What a session tells of blocks, copies, barriers, counts.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/origin.h"
#include "sim/access/copy_plan.h"
#include "sim/access/product_plan.h"
#include "sim/access/semaphore.h"
#include "sim/debug/session.h"

namespace tilevm::sim::debug {

/// The file and the line that a user names.
Result<SourceLine> Session::find_line(const command::NamedLine& named) const {
  const auto& files = program().source().files();
  if (named.file.empty()) return SourceLine{named.line, 0};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& name = files[i].name;
    const bool is_it =
        name == named.file || name.ends_with("/" + named.file) || named.file.ends_with("/" + name);
    if (is_it) return SourceLine{named.line, i};
    names.push_back(name);
  }
  // A file that the program was generated from.
  if (const auto offset = first_from(program().source(), named.file, named.line)) {
    return source_line(program().source(), *offset);
  }
  return Error{ErrorKind::usage, fmt::format("the program has no file `{}`; it has {}", named.file,
                                             fmt::join(names, ", "))};
}

Reply Session::run(const command::Info& info) {
  switch (info.topic) {
    case command::Topic::blocks:
      return blocks();
    case command::Topic::races:
      return races();
    case command::Topic::groups:
      return groups();
    case command::Topic::barriers:
      return barriers();
    case command::Topic::stats:
      return stats();
    case command::Topic::cost:
      return cost();
    case command::Topic::locals:
      return locals();
    case command::Topic::scalars:
      return scalars();
    case command::Topic::tensors:
      return tensors();
    case command::Topic::breakpoints:
      return breakpoints();
    case command::Topic::snapshots:
      return reply::Snapshots{timeline_->use()};
  }
  TILEVM_NO_ENUMERATOR();
}

reply::Blocks Session::blocks() {
  reply::Blocks shown;
  const MachineState& state = machine().state();
  shown.launch = state.launch;
  shown.launches = machine().launches().size();
  if (machine().finished()) return shown;
  shown.kernel = machine().launch().kernel().name;
  if (machine().launch().grid_fault()) return shown;
  shown.begun = state.next_rank;
  shown.total = machine().launch().launch().grid.blocks();
  const auto focus = resident_of_focus();
  for (std::size_t i = 0; i < state.residents.size(); ++i) {
    const Resident& resident = *state.residents[i];
    const Position where = position_of(i);
    reply::BlockInfo info{where.block,
                          where.line,
                          resident.state.steps,
                          focus == i,
                          resident.ended || where.kind == Position::Kind::block_end,
                          {}};
    if (const auto& wait = resident.state.wait) {
      const GlobalAccess& element = wait->access->element;
      const auto rank = resident.state.views[element.view].rank;
      info.waits_for = fmt::format("{}[{}] = {}", element.view_name,
                                   fmt::join(wait->index.begin(), wait->index.begin() + rank, ", "),
                                   wait->wanted);
    }
    shown.residents.push_back(std::move(info));
  }
  return shown;
}

/// Runs the launch once more with every check, on a copy of memory as it is when the launch begins.
reply::Race Session::races() {
  const Moment origin = timeline_->now();
  const std::size_t launch = std::min(machine().launch_index(), machine().launches().size() - 1);
  const auto begins = [&] { return !machine().finished() && machine().launch_index() < launch; };
  if (launch == 0) {
    timeline_->go_back_to(0);
  } else {
    // The step after the last moment of the launch before.
    const auto before = timeline_->search_back([&](bool, bool last) -> std::optional<Moment> {
      return !last && begins() ? std::optional(timeline_->now() + 1) : std::nullopt;
    });
    if (!before) return {};
  }
  std::vector<Buffer> memory;
  for (const Buffer& buffer : spec_.buffers) {
    memory.push_back({buffer.name, buffer.bytes, buffer.undefined, std::nullopt});
  }
  timeline_->go_back_to(origin);
  Result<Report> report = run_kernel(spec_.program, spec_.launches[launch].kernel,
                                     spec_.launches[launch].arguments, memory, spec_.options);
  if (!report) return {};
  return {std::move(report->fault)};
}

reply::Groups Session::groups() {
  reply::Groups shown;
  const BlockState* block = focus_block();
  if (block == nullptr) return shown;
  shown.committed = block->shared.groups;
  for (const PendingCopy& copy : block->shared.copies) {
    const SharedAccess& access = copy.plan->destination;
    shown.copies.push_back({source_line(spec_.program.source(), access.span.begin), access.tensor,
                            copy.stage, copy.group, copy.arrived, access.tile.bytes()});
  }
  const auto add = [&](const GroupProducts& products, const std::string& warps) {
    for (const PendingProduct& product : products.pending) {
      shown.products.push_back({source_line(spec_.program.source(), product.plan->span.begin),
                                product.plan->result_name, warps, product.group});
    }
  };
  const std::vector<PlannedGroup>& planned = machine().launch().plan().groups.groups;
  add(block->products, planned.empty() ? std::string() : planned[block->group].name);
  for (std::size_t i = 0; i < block->groups.size(); ++i) {
    if (i != block->group) add(block->groups[i].products, planned[i].name);
  }
  return shown;
}

reply::Barriers Session::barriers() {
  reply::Barriers shown;
  const BlockState* block = focus_block();
  if (block == nullptr) return shown;
  shown.epoch = block->shared.since_barrier.epoch - 2;  // a block begins with 2
  const Plan& plan = machine().launch().plan();
  for (std::size_t i = 0; i < plan.barriers.size(); ++i) {
    const std::size_t record = plan.barrier_records[i];
    shown.barriers.push_back({machine().launch().records()[record].line, plan.barriers[i].mnemonic,
                              machine().state().executed[record]});
  }
  return shown;
}

reply::Stats Session::stats() {
  reply::Stats shown;
  shown.steps = timeline_->now();
  if (machine().finished()) return shown;
  const Plan& plan = machine().launch().plan();
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    if (!machine().launch().records()[i].visible) continue;
    shown.statements.push_back({machine().launch().records()[i].line, plan.records[i].mnemonic,
                                machine().state().executed[i]});
  }
  return shown;
}

Reply Session::cost() {
  const auto resident = resident_of_focus();
  if (!resident) return Error{ErrorKind::usage, "no block runs any more"};
  reply::Cost shown;
  shown.position = position();
  const BlockState& block = machine().state().residents[*resident]->state;
  // Records of a plan that counts are in the same order.
  const Plan counting =
      build_plan(spec_.program, machine().launch().kernel_index(), {.count_accesses = true});
  if (block.next >= counting.records.size()) return shown;
  const Meter& meter = counting.records[block.next].meter;
  if (!meter) return shown;
  shown.moves = true;
  MeterCache cache;
  meter(block, cache, shown.counts);
  return shown;
}

reply::Scalars Session::scalars() {
  reply::Scalars shown;
  const auto resident = resident_of_focus();
  if (!resident) return shown;
  const isa::Kernel& kernel = machine().launch().kernel();
  const BlockState& block = machine().state().residents[*resident]->state;
  const Names look = names();
  for (const isa::VarId var : look.live()) {
    const auto* type = std::get_if<isa::ScalarType>(&kernel.variable(var).type);
    if (type == nullptr || look.variable(look.name_of(var)) != var) continue;
    shown.scalars.push_back(
        {look.name_of(var), {type->kind, block.scalars[static_cast<std::size_t>(var.index)]}});
  }
  return shown;
}

/// Scalars, register tiles and shared tensors; views and the run's tensors are not variables of the
/// block alone.
reply::Locals Session::locals() {
  reply::Locals shown{scalars(), {}};
  if (!resident_of_focus()) return shown;
  const isa::Kernel& kernel = machine().launch().kernel();
  const Names look = names();
  for (const isa::VarId var : look.live()) {
    const std::string& name = kernel.variable(var).name;
    if (name.starts_with('(') || look.variable(name) != var) continue;
    const auto tensor = look.tensor_of(var);
    if (!tensor || std::holds_alternative<GlobalPlace>(tensor->place)) continue;
    shown.tensors.tensors.push_back(
        {name, fmt::format("{}[{}]", isa::to_string(tensor->dtype), fmt::join(tensor->shape, ", ")),
         look.last_written(var)});
  }
  return shown;
}

reply::Tensors Session::tensors() {
  reply::Tensors shown;
  const auto add = [&](const Tensor& tensor, Moment written) {
    shown.tensors.push_back(
        {tensor.name,
         fmt::format("{}[{}]", isa::to_string(tensor.dtype), fmt::join(tensor.shape, ", ")),
         written});
  };
  const Names look = names();
  if (resident_of_focus()) {
    for (const isa::VarId var : look.live()) {
      if (const auto tensor = look.tensor_of(var)) add(*tensor, look.last_written(var));
    }
  }
  for (const Buffer& buffer : spec_.buffers) {
    if (const auto tensor = look.tensor(buffer.name)) add(*tensor, 0);
  }
  return shown;
}

reply::Breakpoints Session::breakpoints() const {
  reply::Breakpoints shown;
  for (const auto& [number, breakpoint] : breakpoints_) {
    shown.list.push_back({number, breakpoint.name, breakpoint.line.value_or(SourceLine{}),
                          breakpoint.condition ? breakpoint.condition->text : "", breakpoint.hits,
                          breakpoint.enabled, breakpoint.temporary, false});
  }
  for (const Watchpoint& watch : watchpoints_) {
    shown.list.push_back({watch.number,
                          watch.what.text,
                          {},
                          watch.condition ? watch.condition->text : "",
                          watch.hits,
                          watch.enabled,
                          false,
                          true});
  }
  std::sort(shown.list.begin(), shown.list.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return shown;
}

}  // namespace tilevm::sim::debug
