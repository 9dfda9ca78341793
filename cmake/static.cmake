# The objects as a static library, for programs that see private symbols: supple-import, the tests and the benchmarks.
function(supple_static_library name)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${name} PUBLIC ${SUPPLE_LIBS} supple_options)
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PUBLIC $<$<BOOL:${SUPPLE_HAVE_AVX2}>:SPL_HAVE_AVX2=1>
    SPL_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SPL_DATA_DIR="${CMAKE_SOURCE_DIR}/tests/data"
    $<$<BOOL:${SUPPLE_HAVE_CHOLMOD}>:SPL_CHOLMOD_PLUGIN="$<TARGET_FILE:supple_cholmod>">)
  if(SUPPLE_HAVE_CHOLMOD)
    add_dependencies(${name} supple_cholmod)
  endif()
endfunction()
supple_static_library(supple_static $<TARGET_OBJECTS:supple_objects>)

# The same without SIMD, for its tests: the sources that choose a kernel are compiled once more, the other objects are shared.
if(SUPPLE_HAVE_AVX2)
  foreach(source ${SUPPLE_SOURCES})
    if(EXISTS ${source})
      file(STRINGS ${source} chooses REGEX "SPL_HAVE_AVX2|math/cpu\\.h" LIMIT_COUNT 1)
      if(chooses)
        list(APPEND SUPPLE_CHOOSING_SOURCES ${source})
      endif()
    endif()
  endforeach()
  list(TRANSFORM SUPPLE_CHOOSING_SOURCES REPLACE "^${CMAKE_SOURCE_DIR}/(.*)$" "/\\1.o$" OUTPUT_VARIABLE SUPPLE_CHOOSING_OBJECTS)
  string(REPLACE ";" "|" SUPPLE_CHOOSING_OBJECTS "${SUPPLE_CHOOSING_OBJECTS}")
  add_library(supple_scalar_objects OBJECT EXCLUDE_FROM_ALL ${SUPPLE_CHOOSING_SOURCES})
  target_include_directories(supple_scalar_objects PRIVATE src include)
  target_link_libraries(supple_scalar_objects PRIVATE supple_options ${SUPPLE_LIBS})
  supple_static_library(supple_scalar $<TARGET_OBJECTS:supple_scalar_objects>
    $<FILTER:$<TARGET_OBJECTS:supple_objects>,EXCLUDE,${SUPPLE_CHOOSING_OBJECTS}>)
endif()
