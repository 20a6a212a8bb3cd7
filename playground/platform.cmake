# What the build needs of a host, where the host is a browser: libraries of headers alone, and no rooms that
# start processes, open libraries or drive GPUs. vm/web has what stands for them.
set(tilevm_left_out
  "/backend/(driver|emu|engine|host|launch)/|/backend/compile/(compiler_messages|fatbin|kernel_cache|nvcc|nvrtc|toolchain)|/vm/(bench|dap|diff|fidelity|fuzz|library|lsp|manual|naive|ring|tune)/"
  "/vm/run/(engine_cuda|engine_emu|mma_models)"
  "/vm/debug/(compare|line_editor)"
  "/vm/text/(json_line|large_stack)"
  "/vm/cli/cmd_(bench|cache|debug|demo|diff|doctor|formulas|fuzz|lsp|manual|record|triton|tune)")
list(JOIN tilevm_left_out "|" tilevm_left_out)

# The headers of Debian's packages, and nothing else of /usr/include: the C library there is another one.
find_path(TILEVM_BOOST_HEADERS boost/spirit/home/x3.hpp HINTS ${Boost_ROOT}/include PATHS /usr/include
  NO_CMAKE_FIND_ROOT_PATH REQUIRED)
find_path(TILEVM_FMT_HEADERS fmt/format.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
find_path(TILEVM_CLI11_HEADERS CLI/CLI.hpp PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
mark_as_advanced(TILEVM_BOOST_HEADERS TILEVM_FMT_HEADERS TILEVM_CLI11_HEADERS)
set(headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
file(CREATE_LINK ${TILEVM_BOOST_HEADERS}/boost ${headers}/boost SYMBOLIC)
file(CREATE_LINK ${TILEVM_FMT_HEADERS}/fmt ${headers}/fmt SYMBOLIC)
file(CREATE_LINK ${TILEVM_CLI11_HEADERS}/CLI ${headers}/CLI SYMBOLIC)
set(Boost_INCLUDE_DIRS ${headers})
foreach(library fmt::fmt-header-only CLI11::CLI11 Threads::Threads)
  add_library(${library} INTERFACE IMPORTED)
  target_include_directories(${library} INTERFACE ${headers})
endforeach()

# Every source reads this first.
set(tilevm_first_header ${PROJECT_SOURCE_DIR}/vm/web/compat.h)
# Optimising at the link and for size takes three minutes and halves the module. Tests of what it computes do without.
option(TILEVM_SMALL_MODULE "Optimise the module for size and as a whole, as the page has it" ON)
if(TILEVM_SMALL_MODULE)
  add_compile_options(-flto)
endif()
# What every browser has that has exceptions and vectors makes code shorter; so do no destructors of what lives as long as
# the module, and a std::function without a table of virtual functions for each lambda.
add_compile_options(-fwasm-exceptions -msimd128 -mbulk-memory -msign-ext -mnontrapping-fptoint
  -fno-c++-static-destructors -include ${tilevm_first_header})
# Nothing prints by the rules of a locale.
add_compile_definitions(_LIBCPP_ABI_OPTIMIZED_FUNCTION FMT_STATIC_THOUSANDS_SEPARATOR=',')
