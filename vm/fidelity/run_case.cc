#include "vm/fidelity/run_case.h"

#include <algorithm>
#include <future>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/render.h"
#include "isa/type/bits.h"
#include "vm/data/hash.h"

namespace tilevm::vm::fidelity {

namespace {

/// Tensors of one launch, on one engine. Two engines and what was drawn are three of them.
constexpr std::size_t launch_bytes = std::size_t{256} << 20;

std::size_t block_elements(const Part& part) {
  return static_cast<std::size_t>(
      std::accumulate(part.block.begin(), part.block.end(), std::int64_t{1}, std::multiplies<>()));
}

std::size_t block_bits(const Part& part) { return block_elements(part) * part.stored.bits; }

std::int64_t blocks_in_a_launch(const Case& each) {
  std::size_t bits = 0;
  for (const Part& part : each.operands) bits += block_bits(part);
  for (const Part& part : each.results) bits += block_bits(part);
  return static_cast<std::int64_t>(std::max<std::size_t>(1, launch_bytes * 8 / bits));
}

/// The tensors of `count` blocks, zero, and the launch that uses them.
Status add_tensors(const Case& each, std::int64_t count, Job& job) {
  for (const auto* parts : {&each.operands, &each.results}) {
    for (const Part& part : *parts) {
      isa::Shape shape{count};
      shape.insert(shape.end(), part.block.begin(), part.block.end());
      Result<HostTensor> tensor = make_tensor(part.stored, shape, part.name);
      if (!tensor) return tensor.error();
      const bool input = parts == &each.operands;
      job.entry.launches[0].arguments.emplace_back(static_cast<int>(job.tensors.size()));
      job.entry.tensors.push_back({part.name, part.stored, shape, input, !input, {}, {}});
      job.tensors.push_back(*std::move(tensor));
    }
  }
  job.entry.launches[0].arguments.emplace_back(isa::Scalar::i32(static_cast<std::int32_t>(count)));
  return Done{};
}

/// `count` codes of a tensor, `step` elements apart.
std::string codes_text(const HostTensor& tensor, std::size_t first, std::size_t step,
                       std::size_t count) {
  std::vector<std::string> codes;
  for (std::size_t i = 0; i < count; ++i) {
    codes.push_back(fmt::format("0x{:x}", tensor.code(first + i * step)));
  }
  return fmt::format("{}", fmt::join(codes, " "));
}

/// The codes that element `at` of a result was computed from.
std::string operand_text(const Case& each, const std::vector<HostTensor>& tensors, std::size_t at) {
  const isa::Shape& result = each.results[0].block;
  if (each.operands[0].block != result) {  // a matrix product
    const auto n = static_cast<std::size_t>(result[1]);
    const auto k = static_cast<std::size_t>(each.operands[0].block[1]);
    const std::size_t block = at / block_elements(each.results[0]);
    return fmt::format("a = {}, b = {}, c = {}", codes_text(tensors[0], at / n * k, 1, k),
                       codes_text(tensors[1], block * k * n + at % n, n, k),
                       codes_text(tensors[2], at, 1, 1));
  }
  std::vector<std::string> codes;
  for (std::size_t i = 0; i < each.operands.size(); ++i) {
    codes.push_back(fmt::format("{} = 0x{:x}", each.operands[i].name, tensors[i].code(at)));
  }
  return fmt::format("{}", fmt::join(codes, ", "));
}

std::vector<Outcome> name_outcomes(const Case& each) {
  std::vector<Outcome> outcomes;
  for (const Part& result : each.results) outcomes.push_back({result.name, {}, 0, {}});
  return outcomes;
}

void take_hashes(const Job& job, std::vector<Outcome>& outcomes) {
  const std::size_t operands = job.tensors.size() - outcomes.size();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i].hash = format_hash(content_hash(job.tensors[operands + i]));
  }
}

/// Runs blocks on both engines; memory is used again as long as their number stays the same.
class Comparer {
 public:
  Comparer(const Case& each, const isa::Target& target)
      : each_(each), target_(target), outcomes_(name_outcomes(each)) {}

  [[nodiscard]] const std::vector<Outcome>& outcomes() const { return outcomes_; }
  Status run(std::uint64_t seed, std::int64_t first, std::int64_t count, Engine& device,
             Engine& simulator);

 private:
  /// Counts the elements in which the results differ.
  void compare(std::int64_t first_block);

  const Case& each_;
  isa::Target target_;
  std::vector<Outcome> outcomes_;
  std::vector<Job> jobs_;  // the device's, the simulator's
};

}  // namespace

