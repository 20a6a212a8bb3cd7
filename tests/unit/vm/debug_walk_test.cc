// Time travel is exact: wherever a debugged run is, and however it came there, the state is that of
// the run that only went forward.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "sim/debug/session.h"
#include "tests/unit/vm/commands_support.h"
#include "vm/cli/cmd_support.h"
#include "vm/data/hash.h"
#include "vm/debug/open.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;
using sim::debug::Moment;
namespace command = sim::debug::command;

struct Subject {
  std::string program;
  std::vector<std::string> defines;
};

struct Opened {
  isa::VerifiedProgram program;
  Entry entry;
  std::unique_ptr<sim::debug::Session> session;
};

Loaded load_subject(const Subject& subject) {
  Streams streams;
  ProgramOptions options;
  options.file = std::string(TILEVM_SOURCE_DIR) + "/programs/" + subject.program + ".tile";
  options.defines = subject.defines;
  Result<Loaded> loaded = load_program(options, default_target, streams.io);
  REQUIRE(loaded.ok());
  REQUIRE(loaded->program.has_value());
  return *std::move(loaded);
}

Opened open(const Subject& subject, std::size_t memory, double distance) {
  const Loaded loaded = load_subject(subject);
  Result<Entry> entry = resolve_entry(*loaded.program, "", {});
  REQUIRE(entry.ok());
  Result<std::vector<HostTensor>> tensors = make_tensors(*entry, {7, true});
  REQUIRE(tensors.ok());
  DebugOptions options;
  options.timeline.memory = memory;
  options.timeline.distance = distance;
  auto session = open_session(*loaded.program, *entry, *tensors, options);
  REQUIRE(session.ok());
  return {*loaded.program, *entry, *std::move(session)};
}

std::uint64_t hash_of(sim::debug::Session& session) {
  const sim::debug::Reply reply = session.execute(command::Hash{});
  return std::get<sim::debug::reply::HashShown>(reply).hash;
}

/// The hash of every state of a run that only goes forward, at most `most` of them.
std::vector<std::uint64_t> hashes_forward(const Subject& subject, Moment most) {
  Opened opened = open(subject, std::size_t{512} << 20, 1e9);
  std::vector<std::uint64_t> hashes{hash_of(*opened.session)};
  sim::debug::Timeline& timeline = opened.session->timeline();
  while (!timeline.machine().finished() && timeline.now() < most) {
    REQUIRE_FALSE(timeline.step().has_value());
    hashes.push_back(hash_of(*opened.session));
  }
  return hashes;
}

/// A movement of any kind, but not beyond the last known state.
void move(sim::debug::Session& session, std::mt19937& random, Moment last) {
  const auto pick = [&](std::uint32_t n) { return random() % n; };
  switch (pick(6)) {
    case 0:
      session.execute(command::Step{1 + pick(5), pick(2) == 0, true});
      return;
    case 1:
      session.execute(command::Step{1 + pick(5), pick(2) == 0, false});
      return;
    case 2:
      session.execute(command::Finish{pick(2) == 0});
      return;
    case 3:
      session.execute(command::Continue{1, true});
      return;
    case 4:
      session.execute(command::Continue{1, false});
      return;
    case 5:
      session.execute(command::GoTo{random() % (last + 1)});
      return;
  }
}

