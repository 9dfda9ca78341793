# The page of `supple compare` with its player: target supple_report makes the one file report/report.html in the build tree out of
# report/, and the tool finds it beside itself. It needs node, npm and, the first time, the network for three.js and esbuild, so that
# it is made when it is asked for; without it the tool writes pages of pictures and tables.
option(SUPPLE_REPORT "Build the player of `supple compare` with the tool (needs node 18 and npm)" OFF)
set(SUPPLE_REPORT_DIR ${CMAKE_BINARY_DIR}/report)
file(GLOB SUPPLE_REPORT_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/report/*)
add_custom_command(OUTPUT ${SUPPLE_REPORT_DIR}/report.html
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}/report -DBUILD=${SUPPLE_REPORT_DIR} -P ${CMAKE_SOURCE_DIR}/cmake/report-build.cmake
  DEPENDS ${SUPPLE_REPORT_SOURCES} ${CMAKE_SOURCE_DIR}/cmake/report-build.cmake
  COMMENT "The page of `supple compare`" VERBATIM)
if(SUPPLE_REPORT)
  set(SUPPLE_REPORT_ALL ALL)
endif()
add_custom_target(supple_report ${SUPPLE_REPORT_ALL} DEPENDS ${SUPPLE_REPORT_DIR}/report.html)
install(FILES ${SUPPLE_REPORT_DIR}/report.html DESTINATION ${CMAKE_INSTALL_DATADIR}/supple OPTIONAL)

# Without it the tool writes its pages itself, in the same style and words; the page of `supple batch` always.
foreach(name style.css words.json batch.css sort.js)
  get_filename_component(stem ${name} NAME_WE)
  set(made ${CMAKE_BINARY_DIR}/generated/report_${stem}.c)
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -DFILES=${CMAKE_SOURCE_DIR}/report/${name} -DNAME=cli_report_${stem} -DOUT=${made}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/report/${name} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(supple_tool PRIVATE ${made})
endforeach()
