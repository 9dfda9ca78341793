# `make install`: the tool, the library with its headers, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)
install(TARGETS supple_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS libsupple EXPORT supple-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# 33 MB that few need: `cmake --install BUILD --component bench` installs the benchmarks that were built.
if(SUPPLE_BENCHES)
  install(TARGETS ${SUPPLE_BENCHES} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/supple COMPONENT bench EXCLUDE_FROM_ALL OPTIONAL)
endif()
install(DIRECTORY include/supple DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# The manual page is what the tool prints about itself; the shell's completion asks the tool.
if(NOT CMAKE_CROSSCOMPILING)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/supple.1 COMMAND supple_tool --man > ${CMAKE_BINARY_DIR}/supple.1 DEPENDS supple_tool)
  add_custom_target(supple_man ALL DEPENDS ${CMAKE_BINARY_DIR}/supple.1)
  install(FILES ${CMAKE_BINARY_DIR}/supple.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES scripts/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME supple)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES examples/CMakeLists.txt examples/hello.c examples/realtime.c examples/playback.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(EXPORT supple-targets NAMESPACE supple:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/supple)
configure_package_config_file(cmake/supple-config.cmake.in supple-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/supple)
write_basic_package_version_file(supple-config-version.cmake COMPATIBILITY SameMinorVersion)
# The prefix is found from where supple.pc lies, so an installation by --prefix or DESTDIR, or a copied one, is right too.
file(RELATIVE_PATH SUPPLE_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" SUPPLE_PC_PREFIX "${SUPPLE_PC_PREFIX}")
configure_file(cmake/supple.pc.in supple.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/supple-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/supple-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/supple)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/supple.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
