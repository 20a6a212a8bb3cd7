# What `cmake --install` puts beside the command and the library, and what CPack makes of all: a .deb.
include(GNUInstallDirs)
install(FILES README.md CHANGELOG.md LICENSE TYPE DOC COMPONENT command)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT command)
install(DIRECTORY docs TYPE DOC COMPONENT command FILES_MATCHING PATTERN *.md PATTERN *.svg)

# Man pages and completion are what the command itself tells of its options, when it is installed.
install(CODE "
  set(command \"$<TARGET_FILE:tilevm>\")
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
  if(EXISTS \"\${command}\")
    execute_process(COMMAND \"\${command}\" man -o \"\${share}/man/man1\" COMMAND_ERROR_IS_FATAL ANY)
    foreach(file bash=bash-completion/completions/tilevm zsh=zsh/site-functions/_tilevm
        fish=fish/vendor_completions.d/tilevm.fish)
      string(REPLACE = \";\" shell_and_file \${file})
      list(GET shell_and_file 0 shell)
      list(GET shell_and_file 1 path)
      cmake_path(GET path PARENT_PATH folder)
      file(MAKE_DIRECTORY \"\${share}/\${folder}\")
      execute_process(COMMAND \"\${command}\" completion \${shell} OUTPUT_FILE \"\${share}/\${path}\"
        COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
  endif()" COMPONENT command)

include(${CMAKE_CURRENT_LIST_DIR}/linked.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilevm)
set(CPACK_PACKAGE_VENDOR "the authors of tilevm")
set(CPACK_PACKAGE_CONTACT "the authors of tilevm <tilevm@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# dpkg-shlibdeps (Debian: dpkg-dev) reads which packages the files need.
find_program(TILEVM_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(TILEVM_SHLIBDEPS)
if(TILEVM_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libedit2")
endif()
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
if(PROJECT_IS_TOP_LEVEL)
  include(CPack)
endif()
