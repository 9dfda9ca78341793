# The objects as a static library, for programs that see private symbols: supple-import, the tests and the benchmarks.
add_library(supple_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:supple_objects>)
target_link_libraries(supple_static PUBLIC ${SUPPLE_LIBS} supple_options)
target_include_directories(supple_static PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(supple_static PUBLIC $<$<BOOL:${SUPPLE_HAVE_AVX2}>:SPL_HAVE_AVX2=1>
  SPL_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SPL_SHARED_DIR="${CMAKE_SOURCE_DIR}/../shared"
  $<$<BOOL:${SUPPLE_HAVE_CHOLMOD}>:SPL_CHOLMOD_PLUGIN="$<TARGET_FILE:supple_cholmod>">)
if(SUPPLE_HAVE_CHOLMOD)
  add_dependencies(supple_static supple_cholmod)
endif()
