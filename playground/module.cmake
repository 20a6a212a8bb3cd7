# The module: tilevm.js, which a page's worker and Node read, and tilevm.wasm.
#
# Loops over elements need -O2: -Os makes them up to nine times slower. The rest runs once a statement or less.
foreach(cold backend vm)
  target_compile_options(tilevm_${cold} PRIVATE -Os)
endforeach()

add_executable(tilevm vm/cli/main.cc vm/cli/command_line.cc)
target_link_libraries(tilevm PRIVATE tilevm_vm CLI11::CLI11)
target_compile_options(tilevm PRIVATE -Os)
target_compile_definitions(tilevm PRIVATE TILEVM_VERSION="${PROJECT_VERSION}"
  TILEVM_SOURCE_DIR="")
set_target_properties(tilevm PROPERTIES UNITY_BUILD ${TILEVM_UNITY} SUFFIX .js)
# A bit of memory must have a number of 32 bits (vm/data/tensor.h): half a GiB is the most there can be.
target_link_options(tilevm PRIVATE -O2 -fwasm-exceptions -msimd128 -sMODULARIZE=1 -sEXPORT_NAME=TilevmModule
  -sENVIRONMENT=web,worker,node -sINVOKE_RUN=0 -sEXIT_RUNTIME=0 -sALLOW_MEMORY_GROWTH=1
  -sINITIAL_MEMORY=32MB -sMAXIMUM_MEMORY=512MB -sTOTAL_STACK=8MB -sFILESYSTEM=1 -sFORCE_FILESYSTEM=1
  -sEXPORTED_FUNCTIONS=_main,_tilevm_debug,_malloc,_free
  -sEXPORTED_RUNTIME_METHODS=FS,stringToUTF8,lengthBytesUTF8,UTF8ToString,HEAP32)
