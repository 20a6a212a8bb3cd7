// What a test may know of the build that it is linked into.
#pragma once

namespace tilevm::tests {

/// Whether sanitizers watch the libraries under test, which makes them about ten times as slow. The
/// objects of most tests are linked into both builds, so that a macro would not tell.
bool under_sanitizers();

}  // namespace tilevm::tests
