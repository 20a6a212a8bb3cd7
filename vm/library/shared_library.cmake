# libtilevm: everything behind the C interface of vm/library/c_api.h, which is installed as tilevm.h. Nothing
# else is visible, so that it can live in a process beside other versions of what it contains.
set(tilevm_exports ${CMAKE_CURRENT_BINARY_DIR}/exports.map)
file(CONFIGURE OUTPUT ${tilevm_exports} CONTENT "{ global: tilevm_*; local: *; };\n")
configure_file(vm/library/c_api.h ${CMAKE_CURRENT_BINARY_DIR}/include/tilevm.h COPYONLY)

add_library(tilevm_c SHARED vm/library/c_api.cc)
target_link_libraries(tilevm_c PRIVATE tilevm_vm)
target_compile_definitions(tilevm_c PRIVATE TILEVM_VERSION="${PROJECT_VERSION}")
target_include_directories(tilevm_c INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/include)
# The library has no terminal: what only the command uses is not linked.
target_link_options(tilevm_c PRIVATE -Wl,--as-needed -Wl,--version-script=${tilevm_exports})
if(NOT TILEVM_SANITIZE)
  target_link_options(tilevm_c PRIVATE -Wl,--no-undefined -static-libstdc++ -static-libgcc)
endif()
# Before 1.0 every minor version may change the interface.
set_target_properties(tilevm_c PROPERTIES OUTPUT_NAME tilevm VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
install(TARGETS tilevm_c)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/include/tilevm.h TYPE INCLUDE)
