#include "vm/bench/bench_report.h"

#include <fmt/format.h>

#include "vm/text/table.h"

namespace tilevm::vm {

namespace {

/// Bytes in so many microseconds as TB/s.
double rate(std::uint64_t bytes, double microseconds) {
  return static_cast<double>(bytes) / microseconds / 1e6;
}

/// The part of the full reading rate that a launch reaches; 0 where that was not measured.
double share_of_peak(const BenchReport& report, const KernelTime& kernel) {
  if (report.peak_bytes == 0) return 0;
  return rate(kernel.bytes, kernel.time.median) / rate(report.peak_bytes, report.peak.median);
}

double speedup(const KernelTime& kernel) { return kernel.cublas->time.median / kernel.time.median; }

std::string flops(const KernelTime& kernel) {
  if (kernel.operations == 0) return "-";
  const double tera = kernel.operations / kernel.time.median / 1e6;
  return tera >= 1 ? fmt::format("{:.1f} T", tera) : fmt::format("{:.1f} G", tera * 1000);
}

const std::vector<std::string> heads = {"kernel",  "us",      "quartiles", "MB",     "TB/s",
                                        "of read", "of peak", "FLOP/s",    "cuBLAS", "registers",
                                        "spills",  "shared",  "threads"};

std::vector<std::string> row_of(const BenchReport& report, const KernelTime& kernel) {
  const double peak = share_of_peak(report, kernel);
  return {kernel.name,
          fmt::format("{:.2f}", kernel.time.median),
          fmt::format("{:.2f}..{:.2f}", kernel.time.lower, kernel.time.upper),
          fmt::format("{:.1f}", static_cast<double>(kernel.bytes) / 1e6),
          fmt::format("{:.2f}", rate(kernel.bytes, kernel.time.median)),
          fmt::format("{:.0f} %", 100 * kernel.read.median / kernel.time.median),
          peak == 0 ? "-" : fmt::format("{:.0f} %", 100 * peak),
          flops(kernel),
          kernel.cublas ? fmt::format("{:.2f} x", speedup(kernel)) : "-",
          fmt::format("{}", kernel.properties.registers_per_thread),
          fmt::format("{}", kernel.properties.local_bytes_per_thread),
          fmt::format("{}", kernel.shared_bytes),
          fmt::format("{}", kernel.threads)};
}

std::string protocol(const BenchReport& report) {
  return fmt::format(
      "{} launches each, timed one by one with events, in turns; {}", report.timing.rounds,
      report.timing.warm ? "L2 warm"
                         : fmt::format("before each, L2 is evicted by reading {} MiB",
                                       backend::eviction_bytes >> 20));
}

/// What every kernel was compared with, in microseconds.
std::string yardsticks(const BenchReport& report) {
  std::string text;
  for (const KernelTime& kernel : report.kernels) {
    text +=
        fmt::format("{}: reading as many bytes takes {:.2f} us", kernel.name, kernel.read.median);
    if (kernel.cublas) {
      const CublasTime& cublas = *kernel.cublas;
      text += fmt::format(", cuBLAS {:.2f} us ({:.2f} us (nn) and {:.2f} us (tn) by themselves)",
                          cublas.time.median, cublas.nn.median, cublas.tn.median);
    }
    text += '\n';
  }
  if (report.whole) {
    text += fmt::format("all launches together: {:.2f} us one by one, {:.2f} us as a CUDA graph\n",
                        report.whole->launched.median, report.whole->graph.median);
  }
  if (report.peak_bytes > 0) {
    text +=
        fmt::format("peak: reading {} MiB takes {:.1f} us, {:.2f} TB/s\n", report.peak_bytes >> 20,
                    report.peak.median, rate(report.peak_bytes, report.peak.median));
  }
  if (!report.cublas.empty()) text += fmt::format("{}\n", report.cublas);
  if (!report.cublas_why.empty()) text += fmt::format("without cuBLAS: {}\n", report.cublas_why);
  return text;
}

std::string findings(const BenchReport& report) {
  std::string text;
  for (const OutputError& error : report.errors) {
    text += fmt::format("{}: relative error {:.2e} against `{}`\n", error.output, error.relative,
                        report.reference);
  }
  if (report.checked) text += "a second run gave the same bits\n";
  return text;
}

Json kernel_json(const BenchReport& report, const KernelTime& kernel) {
  Json object = Json::object();
  object.set("name", kernel.name).set("us", to_json(kernel.time)).set("bytes", kernel.bytes);
  object.set("tb_per_s", rate(kernel.bytes, kernel.time.median));
  object.set("read_us", to_json(kernel.read));
  object.set("share_of_read", kernel.read.median / kernel.time.median);
  object.set("share_of_peak", report.peak_bytes > 0 ? Json(share_of_peak(report, kernel)) : Json());
  object.set("tflop_per_s",
             kernel.operations > 0 ? Json(kernel.operations / kernel.time.median / 1e6) : Json());
  Json cublas;
  if (kernel.cublas) {
    cublas = Json::object();
    cublas.set("us", to_json(kernel.cublas->time));
    cublas.set("nn_us", to_json(kernel.cublas->nn)).set("tn_us", to_json(kernel.cublas->tn));
    cublas.set("ratio", speedup(kernel));
  }
  object.set("cublas", std::move(cublas));
  object.set("registers", kernel.properties.registers_per_thread);
  object.set("spill_bytes", kernel.properties.local_bytes_per_thread);
  object.set("shared_bytes", kernel.shared_bytes).set("threads", kernel.threads);
  return object;
}

Json errors_json(const BenchReport& report) {
  Json list = Json::array();
  for (const OutputError& error : report.errors) {
    list.push(Json::object().set("output", error.output).set("relative", error.relative));
  }
  return list;
}

}  // namespace

Json to_json(const Environment& environment) {
  Json object = Json::object();
  object.set("device", environment.device).set("target", environment.target);
  object.set("driver", environment.driver).set("compiler", environment.compiler);
  return object;
}

Json to_json(const backend::Spread& spread) {
  Json object = Json::object();
  object.set("median", spread.median).set("min", spread.min).set("lower", spread.lower);
  object.set("upper", spread.upper).set("max", spread.max);
  return object;
}

std::string format_bench(const BenchReport& report) {
  Table table;
  table.add(heads);
  for (const KernelTime& kernel : report.kernels) table.add(row_of(report, kernel));
  return fmt::format("{}\ndriver {}, {}\n{}; {} MiB of device memory\n\n{}\n{}{}",
                     report.environment.device, report.environment.driver,
                     report.environment.compiler, protocol(report), report.device_bytes >> 20,
                     table.text(""), yardsticks(report), findings(report));
}

std::vector<std::pair<std::string, Json>> bench_members(const BenchReport& report) {
  std::vector<std::pair<std::string, Json>> members;
  members.emplace_back("entry", report.entry);
  members.emplace_back("environment", to_json(report.environment));
  members.emplace_back("rounds", report.timing.rounds);
  members.emplace_back("l2", report.timing.warm ? "warm" : "evicted by reading");
  Json kernels = Json::array();
  for (const KernelTime& kernel : report.kernels) kernels.push(kernel_json(report, kernel));
  members.emplace_back("kernels", std::move(kernels));
  members.emplace_back("entry_us", report.whole ? to_json(report.whole->launched) : Json());
  members.emplace_back("graph_us", report.whole ? to_json(report.whole->graph) : Json());
  members.emplace_back("peak_bytes", report.peak_bytes);
  members.emplace_back("peak_us", report.peak_bytes > 0 ? to_json(report.peak) : Json());
  members.emplace_back("cublas", report.cublas.empty() ? Json() : Json(report.cublas));
  if (!report.cublas_why.empty()) members.emplace_back("cublas_why", report.cublas_why);
  members.emplace_back("reference", report.reference.empty() ? Json() : Json(report.reference));
  members.emplace_back("errors", errors_json(report));
  members.emplace_back("checked", report.checked);
  members.emplace_back("device_bytes", report.device_bytes);
  return members;
}

}  // namespace tilevm::vm
