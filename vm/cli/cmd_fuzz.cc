#include <charconv>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/fuzz/campaign.h"
#include "vm/fuzz/corpus.h"

namespace tilevm::vm {

namespace {

using fuzz::CampaignOptions;
using fuzz::CampaignReport;
using fuzz::Corpus;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

Result<fuzz::SeedRange> parse_range(const FuzzOptions& options) {
  const std::string_view seeds = options.seeds, shard = options.shard;
  const std::size_t dots = seeds.find(".."), slash = shard.find('/');
  const auto first = whole_number(seeds.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : whole_number(seeds.substr(dots + 2));
  if (!first || !last || *first > *last || *last > fuzz::most_seed) {
    return Error{ErrorKind::usage,
                 fmt::format("--seeds `{}` is not a range: write A..B with A <= B", seeds)};
  }
  const bool parts = slash != std::string_view::npos;
  const std::uint64_t count = parts ? whole_number(shard.substr(slash + 1)).value_or(0) : 0;
  const std::uint64_t index = whole_number(shard.substr(0, slash)).value_or(count);
  const fuzz::SeedRange range{*first, *last, index, count};
  if (fuzz::is_valid(range)) return range;
  return Error{ErrorKind::usage,
               fmt::format("--shard `{}` is not a part: write I/N with I from 0 to N - 1, and N up "
                           "to {}",
                           shard, fuzz::most_shards)};
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return words;
}

/// The engines of `--engines`. If it is left out, the emulated GPU is one of them where there is a
/// C++ compiler: its runs also check the order of events of the machine program.
std::vector<std::string> engines_of(const FuzzOptions& options) {
  if (!options.backends.empty()) return split(options.backends);
  std::vector<std::string> names = {"sim", "naive"};
  if (make_engine("emu:O0", {})) names.emplace_back("emu:O0");
  return names;
}

/// The target that an engine demands, unless the user names one.
Result<isa::Target> target_of(const FuzzOptions& options,
                              const std::vector<std::string>& backends) {
  std::string name = options.target;
  for (const std::string& backend : backends) {
    if (!name.empty() || backend == "naive" || options.plant) continue;
    const Result<std::unique_ptr<Engine>> engine = make_engine(backend, {});
    if (!engine) return engine.error();
    if ((*engine)->target()) name = target_for(**engine);
  }
  const Result<isa::Target> target =
      isa::parse_target(name.empty() ? std::string(default_target) : name);
  if (!target) return Error{ErrorKind::usage, target.error().message};
  return target;
}

Json findings_json(const CampaignReport& report) {
  Json list = Json::array();
  for (const auto& [signature, known] : report.findings) {
    Json each = Json::object();
    each.set("signature", signature).set("count", known.count).set("seed", known.first_seed);
    each.set("detail", known.finding.detail).set("file", known.file);
    each.set("bundle", known.bundle).set("text", known.text);
    list.push(std::move(each));
  }
  return list;
}

std::uint64_t failing_programs(const CampaignReport& report) {
  std::uint64_t failing = 0;
  for (const auto& [signature, known] : report.findings) failing += known.count;
  return failing;
}

std::string progress_line(const CampaignReport& report, const CampaignOptions& campaign) {
  const double rate =
      report.seconds > 0 ? static_cast<double>(report.programs) / report.seconds : 0;
  const std::size_t all = fuzz::whole_schema(campaign.target).size();
  const std::size_t used = all - fuzz::missing_of(report.coverage, campaign.target).size();
  const std::string detail = campaign.plant
                                 ? fmt::format("{} planted faults reported", report.planted)
                                 : fmt::format("schema {} of {}", used, all);
  return fmt::format("{} programs, {:.0f} a second, {}, {} failing, {} signatures", report.programs,
                     rate, detail, failing_programs(report), report.findings.size());
}

void show_findings(const CampaignReport& report, Io& io) {
  for (const auto& [signature, known] : report.findings) {
    const std::string count =
        known.count > 0 ? fmt::format("{}x", known.count) : std::string("in an earlier run");
    io.out << fmt::format("{}: {}, first by seed {}{}{}\n",
                          paint(signature, Style::red, io.color_out), count, known.first_seed,
                          known.file.empty() ? "" : ", kept in " + known.file,
                          known.bundle.empty() ? "" : " and " + known.bundle);
    io.out << known.finding.detail << "\n";
    if (known.file.empty()) io.out << known.text << "\n";
  }
}

void show_report(const CampaignReport& report, const CampaignOptions& campaign, Io& io) {
  const fuzz::Coverage missing = fuzz::missing_of(report.coverage, campaign.target);
  if (!campaign.plant && !missing.empty() && missing.size() < 40) {
    io.err << fmt::format("not used yet: {}\n", fmt::join(missing, ", "));
  }
  show_findings(report, io);
  if (report.avoided > 0) {
    io.out << fmt::format("{} programs with known signatures\n", report.avoided);
  }
  if (campaign.plant) {
    io.out << fmt::format("{} planted faults, each reported at its statement; {} others\n",
                          report.planted, report.findings.size());
  } else if (report.findings.empty()) {
    io.out << fmt::format("{} programs, all engines agree\n", report.programs - report.avoided);
  }
}

Exit run_seeds(const CampaignOptions& campaign, Reporter& reporter) {
  Io& io = reporter.io();
  double told = 0;
  const auto tell = [&](const CampaignReport& report) {
    if (report.seconds < told + 2) return;
    told = report.seconds;
    io.err << progress_line(report, campaign) << std::endl;
  };
  const Result<CampaignReport> report = fuzz::run_campaign(campaign, tell);
  if (!report) return reporter.fail(report.error());
  io.err << progress_line(*report, campaign) << '\n';
  Json not_covered = Json::array();
  for (const std::string& item : fuzz::missing_of(report->coverage, campaign.target)) {
    not_covered.push(item);
  }
  reporter.set("programs", report->programs);
  reporter.set("planted", report->planted);
  reporter.set("seconds", report->seconds);
  reporter.set("avoided", report->avoided);
  reporter.set("out_of_time", report->out_of_time);
  reporter.set("not_covered", std::move(not_covered));
  reporter.set("findings", findings_json(*report));
  if (!reporter.json()) show_report(*report, campaign, io);
  return reporter.finish(report->findings.empty() ? Exit::ok : Exit::fault);
}

/// What a corpus has of one kind of work.
struct WorkDone {
  std::vector<fuzz::SeedRange> seeds;
  std::uint64_t programs = 0;
  double seconds = 0;
};

/// The lines of a corpus, and its cases.
Exit show_corpus(const Corpus& corpus, Reporter& reporter) {
  std::map<fuzz::Work, WorkDone> works;
  for (const fuzz::Progress& each : corpus.progress()) {
    WorkDone& done = works[each.work];
    done.seeds.push_back(each.seeds);
    done.programs += each.programs;
    done.seconds += each.seconds;
  }
  Json list = Json::array();
  std::string text;
  for (const auto& [work, done] : works) {
    const Result<std::uint64_t> seeds = fuzz::count_seeds(done.seeds);
    if (!seeds) return reporter.fail(seeds.error());
    Json item = Json::object();
    item.set("engines", work.engines).set("target", work.target).set("seeds", *seeds);
    list.push(item.set("programs", done.programs).set("seconds", done.seconds));
    text += fmt::format("{} on {}: {} seeds; {} programs ran in {:.0f} s\n", work.engines,
                        work.target, *seeds, done.programs, done.seconds);
  }
  const std::vector<fuzz::KeptCase> cases = corpus.cases();
  text += fmt::format("{} parts of the schema, {} cases\n", corpus.coverage().size(), cases.size());
  for (const fuzz::KeptCase& kept : cases) {
    text += fmt::format("  {}: {}\n", kept.file, kept.finding.signature);
  }
  reporter.set("works", std::move(list));
  reporter.set("covered", corpus.coverage().size());
  reporter.set("cases", cases.size());
  if (!reporter.json()) reporter.io().out << text;
  return reporter.finish(Exit::ok);
}

Exit merge(const FuzzOptions& options, Reporter& reporter) {
  if (options.words.front() != "merge" || options.words.size() < 2 || options.corpus.empty()) {
    return reporter.fail(
        {ErrorKind::usage, "write `tilevm fuzz merge DIR.. --corpus OUT`, or options alone"});
  }
  Result<Corpus> all = Corpus::open(options.corpus);
  if (!all) return reporter.fail(all.error());
  for (std::size_t i = 1; i < options.words.size(); ++i) {
    Result<Corpus> part = Corpus::open(options.words[i]);
    if (!part) return reporter.fail(part.error());
    if (Status status = all->merge(*part); !status) return reporter.fail(status.error());
  }
  return show_corpus(*all, reporter);
}

Exit judge_file(const FuzzOptions& options, const std::vector<std::string>& backends,
                Reporter& reporter) {
  Result<fuzz::KeptCase> kept = fuzz::read_case(options.judge);
  if (!kept) return reporter.fail(kept.error());
  fuzz::FuzzCase* const each = &kept->each;
  if (!options.target.empty()) {
    const Result<isa::Target> target = isa::parse_target(options.target);
    if (!target) return reporter.fail({ErrorKind::usage, target.error().message});
    each->target = *target;
  }
  const Result<std::optional<fuzz::Finding>> finding = fuzz::judge_case(*each, backends);
  if (!finding) return reporter.fail(finding.error());
  reporter.set("signature", *finding ? Json((*finding)->signature) : Json());
  if (!reporter.json()) {
    reporter.io().out << (*finding
                              ? fmt::format("{}\n{}\n", (*finding)->signature, (*finding)->detail)
                          : each->planted ? "as it must be\n"
                                          : "all engines agree\n");
  }
  return reporter.finish(*finding ? Exit::fault : Exit::ok);
}

Exit show_programs(const CampaignOptions& campaign, Reporter& reporter) {
  const fuzz::SeedRange& seeds = campaign.seeds;
  for (std::uint64_t seed = seeds.first;; ++seed) {
    if (seeds.has(seed)) {
      reporter.io().out << fuzz::case_text(fuzz::make_case(seed, campaign.target), {}) << '\n';
    }
    if (seed == seeds.last) break;
  }
  return reporter.finish(Exit::ok);
}

}  // namespace

Exit fuzz_programs(const FuzzOptions& options, Io& io) {
  Reporter reporter(io, "fuzz", options.json);
  if (!options.words.empty()) return merge(options, reporter);
  const std::vector<std::string> backends = engines_of(options);
  if (!options.judge.empty()) return judge_file(options, backends, reporter);
  const Result<fuzz::SeedRange> seeds = parse_range(options);
  if (!seeds) return reporter.fail(seeds.error());
  const Result<isa::Target> target = target_of(options, backends);
  if (!target) return reporter.fail(target.error());
  CampaignOptions campaign{*seeds, backends, *target, options.plant, options.time_limit};
  campaign.corpus = options.corpus;
  campaign.resume = options.resume;
  campaign.shrink = options.shrink;
  campaign.avoid = options.avoid;
  campaign.version = options.version;
  return options.show ? show_programs(campaign, reporter) : run_seeds(campaign, reporter);
}

}  // namespace tilevm::vm
