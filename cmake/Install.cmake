# cmake --install: the binary, both libraries, headers, pkg-config and CMake packages, man pages, shell completions.

include(CMakePackageConfigHelpers)

install(TARGETS vramscope_static vramscope_shared EXPORT vramscope
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/vramscope TYPE INCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vramscope)
install(EXPORT vramscope NAMESPACE vramscope:: FILE vramscope-targets.cmake DESTINATION ${package_dir})
configure_file(cmake/vramscope-config.cmake.in vramscope-config.cmake @ONLY)
write_basic_package_version_file(vramscope-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vramscope-config.cmake ${PROJECT_BINARY_DIR}/vramscope-config-version.cmake
  DESTINATION ${package_dir})

# The .pc file finds its prefix from where it lies, so the installed tree can be moved.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up "${up}")
configure_file(cmake/vramscope.pc.in vramscope.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/vramscope.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS vramscope)
if(VS_LOADS_INTO_PROGRAMS)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/dryrun DESTINATION ${CMAKE_INSTALL_LIBDIR}/vramscope FILES_MATCHING PATTERN "*.py"
    PATTERN __pycache__ EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/help/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(FILES ${PROJECT_BINARY_DIR}/help/vramscope.bash RENAME vramscope
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_BINARY_DIR}/help/_vramscope DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_BINARY_DIR}/help/vramscope.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
