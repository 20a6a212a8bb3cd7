#include "vm/fuzz/corpus.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/text/file.h"

namespace tilevm::vm::fuzz {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28,
                        most_case_bytes = std::uint64_t{1} << 22;

std::string progress_line(const Progress& progress) {
  const SeedRange& seeds = progress.seeds;
  return fmt::format("seeds {} {} shard {} {} programs {} seconds {:.3f} engines {} target {}\n",
                     seeds.first, seeds.last, seeds.index, seeds.count, progress.programs,
                     progress.seconds, progress.work.engines, progress.work.target);
}

/// Nothing for a line that is not a progress line, such as one that was cut off.
std::optional<Progress> parse_progress(const std::string& line) {
  std::istringstream text(line);
  const auto word = [&](std::string_view expected) {
    std::string read;
    return (text >> read) && read == expected;
  };
  Progress progress;
  SeedRange& seeds = progress.seeds;
  const bool good = word("seeds") && (text >> seeds.first >> seeds.last) && word("shard") &&
                    (text >> seeds.index >> seeds.count) && word("programs") &&
                    (text >> progress.programs) && word("seconds") && (text >> progress.seconds) &&
                    word("engines") && (text >> progress.work.engines) && word("target") &&
                    (text >> progress.work.target);
  return good && is_valid(seeds) ? std::optional(progress) : std::nullopt;
}

/// The lines of a file; none if there is no file.
Result<std::vector<std::string>> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  if (!std::filesystem::exists(path)) return lines;
  const Result<std::vector<std::uint8_t>> bytes = read_file(path, most_bytes);
  if (!bytes) return bytes.error();
  std::istringstream text(std::string(bytes->begin(), bytes->end()));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Status write_text(const std::string& path, const std::string& text) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(text.data());
  return write_file_atomic(path, {data, text.size()});
}

/// A signature as a file's name.
std::string slug(const std::string& signature) {
  std::string result;
  for (const char c : signature) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) result += c;
    if (!plain && !result.empty() && result.back() != '_') result += '_';
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  return result.substr(0, 80);
}

/// A line of a comment for every line of a text.
std::string commented(std::string_view name, const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    result += fmt::format("# {}: {}\n", name, line);
  }
  return result;
}

std::string replay_command(const FuzzCase& each, const Finding& finding) {
  std::string command = "tilevm fuzz --judge FILE";
  if (!finding.backends.empty()) command += " --engines " + finding.backends;
  return command + " --target " + isa::to_string(each.target);
}

std::string planted_text(const PlantedFault& planted) {
  return commented("planted", planted.kind) + commented("faulty", planted.faulty ? "yes" : "no") +
         commented("expected",
                   fmt::format("{} {}", to_string(planted.expected.code), planted.expected.line));
}

/// Takes over what one comment of a case's file says.
Status read_comment(const std::string& name, const std::string& value, KeptCase& kept) {
  FuzzCase& each = kept.each;
  if (name == "in") each.inputs.push_back(value);
  if (name == "seed") std::istringstream(value) >> each.seed;
  if (name == "signature") kept.finding.signature = value;
  if (name == "detail") kept.finding.detail += value + "\n";
  if (name == "planted") each.planted.emplace().kind = value;
  if (name == "faulty" && each.planted) each.planted->faulty = value == "yes";
  if (name == "expected" && each.planted) {
    const std::size_t space = value.find(' ');
    const auto code = parse_code(value.substr(0, space));
    if (!code || space == std::string::npos) {
      return Error{ErrorKind::program, fmt::format("`{}` expects no report", value)};
    }
    each.planted->expected = {*code, value.substr(space + 1)};
  }
  if (name != "target") return Done{};
  const Result<isa::Target> target = isa::parse_target(value);
  if (!target) return target.error();
  each.target = *target;
  return Done{};
}

}  // namespace

std::string bundle_folder(const std::string& case_file) {
  return std::filesystem::path(case_file).replace_extension(".bundle").string();
}

std::string case_text(const FuzzCase& each, const Finding& finding) {
  std::string text =
      fmt::format("# seed: {}\n# target: {}\n", each.seed, isa::to_string(each.target));
  for (const std::string& input : each.inputs) text += fmt::format("# in: {}\n", input);
  text += commented("signature", finding.signature);
  text += commented("detail", finding.detail.substr(0, 2000));
  if (each.planted) text += planted_text(*each.planted);
  text += commented("command", replay_command(each, finding));
  return text + each.text;
}

