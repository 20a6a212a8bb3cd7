// Which reported miscompilations of ptxas a version has.
#include <doctest/doctest.h>

#include <string>

#include "backend/compile/ptxas_faults.h"
#include "tests/unit/contains.h"

using namespace tilevm;
using namespace tilevm::backend;

TEST_CASE("a fault ends with the version that was reported to be right") {
  CHECK(contains(describe_faults(ptxas_faults_of(13000)), "triton#9433 (sm_90a)"));
  CHECK(contains(describe_faults(ptxas_faults_of(13020)), "triton#9433"));
  CHECK(!contains(describe_faults(ptxas_faults_of(13030)), "triton#9433"));
  CHECK(contains(describe_faults(ptxas_faults_of(12090)), "triton#11581"));
  CHECK(!contains(describe_faults(ptxas_faults_of(13030)), "triton#11581"));
  CHECK(contains(describe_faults(ptxas_faults_of(12030)), "triton#2941"));
  CHECK(!contains(describe_faults(ptxas_faults_of(12040)), "triton#2941"));
  CHECK(!contains(describe_faults(ptxas_faults_of(13010)), "flash-linear-attention#1262"));
  CHECK(contains(describe_faults(ptxas_faults_of(12090)), "triton#9756 (sm_89)"));
  CHECK(!contains(describe_faults(ptxas_faults_of(13000)), "triton#9756"));
}

TEST_CASE("a fault of one version alone is not said of those around it") {
  CHECK(!contains(describe_faults(ptxas_faults_of(13010)), "llama.cpp#28784"));
  CHECK(contains(describe_faults(ptxas_faults_of(13020)), "llama.cpp#28784 (all GPUs)"));
  CHECK(!contains(describe_faults(ptxas_faults_of(13030)), "llama.cpp#28784"));
}

TEST_CASE("a fault without a fix counts from its first report on") {
  CHECK(!contains(describe_faults(ptxas_faults_of(12060)), "pytorch#190973"));
  CHECK(contains(describe_faults(ptxas_faults_of(13050)), "pytorch#190973"));
  CHECK(!contains(describe_faults(ptxas_faults_of(13000)), "cccl#10958"));
  CHECK(contains(describe_faults(ptxas_faults_of(13000)), "llama.cpp#19168"));
}
