#include <charconv>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/fuzz/campaign.h"

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
  if (!first || !last || *first > *last) {
    return Error{ErrorKind::usage,
                 fmt::format("--seeds `{}` is no range: write A..B with A <= B", seeds)};
  }
  const bool parts = slash != std::string_view::npos;
  const std::uint64_t count = parts ? whole_number(shard.substr(slash + 1)).value_or(0) : 0;
  const std::uint64_t index = whole_number(shard.substr(0, slash)).value_or(count);
  if (index >= count) {
    return Error{ErrorKind::usage,
                 fmt::format("--shard `{}` is no part: write I/N with I from 0 to N - 1", shard)};
  }
  return fuzz::SeedRange{*first, *last, index, count};
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

/// The target that an engine demands, unless the user names one.
Result<isa::Target> target_of(const FuzzOptions& options,
                              const std::vector<std::string>& backends) {
  std::string name = options.target;
  for (const std::string& backend : backends) {
    if (!name.empty() || backend == "naive") continue;
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
    each.set("detail", known.finding.detail).set("file", known.file).set("text", known.text);
    list.push(std::move(each));
  }
  return list;
}

std::string progress_line(const CampaignReport& report, const isa::Target& target) {
  const std::size_t all = fuzz::whole_schema(target).size();
  const std::size_t missing = fuzz::missing_of(report.coverage, target).size();
  std::uint64_t failing = 0;
  for (const auto& [signature, known] : report.findings) failing += known.count;
  return fmt::format("{} programs, {:.0f} a second, schema {} of {}, {} failing, {} signatures",
                     report.programs,
                     report.seconds > 0 ? static_cast<double>(report.programs) / report.seconds : 0,
                     all - missing, all, failing, report.findings.size());
}

void show_findings(const CampaignReport& report, Io& io) {
  for (const auto& [signature, known] : report.findings) {
    io.out << fmt::format("{}: {}x, first by seed {}{}\n",
                          paint(signature, Style::red, io.color_out), known.count, known.first_seed,
                          known.file.empty() ? "" : ", kept in " + known.file);
    io.out << known.finding.detail << "\n";
    if (known.file.empty()) io.out << known.text << "\n";
  }
}

Exit run_planted(const CampaignOptions& campaign, Reporter& reporter) {
  Io& io = reporter.io();
  double told = 0;
  const CampaignReport report = fuzz::run_planted(campaign, [&](const CampaignReport& now) {
    if (now.seconds < told + 2) return;
    told = now.seconds;
    io.err << fmt::format("{} planted faults reported", now.planted) << std::endl;
  });
  reporter.set("planted", report.planted);
  reporter.set("findings", findings_json(report));
  if (!reporter.json()) {
    show_findings(report, io);
    io.out << fmt::format("{} planted faults, each reported at its statement; {} others\n",
                          report.planted, report.findings.size());
  }
  return reporter.finish(report.findings.empty() ? Exit::ok : Exit::fault);
}

Exit run_seeds(const CampaignOptions& campaign, Reporter& reporter) {
  Io& io = reporter.io();
  double told = 0;
  const auto tell = [&](const CampaignReport& report) {
    if (report.seconds < told + 2) return;
    told = report.seconds;
    io.err << progress_line(report, campaign.target) << std::endl;
  };
  const Result<CampaignReport> report = fuzz::run_campaign(campaign, tell);
  if (!report) return reporter.fail(report.error());
  io.err << progress_line(*report, campaign.target) << '\n';
  const fuzz::Coverage missing = fuzz::missing_of(report->coverage, campaign.target);
  Json not_covered = Json::array();
  for (const std::string& item : missing) not_covered.push(item);
  reporter.set("programs", report->programs);
  reporter.set("seconds", report->seconds);
  reporter.set("avoided", report->avoided);
  reporter.set("out_of_time", report->out_of_time);
  reporter.set("not_covered", std::move(not_covered));
  reporter.set("findings", findings_json(*report));
  if (!reporter.json()) {
    if (!missing.empty() && missing.size() < 40) {
      io.err << fmt::format("not used yet: {}\n", fmt::join(missing, ", "));
    }
    show_findings(*report, io);
    if (report->findings.empty()) {
      io.out << fmt::format("{} programs, all engines agree\n", report->programs);
    }
  }
  return reporter.finish(report->findings.empty() ? Exit::ok : Exit::fault);
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
  std::uint64_t programs = 0;
  double seconds = 0;
  for (const fuzz::Progress& each : all->progress()) {
    programs += each.programs;
    seconds += each.seconds;
  }
  const std::vector<std::string> files = all->case_files();
  reporter.set("programs", programs);
  reporter.set("seconds", seconds);
  reporter.set("covered", all->coverage().size());
  reporter.set("cases", files.size());
  if (!reporter.json()) {
    reporter.io().out << fmt::format(
        "{} programs in {:.0f} s of engines, {} parts of the schema, "
        "{} cases\n",
        programs, seconds, all->coverage().size(), files.size());
    for (const std::string& file : files) reporter.io().out << "  " << file << '\n';
  }
  return reporter.finish(Exit::ok);
}

Exit judge_file(const FuzzOptions& options, const std::vector<std::string>& backends,
                Reporter& reporter) {
  Result<fuzz::FuzzCase> each = fuzz::read_case(options.judge);
  if (!each) return reporter.fail(each.error());
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
                              : "all engines agree\n");
  }
  return reporter.finish(*finding ? Exit::fault : Exit::ok);
}

Exit show_programs(const CampaignOptions& campaign, Reporter& reporter) {
  const fuzz::SeedRange& seeds = campaign.seeds;
  for (std::uint64_t seed = seeds.first;; ++seed) {
    if (seed % seeds.count == seeds.index) {
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
  const std::vector<std::string> backends = split(options.backends);
  if (!options.judge.empty()) return judge_file(options, backends, reporter);
  const Result<fuzz::SeedRange> seeds = parse_range(options);
  if (!seeds) return reporter.fail(seeds.error());
  const Result<isa::Target> target = target_of(options, backends);
  if (!target) return reporter.fail(target.error());
  const CampaignOptions campaign{*seeds,         backends,       *target,        options.time_limit,
                                 options.corpus, options.resume, options.shrink, options.avoid};
  if (options.show) return show_programs(campaign, reporter);
  return options.plant ? run_planted(campaign, reporter) : run_seeds(campaign, reporter);
}

}  // namespace tilevm::vm
