# cmake -DNODE= -DNPM= -DSOURCE=report -DBUILD=BUILD/report -DHINT= -P report-build.cmake: fetches the packages of the lock file into the build
# tree, once for each lock file, and makes BUILD/report.html. A failure is told and removes the page, but is none of the build's.
file(MAKE_DIRECTORY ${BUILD})
function(give_up what log)
  file(REMOVE ${BUILD}/report.html)
  string(REGEX MATCH "[^\n]*(ERR|rror)[^\n]*" line "${log}")
  message(STATUS "The page of `supple compare` was not made: ${what}: ${line}\n   (the whole message is in ${BUILD}/report.log)\n   ${HINT}")
endfunction()

file(SHA256 ${SOURCE}/package-lock.json wanted)
set(fetched "")
if(EXISTS ${BUILD}/fetched)
  file(READ ${BUILD}/fetched fetched)
endif()
if(NOT fetched STREQUAL wanted)
  file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json ${SOURCE}/.npmrc DESTINATION ${BUILD})
  # Nothing of the packages runs at installation. One quick retry: without a network the tool should not wait for its page.
  execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1 --fetch-retry-mintimeout=1000
                          --fetch-retry-maxtimeout=2000 --fetch-timeout=60000
    WORKING_DIRECTORY ${BUILD} TIMEOUT 300 RESULT_VARIABLE code OUTPUT_VARIABLE log ERROR_VARIABLE log)
  file(WRITE ${BUILD}/report.log "${log}")
  if(NOT code EQUAL 0)
    give_up("the packages three and esbuild could not be fetched (`npm ci` in ${BUILD}: ${code})" "${log}")
    return()
  endif()
  file(WRITE ${BUILD}/fetched ${wanted})
endif()
execute_process(COMMAND ${NODE} ${SOURCE}/build.mjs ${SOURCE} ${BUILD} ${BUILD}/report.html
  RESULT_VARIABLE code OUTPUT_VARIABLE log ERROR_VARIABLE log)
file(WRITE ${BUILD}/report.log "${log}")
if(NOT code EQUAL 0)
  give_up("esbuild stopped" "${log}")
endif()
