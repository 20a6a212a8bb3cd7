// The random programs that the oracle of groups of warps explores, and their text.
#include <algorithm>
#include <array>
#include <string>

#include "tests/unit/sim/groups_oracle.h"

namespace tilevm::sim::testing {
namespace {

using Kind = GroupOp::Kind;

constexpr int rows = 2;
constexpr const char* across = "spatial(2, 64).local(32, 1)";

std::string text_of(const GroupOp& op, const std::string& pad, int number, bool multiplies) {
  const std::string warps = multiplies ? "8" : "2", inner = multiplies ? ", 0:, 0:])" : ", 0:])";
  const std::string row = std::to_string(op.object);
  const std::array<std::string, 4> parity{"0", "1", "k % 2", "(k + 1) % 2"};
  const std::string loaded = pad + "x" + std::to_string(number) + " = ";
  switch (op.kind) {
    case Kind::write:
      return pad + "StoreShared(mine, s, offset=[" + row + inner + "\n";
    case Kind::read:
      return loaded + "LoadShared(s, layout=spatial(32), offset=[" + row + ", 0:])\n";
    case Kind::read_next:
      return loaded + "LoadShared(s, layout=spatial(32), offset=[" + row + ", 1:])\n";
    case Kind::arrive:
      return pad + "Arrive(b" + row + ")\n";
    case Kind::arrive_elected:
      return pad + "with single_thread():\n" + pad + "    Arrive(b" + row + ")\n";
    case Kind::wait:
      return pad + "WaitBarrier(b" + row +
             ", parity=" + parity[static_cast<std::size_t>(op.parity)] + ")\n";
    case Kind::synchronize:
      return pad + "Synchronize()\n";
    case Kind::named_sync:
      return pad + "SyncNamedBarrier(1, warps=" + warps + ")\n";
    case Kind::named_arrive:
      return pad + "ArriveNamedBarrier(1, warps=" + warps + ")\n";
    case Kind::read_all:
      return loaded + "LoadShared(s, layout=" + across + ", offset=[" + row + ", 0:, 0:])\n";
    case Kind::fence:
      return pad + "FenceProxy()\n";
    case Kind::product:
      return pad + "DotAsync(s, t, acc, a_offset=[" + row + ", 0:, 0:], out=acc)\n" + pad +
             "DotAsyncCommitGroup()\n";
    case Kind::product_wait:
      return pad + "DotAsyncWaitGroup(0)\n";
    case Kind::use_sum:
      return loaded + "acc + 1.0\n";
  }
  return "";
}

int draw(std::mt19937_64& random, int below) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(below));
}

GroupOp random_op(std::mt19937_64& random, int barriers) {
  GroupOp op;
  op.kind = static_cast<Kind>(draw(random, 9));
  const bool is_access =
      op.kind == Kind::write || op.kind == Kind::read || op.kind == Kind::read_next;
  op.object = draw(random, is_access ? rows : barriers);
  if (op.kind == Kind::synchronize || op.kind == Kind::named_sync ||
      op.kind == Kind::named_arrive) {
    op.object = 0;
  }
  if (op.kind == Kind::wait) op.parity = draw(random, 4);
  return op;
}

GroupOp random_product_op(std::mt19937_64& random, int barriers) {
  constexpr std::array kinds{Kind::write,        Kind::arrive,       Kind::arrive_elected,
                             Kind::wait,         Kind::synchronize,  Kind::named_sync,
                             Kind::named_arrive, Kind::read_all,     Kind::fence,
                             Kind::product,      Kind::product_wait, Kind::use_sum};
  GroupOp op;
  op.kind = kinds[static_cast<std::size_t>(draw(random, static_cast<int>(kinds.size())))];
  switch (op.kind) {
    case Kind::write:
    case Kind::read_all:
    case Kind::product:
      op.object = draw(random, rows);
      break;
    case Kind::arrive:
    case Kind::arrive_elected:
    case Kind::wait:
      op.object = draw(random, barriers);
      if (op.kind == Kind::wait) op.parity = draw(random, 4);
      break;
    default:
      break;
  }
  return op;
}

