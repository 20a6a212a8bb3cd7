# libtilevm: everything behind the C interface of vm/library/c_api.h, which is installed as tilevm.h. Nothing
# else is visible, so that it can live in a process beside other versions of what it contains.
set(tilevm_exports ${CMAKE_CURRENT_BINARY_DIR}/exports.map)
file(CONFIGURE OUTPUT ${tilevm_exports} CONTENT "{ global: tilevm_*; local: *; };\n")
configure_file(vm/library/c_api.h ${CMAKE_CURRENT_BINARY_DIR}/include/tilevm.h COPYONLY)

add_library(tilevm_c SHARED vm/library/c_api.cc)
target_link_libraries(tilevm_c PRIVATE tilevm_vm)
target_compile_definitions(tilevm_c PRIVATE TILEVM_VERSION="${PROJECT_VERSION}")
target_include_directories(tilevm_c INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}/include>)
# The library has no terminal: what only the command uses is not linked.
target_link_options(tilevm_c PRIVATE -Wl,--as-needed -Wl,--version-script=${tilevm_exports})
if(NOT TILEVM_SANITIZE)
  target_link_options(tilevm_c PRIVATE -Wl,--no-undefined -static-libstdc++ -static-libgcc)
endif()
# Before 1.0 every minor version may change the interface.
set_target_properties(tilevm_c PROPERTIES OUTPUT_NAME tilevm VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# For projects of others: find_package(tilevm) and tilevm::tilevm, or pkg-config tilevm.
set_target_properties(tilevm_c PROPERTIES EXPORT_NAME tilevm)
set(tilevm_package ${CMAKE_INSTALL_LIBDIR}/cmake/tilevm)
install(TARGETS tilevm_c EXPORT tilevm COMPONENT library LIBRARY OPTIONAL
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/include/tilevm.h TYPE INCLUDE COMPONENT library)
install(EXPORT tilevm NAMESPACE tilevm:: FILE tilevmConfig.cmake DESTINATION ${tilevm_package}
  COMPONENT library)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tilevmConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH tilevm_prefix /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/tilevm.pc @ONLY CONTENT
"prefix=\${pcfiledir}/@tilevm_prefix@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Name: tilevm
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Libs: -L\${libdir} -ltilevm
Cflags: -I\${includedir}
")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tilevmConfigVersion.cmake DESTINATION ${tilevm_package}
  COMPONENT library)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tilevm.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
