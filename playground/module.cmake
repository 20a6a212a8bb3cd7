# The module: tilevm.js, which a page's worker and Node read, and tilevm.wasm.
#
# What is compiled for speed: arithmetic on elements, whose loops -Os makes up to nine times slower. They have no vectors
# but those that are written out, which would take as much code again. Moves of elements (sim/tiles, sim/access) lose less
# than a quarter, and the rest runs once a statement or less.
set(fast_rooms "/sim/(arithmetic|mma)/")
# What throws or catches. Elsewhere nothing is destroyed when memory is exhausted, which takes a fifth of the code; the
# page begins with a new module after that (page/engine.js). A file that throws and is not listed here does not compile.
set(throwing frontend/syntax/grammar.cc frontend/syntax/precedence.cc sim/launch/block_scheduler.cc sim/launch/sim.cc
  sim/launch/launch.cc vm/cli/run_progress.cc vm/data/tensor.cc vm/debug/expression_text.cc
  vm/text/byte_source.cc vm/text/file.cc vm/web/absent.cc vm/web/boost_json.cc)
set_source_files_properties(${throwing} PROPERTIES COMPILE_OPTIONS -fexceptions
  SKIP_PRECOMPILE_HEADERS ON)
set_source_files_properties(frontend/syntax/grammar.cc PROPERTIES COMPILE_OPTIONS "-fexceptions;-frtti")  # X3's typeid

get_target_property(sim_sources tilevm_sim SOURCES)
set(fast_sources ${sim_sources})
list(FILTER fast_sources INCLUDE REGEX ${fast_rooms})
list(FILTER sim_sources EXCLUDE REGEX ${fast_rooms})
set_target_properties(tilevm_sim PROPERTIES SOURCES "${sim_sources}")
add_library(tilevm_fast STATIC ${fast_sources})
target_link_libraries(tilevm_fast PUBLIC tilevm_options)
target_compile_options(tilevm_fast PRIVATE -fno-math-errno -fno-trapping-math -fno-unroll-loops -fno-vectorize
  -Wno-shadow)
set_target_properties(tilevm_fast PROPERTIES UNITY_BUILD ${TILEVM_UNITY} UNITY_BUILD_MODE GROUP)
tilevm_precompile(tilevm_fast ${PROJECT_SOURCE_DIR}/isa/verify/verify.h)
target_link_libraries(tilevm_sim PUBLIC tilevm_fast)
if(TILEVM_SMALL_MODULE)
  set(cold_level -Oz)
else()
  set(cold_level -O1)
endif()
foreach(cold isa frontend sim backend vm)
  target_compile_options(tilevm_${cold} PRIVATE ${cold_level})
endforeach()
foreach(quiet isa frontend sim fast backend vm)
  target_compile_options(tilevm_${quiet} PRIVATE -fno-exceptions -fno-rtti)
endforeach()

add_executable(tilevm vm/cli/main.cc vm/cli/command_line.cc)
target_link_libraries(tilevm PRIVATE tilevm_vm CLI11::CLI11)
target_compile_options(tilevm PRIVATE ${cold_level} -fno-rtti)
target_compile_definitions(tilevm PRIVATE TILEVM_VERSION="${PROJECT_VERSION}"
  TILEVM_SOURCE_DIR="")
set_target_properties(tilevm PROPERTIES UNITY_BUILD ${TILEVM_UNITY} SUFFIX .js)
# A bit of memory must have a number of 32 bits (vm/data/tensor.h): half a GiB is the most there can be.
target_link_options(tilevm PRIVATE ${cold_level} -fwasm-exceptions -msimd128 -sMODULARIZE=1 -sEXPORT_NAME=TilevmModule
  -sENVIRONMENT=web,worker,node -sINVOKE_RUN=0 -sEXIT_RUNTIME=0 -sALLOW_MEMORY_GROWTH=1
  -sINITIAL_MEMORY=32MB -sMAXIMUM_MEMORY=512MB -sTOTAL_STACK=8MB -sFILESYSTEM=1 -sFORCE_FILESYSTEM=1
  -sEXPORTED_FUNCTIONS=_main,_tilevm_debug,_malloc,_free
  -sEXPORTED_RUNTIME_METHODS=FS,stringToUTF8,lengthBytesUTF8,UTF8ToString,HEAP32)
if(NOT TILEVM_SMALL_MODULE)
  return()
endif()
# What emscripten leaves is optimised once more.
find_program(WASM_OPT wasm-opt REQUIRED)
mark_as_advanced(WASM_OPT)
add_custom_command(TARGET tilevm POST_BUILD
  COMMAND ${WASM_OPT} -Oz --low-memory-unused --zero-filled-memory --enable-simd --enable-exception-handling
    --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int --enable-mutable-globals
    tilevm.wasm -o tilevm.wasm
  VERBATIM)