GroupOp some_op(const GroupProgram& program, std::mt19937_64& random, int barriers) {
  return program.multiplies ? random_product_op(random, barriers) : random_op(random, barriers);
}

/// A producer and a consumer with a barrier in each direction.
GroupProgram handshake(std::mt19937_64& random) {
  GroupProgram program;
  program.iterations = 1 + draw(random, 2);
  const bool full_by_one = draw(random, 2) == 0, empty_by_one = draw(random, 2) == 0;
  program.arrivals = {full_by_one ? 1 : 32, empty_by_one ? 1 : 32};
  const auto arrive = [](std::vector<GroupOp>& ops, int barrier, bool by_one) {
    if (by_one) ops.push_back({Kind::synchronize, 0, 0});
    ops.push_back({by_one ? Kind::arrive_elected : Kind::arrive, barrier, 0});
  };
  std::vector<GroupOp> producer, consumer;
  producer.push_back({Kind::wait, 1, 3});
  producer.push_back({Kind::write, 0, 0});
  if (draw(random, 3) == 0) producer.push_back({Kind::write, 1, 0});
  arrive(producer, 0, full_by_one);
  consumer.push_back({Kind::wait, 0, 2});
  consumer.push_back({draw(random, 2) == 0 ? Kind::read : Kind::read_next, 0, 0});
  arrive(consumer, 1, empty_by_one);
  program.groups = {producer, consumer};
  return program;
}

/// Two groups that take turns by a named barrier, or use rows of their own.
GroupProgram turns(std::mt19937_64& random) {
  GroupProgram program;
  program.iterations = 1 + draw(random, 2);
  program.arrivals = {32, 1};
  program.groups = {{{Kind::write, 0, 0}, {Kind::named_sync, 0, 0}, {Kind::read_next, 1, 0}},
                    {{Kind::write, 1, 0}, {Kind::named_sync, 0, 0}, {Kind::read, 0, 0}}};
  if (program.iterations == 2) {
    for (auto& ops : program.groups) ops.push_back({Kind::named_sync, 0, 0});
  }
  return program;
}

/// A group stores a matrix for another one that multiplies by it.
GroupProgram product_handshake(std::mt19937_64& random) {
  GroupProgram program;
  program.multiplies = true;
  program.iterations = 1 + draw(random, 2);
  const bool full_by_one = draw(random, 2) == 0, empty_by_one = draw(random, 2) == 0;
  program.arrivals = {full_by_one ? 1 : 128, empty_by_one ? 1 : 128};
  const auto arrive = [](std::vector<GroupOp>& ops, int barrier, bool by_one) {
    if (by_one) ops.push_back({Kind::synchronize, 0, 0});
    ops.push_back({by_one ? Kind::arrive_elected : Kind::arrive, barrier, 0});
  };
  std::vector<GroupOp> producer{{Kind::wait, 1, 3}, {Kind::write, 0, 0}},
      consumer{{Kind::wait, 0, 2}};
  const bool consumer_fences = draw(random, 4) == 0;
  if (!consumer_fences) producer.push_back({Kind::fence, 0, 0});
  arrive(producer, 0, full_by_one);
  if (consumer_fences) consumer.push_back({Kind::fence, 0, 0});
  consumer.push_back({Kind::product, 0, 0});
  consumer.push_back({Kind::product_wait, 0, 0});
  if (draw(random, 3) == 0) consumer.push_back({Kind::use_sum, 0, 0});
  arrive(consumer, 1, empty_by_one);
  program.groups = {producer, consumer};
  return program;
}

