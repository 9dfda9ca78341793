# libsupple-mpi.so: messages between the processes of `supple train --mpi`, built where MPI is found.
option(SUPPLE_MPI "Build the MPI plug-in if MPI is there" ON)
find_program(SUPPLE_MPICC NAMES mpicc) # asked first: looking for MPI where there is none takes a second
if(SUPPLE_MPI AND SUPPLE_MPICC)
  set(MPI_C_COMPILER ${SUPPLE_MPICC})
  find_package(MPI QUIET COMPONENTS C)
endif()
if(SUPPLE_MPI AND MPI_C_FOUND)
  set(SUPPLE_HAVE_MPI ON)
  add_library(supple_mpi MODULE ${CMAKE_CURRENT_LIST_DIR}/mpi.c)
  set_target_properties(supple_mpi PROPERTIES OUTPUT_NAME supple-mpi LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
    SKIP_BUILD_RPATH ON) # the system finds MPI, or who chose another one (`module load`)
  target_include_directories(supple_mpi PRIVATE include)
  target_include_directories(supple_mpi SYSTEM PRIVATE ${MPI_C_INCLUDE_DIRS})
  target_link_libraries(supple_mpi PRIVATE supple_options ${MPI_C_LIBRARIES})
  # Open MPI has plug-ins and threads of its own, which outlive a dlclose.
  target_link_options(supple_mpi PRIVATE -Wl,-z,nodelete)
  install(TARGETS supple_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
else()
  message(STATUS "MPI not found: libsupple-mpi.so is not built (scripts/install-deps cluster); `supple train --mpi` says so")
endif()
