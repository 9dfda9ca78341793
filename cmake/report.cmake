# The page of `supple compare`: report/ becomes the one file report/report.html in the build tree, which the tool finds beside itself.
# It needs node, npm and, the first time, the network for three.js and esbuild. Whatever is missing, the tool is built: only its
# pages cannot be written then, and a message says what to do.
option(SUPPLE_REPORT "Build the page of `supple compare` (needs node 18 and npm)" ON)
set(SUPPLE_REPORT_HINT "`supple compare` will have no page; configure with -DSUPPLE_REPORT=OFF to build without it")
if(SUPPLE_REPORT)
  find_program(SUPPLE_NODE NAMES node nodejs)
  find_program(SUPPLE_NPM NAMES npm)
  set(SUPPLE_NODE_VERSION 0)
  if(SUPPLE_NODE)
    execute_process(COMMAND ${SUPPLE_NODE} --version OUTPUT_VARIABLE SUPPLE_NODE_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    string(REGEX REPLACE "^v" "" SUPPLE_NODE_VERSION "${SUPPLE_NODE_VERSION}")
  endif()
  if(NOT SUPPLE_NODE OR NOT SUPPLE_NPM)
    message(STATUS "The page of `supple compare` is left out: it needs node and npm (scripts/install-deps report)")
  elseif(SUPPLE_NODE_VERSION VERSION_LESS 18)
    message(STATUS "The page of `supple compare` is left out: it needs node 18, here is ${SUPPLE_NODE_VERSION}")
  else()
    set(SUPPLE_REPORT_DIR ${CMAKE_BINARY_DIR}/report)
    file(GLOB SUPPLE_REPORT_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/report/*)
    # If the packages cannot be fetched the command ends well without its output, and is tried again by the next build.
    add_custom_command(OUTPUT ${SUPPLE_REPORT_DIR}/report.html
      COMMAND ${CMAKE_COMMAND} -DNODE=${SUPPLE_NODE} -DNPM=${SUPPLE_NPM} -DSOURCE=${CMAKE_SOURCE_DIR}/report -DBUILD=${SUPPLE_REPORT_DIR}
              "-DHINT=${SUPPLE_REPORT_HINT}" -P ${CMAKE_SOURCE_DIR}/cmake/report-build.cmake
      DEPENDS ${SUPPLE_REPORT_SOURCES} ${CMAKE_SOURCE_DIR}/cmake/report-build.cmake
      COMMENT "The page of `supple compare`" VERBATIM)
    add_custom_target(supple_report ALL DEPENDS ${SUPPLE_REPORT_DIR}/report.html)
    add_dependencies(supple_tool supple_report)
    install(FILES ${SUPPLE_REPORT_DIR}/report.html DESTINATION ${CMAKE_INSTALL_DATADIR}/supple OPTIONAL)
  endif()
endif()