void change(GroupProgram& program, std::mt19937_64& random) {
  auto& ops = program.groups[static_cast<std::size_t>(draw(random, 2))];
  const auto at = static_cast<std::size_t>(draw(random, static_cast<int>(ops.size()) + 1));
  const int barriers = static_cast<int>(program.arrivals.size());
  switch (draw(random, 6)) {
    case 0:
      if (at < ops.size() && ops.size() > 1)
        ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      if (ops.size() < (program.multiplies ? 7U : 6U)) {
        ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(at),
                   some_op(program, random, barriers));
      }
      break;
    case 2:
      if (at < ops.size()) ops[at] = some_op(program, random, barriers);
      break;
    case 3:
      if (at + 1 < ops.size()) std::swap(ops[at], ops[at + 1]);
      break;
    case 4:
      program.arrivals[static_cast<std::size_t>(draw(random, barriers))] =
          std::array{1, 2, 32, 33, 64}[static_cast<std::size_t>(draw(random, 5))] *
          (program.multiplies && draw(random, 2) == 0 ? 4 : 1);
      break;
    default:
      if (at < ops.size() && ops[at].kind == Kind::wait) ops[at].parity = draw(random, 4);
      break;
  }
}

}  // namespace

std::string GroupProgram::text(std::vector<std::vector<int>>& lines) const {
  std::string text = "def f<1>(i32* y_ptr):\n";
  text += multiplies
              ? "    s = AllocateShared(f16, shape=[2, 64, 64], layout=memory_layout([2, 64, 64], "
                "[2, 64, 1, 64], [4096, 64, 4096, 1]).swizzle(3, 3, 3))\n"
                "    t = AllocateShared(f16, shape=[1, 64, 8], layout=memory_layout([1, 64, 8], "
                "[1, 1, 64, 8], [512, 512, 1, 64]).swizzle(3, 3, 3))\n"
              : "    s = AllocateShared(i32, shape=[2, 64])\n";
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    text += "    b" + std::to_string(i) +
            " = AllocateBarrier(arrivals=" + std::to_string(arrivals[i]) + ")\n";
  }
  text += multiplies
              ? "    StoreShared(AllocateRegister(f16, layout=spatial(2, 16, 8).local(1, 4, 8), "
                "init=0.0), s)\n"
                "    StoreShared(AllocateRegister(f16, layout=spatial(1, 32, 8).local(1, 2, 1), "
                "init=0.0), t)\n"
                "    FenceProxy()\n"
              : "    StoreShared(AllocateRegister(i32, layout=replicated(2).local(2, 2).spatial(1, "
                "32), init=0), s)\n";
  text += "    Synchronize()\n";
  int number = 0;
  lines.assign(groups.size(), {});
  const std::size_t warps = multiplies ? 4 : 1;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string value = std::to_string(g);
    text += "    with warps(" + std::to_string(warps * g) + ", " + std::to_string(warps * (g + 1)) +
            "):\n        mine = AllocateRegister(";
    text += multiplies ? "f16, layout=spatial(16, 8).local(4, 8), init=" + value + ".0)\n" +
                             "        acc = AllocateRegister(f32, layout=" +
                             "spatial(4, 1).local(2, 1).spatial(8, 4).local(1, 2), init=0.0)\n"
                       : "i32, layout=spatial(32), init=" + value + ")\n";
    text += "        for k in range(" + std::to_string(iterations) + "):\n";
    for (const GroupOp& op : groups[g]) {
      const auto before = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
      text += text_of(op, "            ", number++, multiplies);
      lines[g].push_back(before + (op.kind == Kind::arrive_elected ? 2 : 1));
    }
    if (multiplies) text += "        DotAsyncWaitGroup(0)\n";
  }
  return text;
}

GroupProgram random_group_program(std::mt19937_64& random) {
  GroupProgram program = draw(random, 3) == 0 ? turns(random) : handshake(random);
  for (int changes = draw(random, 4); changes > 0; --changes) change(program, random);
  return program;
}

GroupProgram random_product_program(std::mt19937_64& random) {
  GroupProgram program = product_handshake(random);
  for (int changes = draw(random, 3); changes > 0; --changes) change(program, random);
  return program;
}

}  // namespace tilevm::sim::testing