Result<Job> make_job(const Case& each, const isa::Target& target, std::int64_t count) {
  const auto source = std::make_shared<const SourceFile>(each.name, each.text);
  const Loaded loaded = load(source, {}, target);
  if (!loaded.program) {
    return Error{ErrorKind::program, render(loaded.diagnostics, *loaded.source, false)};
  }
  Job job{*loaded.program, {"f", false, {}, {isa::Launch{}}}, {}};
  if (Status added = add_tensors(each, count, job); !added) return added.error();
  return job;
}

void draw(const Case& each, std::uint64_t seed, std::int64_t first, Job& job) {
  const std::int64_t count = job.tensors[0].shape[0];
  const auto draw_block = [&](std::int64_t block) {
    const auto codes = each.draw(first + block < each.kept ? 0 : seed, first + block);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(block) * block_bits(each.operands[i]);
      isa::pack_bits(job.tensors[i].data.data(), at, job.tensors[i].dtype.bits, codes[i]);
    }
  };
  const std::int64_t workers = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, 64);
  std::vector<std::thread> threads;
  for (std::int64_t w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      for (std::int64_t i = count * w / workers; i < count * (w + 1) / workers; ++i) draw_block(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Status run_job(Job& job, Engine& engine) {
  RunReport report;
  const std::optional<Failure> failure = engine.run(job.program, job.entry, job.tensors, report);
  if (!failure) return Done{};
  if (const auto* error = std::get_if<Error>(&*failure)) return *error;
  return Error{ErrorKind::program,
               render(std::get<Diagnostics>(*failure), job.program.source(), false)};
}

Result<std::vector<Outcome>> run_kept(const Case& each, const isa::Target& target, Engine& engine) {
  Result<Job> job = make_job(each, target, each.kept);
  if (!job) return job.error();
  draw(each, 0, 0, *job);
  if (Status done = run_job(*job, engine); !done) return done.error();
  std::vector<Outcome> outcomes = name_outcomes(each);
  take_hashes(*job, outcomes);
  return outcomes;
}

Status Comparer::run(std::uint64_t seed, std::int64_t first, std::int64_t count, Engine& device,
                     Engine& simulator) {
  if (jobs_.empty() || jobs_[0].tensors[0].shape[0] != count) {
    jobs_.clear();
    Result<Job> made = make_job(each_, target_, count);
    if (!made) return made.error();
    jobs_.assign(2, *std::move(made));
  }
  Job &seen = jobs_[0], &expected = jobs_[1];
  draw(each_, seed, first, seen);
  const auto operands = static_cast<std::ptrdiff_t>(each_.operands.size());
  std::copy_n(seen.tensors.begin(), operands, expected.tensors.begin());
  std::future<Status> simulated =
      std::async(std::launch::async, [&] { return run_job(expected, simulator); });
  const Status done = run_job(seen, device);
  const Status expected_done = simulated.get();
  if (!done) return done;
  if (!expected_done) return expected_done;
  if (first == 0) take_hashes(seen, outcomes_);
  compare(first);
  return Done{};
}

void Comparer::compare(std::int64_t first_block) {
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    const std::size_t at = each_.operands.size() + i;
    const HostTensor &seen = jobs_[0].tensors[at], &expected = jobs_[1].tensors[at];
    if (seen.data == expected.data) continue;
    for (std::size_t k = 0, size = seen.size(); k < size; ++k) {
      if (seen.code(k) == expected.code(k) || outcomes_[i].different++ > 0) continue;
      outcomes_[i].first = fmt::format("{} from block {} on: device 0x{:x}, simulator 0x{:x}, {}",
                                       format_index(seen.shape, k), first_block, seen.code(k),
                                       expected.code(k), operand_text(each_, jobs_[1].tensors, k));
    }
  }
}

Result<std::vector<Outcome>> compare_case(const Case& each, const isa::Target& target,
                                          std::uint64_t seed, std::int64_t blocks, Engine& device,
                                          Engine& simulator) {
  Comparer comparer(each, target);
  const std::int64_t most = blocks_in_a_launch(each);
  for (std::int64_t first = 0; first < blocks;) {
    const std::int64_t count = first == 0 ? each.kept : std::min(most, blocks - first);
    if (Status done = comparer.run(seed, first, count, device, simulator); !done) {
      return done.error();
    }
    first += count;
  }
  return comparer.outcomes();
}

}  // namespace tilevm::vm::fidelity