Result<KeptCase> read_case(const std::string& path) {
  const Result<std::vector<std::uint8_t>> bytes = read_file(path, most_case_bytes);
  if (!bytes) return bytes.error();
  KeptCase kept;
  kept.file = path;
  kept.each.text.assign(bytes->begin(), bytes->end());
  std::istringstream lines(kept.each.text);
  bool has_target = false;
  for (std::string line; std::getline(lines, line) && line.starts_with("# ");) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(2, colon - 2);
    if (Status read = read_comment(name, line.substr(colon + 2), kept); !read) return read.error();
    has_target = has_target || name == "target";
  }
  if (has_target) return kept;
  return Error{ErrorKind::program, fmt::format("`{}` is not a fuzz case: it begins with no comment "
                                               "`# target: ..`",
                                               path)};
}

Result<Corpus> Corpus::open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Error{ErrorKind::usage,
                 fmt::format("cannot make the folder `{}`: {}", folder, error.message())};
  }
  Corpus corpus(folder);
  if (Status status = corpus.read(); !status) return status.error();
  return corpus;
}

Status Corpus::read() {
  const Result<std::vector<std::string>> lines = read_lines(folder_ + "/progress.txt");
  if (!lines) return lines.error();
  for (const std::string& line : *lines) {
    const auto progress = parse_progress(line);
    if (!progress) continue;
    progress_.push_back(*progress);
    note_done(*progress);
  }
  const Result<std::vector<std::string>> items = read_lines(folder_ + "/coverage.txt");
  if (!items) return items.error();
  coverage_.insert(items->begin(), items->end());
  return Done{};
}

/// Lines that follow one another become one, so that looking for a seed is quick.
void Corpus::note_done(const Progress& progress) {
  const SeedRange& seeds = progress.seeds;
  const auto before = std::find_if(done_.begin(), done_.end(), [&](const Progress& each) {
    return each.work == progress.work && each.seeds.count == seeds.count &&
           each.seeds.index == seeds.index && each.seeds.last + 1 == seeds.first;
  });
  if (before == done_.end()) {
    done_.push_back(progress);
  } else {
    before->seeds.last = seeds.last;
  }
}

bool Corpus::has(std::uint64_t seed, const Work& work) const {
  return std::any_of(done_.begin(), done_.end(), [&](const Progress& each) {
    return each.seeds.has(seed) && each.work == work;
  });
}

Status Corpus::add_progress(const Progress& progress) {
  progress_.push_back(progress);
  note_done(progress);
  return append_line(folder_ + "/progress.txt", progress_line(progress));
}

Status Corpus::add_coverage(const Coverage& coverage) {
  const std::size_t before = coverage_.size();
  coverage_.insert(coverage.begin(), coverage.end());
  if (coverage_.size() == before) return Done{};
  return write_text(folder_ + "/coverage.txt", fmt::format("{}\n", fmt::join(coverage_, "\n")));
}

Result<std::string> Corpus::add_case(const FuzzCase& each, const Finding& finding) const {
  const std::string path =
      fmt::format("{}/{}-{}.tile", folder_, slug(finding.signature), each.seed);
  if (Status status = write_text(path, case_text(each, finding)); !status) return status.error();
  return path;
}

std::vector<KeptCase> Corpus::cases() const {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (entry.path().extension() == ".tile") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<KeptCase> cases;
  for (const std::string& file : files) {
    Result<KeptCase> kept = read_case(file);
    if (kept) cases.push_back(*std::move(kept));
  }
  return cases;
}

namespace {

/// Copies a file, or a folder with all that it has, into a folder.
Status copy_into(const std::filesystem::path& folder, const std::string& path) {
  const std::filesystem::path from(path), to = folder / from.filename();
  std::error_code error;
  if (std::filesystem::equivalent(from, to, error)) return Done{};  // a corpus with itself
  std::filesystem::copy(
      from, to,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing,
      error);
  if (!error) return Done{};
  return Error{ErrorKind::usage, fmt::format("cannot copy `{}`: {}", path, error.message())};
}

}  // namespace

Status Corpus::merge(const Corpus& other) {
  for (const Progress& each : other.progress_) {
    const bool known = std::any_of(progress_.begin(), progress_.end(), [&](const Progress& own) {
      return progress_line(own) == progress_line(each);
    });
    if (known) continue;
    if (Status status = add_progress(each); !status) return status;
  }
  if (Status status = add_coverage(other.coverage_); !status) return status;
  for (const KeptCase& kept : other.cases()) {
    if (Status status = copy_into(folder_, kept.file); !status) return status;
    const std::string bundle = bundle_folder(kept.file);
    if (!std::filesystem::exists(bundle)) continue;
    if (Status status = copy_into(folder_, bundle); !status) return status;
  }
  return Done{};
}

}  // namespace tilevm::vm::fuzz