void walk(const Subject& subject, std::size_t memory, double distance) {
  CAPTURE(subject.program);
  const std::vector<std::uint64_t> hashes = hashes_forward(subject, 1500);
  const Moment last = hashes.size() - 1;
  Opened opened = open(subject, memory, distance);
  sim::debug::Session& session = *opened.session;
  std::mt19937 random(static_cast<std::uint32_t>(last));
  session.execute(command::Break{{}, "StoreGlobal", nullptr, 0, false});
  session.execute(command::Break{{}, "Synchronize", nullptr, 2, false});
  for (int i = 0; i < 60; ++i) {
    move(session, random, last);
    const Moment now = session.timeline().now();
    CAPTURE(i);
    CAPTURE(now);
    if (now <= last) {
      REQUIRE(hash_of(session) == hashes[now]);
    } else {
      session.execute(command::GoTo{last});
    }
  }
  // To the end from wherever that was: the results are those of `tilevm run`.
  session.execute(command::Delete{});
  session.execute(command::Continue{});
  REQUIRE(session.timeline().machine().finished());
  Result<std::vector<HostTensor>> tensors = make_tensors(opened.entry, {7, true});
  auto engine = make_engine("sim", {.threads = 1});
  RunReport report;
  REQUIRE_FALSE((*engine)->run(opened.program, opened.entry, *tensors, report).has_value());
  const auto& launch = *session.timeline().machine().launches().back();
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    const sim::MemoryBuffer& buffer = launch.memory()[launch.workspaces() + i];
    CAPTURE(opened.entry.tensors[i].name);
    CHECK(std::vector(buffer.data, buffer.data + buffer.bytes) == (*tensors)[i].data);
  }
}

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all{
      {"figure2", {"M=32", "N=16", "K=48"}},
      {"matmul_f16_i6", {"M=20", "N=16", "K=32"}},
      {"matmul_f16_pipelined", {"M=70", "N=64", "K=96"}},
      {"quantized_matmul/few_rows", {"M=16", "N=64", "K=64"}},
      {"reduction", {"M=5", "N=77", "THREADS=64"}},
      {"split_k_matmul", {"M=64", "N=64", "K=256", "SPLIT=3"}},
      {"stream_k_matmul", {"M=64", "N=128", "K=64", "BLOCKS=5"}},
      {"transpose", {"M=70", "N=45"}},
      {"vector_add", {"N=5000"}},
  };
  return all;
}

TEST_CASE("debug: every way to a moment of a shipped program gives the same state") {
  for (const Subject& subject : subjects()) walk(subject, std::size_t{512} << 20, 0);
}

TEST_CASE("debug: so it is when snapshots find little room") {
  for (const Subject& subject : {subjects()[0], subjects()[2], subjects()[5], subjects()[7]}) {
    walk(subject, std::size_t{1} << 20, 0);
  }
}

TEST_CASE("debug: snapshots stay under their limit") {
  constexpr std::size_t limit = std::size_t{2} << 20;
  Opened opened = open({"figure2", {"M=256", "N=256", "K=256"}}, limit, 0);
  opened.session->execute(command::Continue{});
  const sim::debug::SnapshotUse use = opened.session->timeline().use();
  CHECK(use.count > 3);
  CHECK(use.bytes <= limit);
  const Moment last = opened.session->timeline().now();
  const std::uint64_t end = hash_of(*opened.session);
  opened.session->execute(command::GoTo{last / 3});
  CHECK(opened.session->timeline().now() == last / 3);
  opened.session->execute(command::Continue{});
  CHECK(hash_of(*opened.session) == end);
}

TEST_CASE("debug: a change by hand stays where it was made") {
  Opened opened = open({"figure2", {"M=16", "N=8", "K=32"}}, std::size_t{512} << 20, 0);
  sim::debug::Session& session = *opened.session;
  session.execute(command::Break{{}, "StoreGlobal", nullptr, 0, false});
  session.execute(command::Continue{});
  const sim::debug::Selection one{"acc", {{3, {}, true}, {5, {}, true}}, {}, "acc[3, 5]"};
  const auto code = [&](sim::debug::Session& at) {
    return std::get<sim::debug::reply::Tile>(at.execute(command::Print{one})).elements.front().code;
  };
  const std::uint64_t before = code(session);
  const Moment changed = session.timeline().now();
  session.execute(command::Set{one, std::make_shared<const sim::debug::Expression>(
                                        sim::debug::Expression{sim::debug::Value(2.5), "2.5"})});
  CHECK(code(session) == 0x4100);  // 2.5 in f16
  const std::uint64_t hash = hash_of(session);
  session.execute(command::Step{3, false, true});
  CHECK(hash_of(session) != hash);
  session.execute(command::GoTo{changed});
  CHECK(hash_of(session) == hash);
  CHECK(before != 0x4100);
  session.execute(command::Continue{});
  CHECK(session.timeline().machine().finished());
  const sim::debug::Selection out{"c_ptr", {{3, {}, true}, {5, {}, true}}, {}, "c_ptr[3, 5]"};
  const auto shown = session.execute(command::Print{out});
  CHECK(std::get<sim::debug::reply::Tile>(shown).elements.front().code == 0x4100);
}

}  // namespace
