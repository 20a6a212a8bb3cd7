// Statistics of timing anywhere; the clock, the yardstick and cuBLAS where there is a GPU.
#include <cmath>

#include "backend/engine/cublas.h"
#include "backend/engine/timing.h"
#include "tests/unit/backend/toolchain_support.h"

namespace tilevm::backend {
namespace {

TEST_CASE("a spread has the extremes, the median and interpolated quartiles") {
  const Spread five = spread_of({5, 1, 4, 2, 3});
  CHECK(five.min == 1);
  CHECK(five.lower == 2);
  CHECK(five.median == 3);
  CHECK(five.upper == 4);
  CHECK(five.max == 5);
  const Spread two = spread_of({10, 20});
  CHECK(two.lower == 12.5);
  CHECK(two.median == 15);
  CHECK(two.upper == 17.5);
  const Spread one = spread_of({7});
  CHECK(one.min == 7);
  CHECK(one.upper == 7);
}

TEST_CASE("cuBLAS that is not where it was named is one clear line") {
  const auto device = device_or_skip("opening cuBLAS");
  if (!device) return;
  const ScopedVariable named("TILEVM_LIBCUBLAS", "/nowhere/libcublas.so");
  const Result<Cublas> cublas = Cublas::open(*device);
  REQUIRE_FALSE(cublas);
  CHECK(cublas.error().kind == ErrorKind::unavailable);
  CHECK(contains(cublas.error().message, "$TILEVM_LIBCUBLAS does not name a usable cuBLAS"));
}

TEST_CASE("reading takes time by its bytes, and L2 makes a difference") {
  const auto device = device_or_skip("timing");
  if (!device) return;
  constexpr std::size_t mib = std::size_t{1} << 20;
  const Result<Stopwatch> stopwatch = Stopwatch::create(*device, 256 * mib);
  REQUIRE_MESSAGE(stopwatch, stopwatch.error().message);
  const std::vector<Work> works = {[&] { return stopwatch->read(8 * mib); },
                                   [&] { return stopwatch->read(256 * mib); }};
  const auto cold = stopwatch->time(works, {.rounds = 9});
  REQUIRE_MESSAGE(cold, cold.error().message);
  const auto warm = stopwatch->time(works, {.rounds = 9, .warm = true});
  REQUIRE_MESSAGE(warm, warm.error().message);
  std::printf("reading 8 MiB: %.2f us cold, %.2f us warm; 256 MiB: %.1f us\n", (*cold)[0].median,
              (*warm)[0].median, (*cold)[1].median);
  CHECK((*cold)[0].median > 0);
  CHECK((*cold)[1].median > 4 * (*cold)[0].median);
  CHECK((*warm)[0].median < (*cold)[0].median);
}

TEST_CASE("an error of a work ends the timing") {
  const auto device = device_or_skip("an error while timing");
  if (!device) return;
  const Result<Stopwatch> stopwatch = Stopwatch::create(*device, 0);
  REQUIRE_MESSAGE(stopwatch, stopwatch.error().message);
  const auto times =
      stopwatch->time({[] { return Status(Error{ErrorKind::program, "no"}); }}, {.rounds = 2});
  REQUIRE_FALSE(times);
  CHECK(times.error().message == "no");
}

TEST_CASE("cuBLAS multiplies row-major matrices in both layouts") {
  const auto device = device_or_skip("multiplying with cuBLAS");
  if (!device) return;
  const Result<Cublas> cublas = Cublas::open(*device);
  if (!cublas) {
    skip("multiplying with cuBLAS", cublas.error().message);
    return;
  }
  std::printf("%s\n", cublas->describe().c_str());
  constexpr int m = 2, n = 8, k = 16;
  // f16 numbers that are exact: a is 1 in column 3 of row 0 and column 5 of row 1; b counts.
  const std::uint16_t one = 0x3c00;
  std::vector<std::uint16_t> a(m * k), b(k * n), c(m * n);
  a[3] = a[k + 5] = one;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::uint16_t>(0x3c00 + i);
  Result<DeviceBuffer> da = device->allocate(2 * a.size()), db = device->allocate(2 * b.size()),
                       dc = device->allocate(2 * c.size());
  REQUIRE((da && db && dc));
  REQUIRE(da->write(a.data(), 2 * a.size()));
  REQUIRE(db->write(b.data(), 2 * b.size()));
  for (const bool transposed : {false, true}) {
    CAPTURE(transposed);
    const Status done = cublas->multiply({m, n, k, false, transposed}, *da, *db, *dc);
    REQUIRE_MESSAGE(done, done.error().message);
    REQUIRE(dc->read(c.data(), 2 * c.size()));
    for (std::size_t j = 0; j < n; ++j) {
      CHECK(c[j] == (transposed ? b[j * k + 3] : b[3 * n + j]));
      CHECK(c[n + j] == (transposed ? b[j * k + 5] : b[5 * n + j]));
    }
  }
}

}  // namespace
}  // namespace tilevm::backend
