# libsupple-cholmod.so: CHOLMOD behind supple/plugin.h, built where CHOLMOD is found. The built file is under the GPL.
option(SUPPLE_CHOLMOD "Build the CHOLMOD plug-in if CHOLMOD is there" ON)
find_path(CHOLMOD_INCLUDE_DIR cholmod.h PATH_SUFFIXES suitesparse)
find_library(CHOLMOD_LIBRARY cholmod)
find_library(OPENBLAS_LIBRARY openblas) # linked by name so that it can be held to one thread
if(SUPPLE_CHOLMOD AND CHOLMOD_INCLUDE_DIR AND CHOLMOD_LIBRARY)
  set(SUPPLE_HAVE_CHOLMOD ON)
  add_library(supple_cholmod MODULE ${CMAKE_CURRENT_LIST_DIR}/cholmod.c)
  set_target_properties(supple_cholmod PROPERTIES OUTPUT_NAME supple-cholmod LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(supple_cholmod PRIVATE include)
  target_include_directories(supple_cholmod SYSTEM PRIVATE ${CHOLMOD_INCLUDE_DIR})
  target_link_libraries(supple_cholmod PRIVATE supple_options ${CHOLMOD_LIBRARY} $<$<BOOL:${OPENBLAS_LIBRARY}>:${OPENBLAS_LIBRARY}>)
  # Threads of OpenBLAS and OpenMP may outlive a dlclose: the code under them must stay.
  target_link_options(supple_cholmod PRIVATE -Wl,-z,nodelete)
  install(TARGETS supple_cholmod LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
else()
  message(STATUS "CHOLMOD not found: libsupple-cholmod.so is not built; the library's own solver serves alone")
endif()
