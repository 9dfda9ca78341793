/* Tet meshes from and to files: Gmsh .msh (2.2 and 4.1, ASCII and binary), Medit .mesh (ASCII), legacy .vtk (ASCII and
 * BINARY). Positions survive a round trip bit by bit.
 *
 * Files are not trusted: every count is held against the file's size before memory is taken, every index is checked,
 * and numbers are read and written with a decimal point whatever the locale. */
#ifndef SPL_BODY_FORMATS_TET_FILE_H
#define SPL_BODY_FORMATS_TET_FILE_H

#include "body/tets.h"

/* How to write. A zeroed struct is the default: ASCII, Gmsh 2.2, tets alone. */
typedef struct spl_tets_save_options {
    bool binary;  /* .msh and .vtk; refused for .mesh */
    bool msh41;   /* .msh: format 4.1 instead of 2.2 */
    bool surface; /* the surface's triangles too, if the mesh has them; readers that want tets alone ignore them */
} spl_tets_save_options;

/* Loads, checks (spl_tets_check) and finds the surface. The kind of file is told by how it begins, else by its ending.
 * What was mended goes to the config's log and to `report` (may be NULL). A file that is missing, malformed or holds no
 * good tets is SUPPLE_ERROR_INPUT with the line (text) or byte (binary); *out is then empty. `config` may be NULL. */
supple_result spl_tets_load(const char *path, const supple_config *config, spl_tets *out, spl_tets_report *report,
                            supple_error *error);

/* The same from memory; `name` stands for the path. One byte behind the end is never read. */
supple_result spl_tets_load_memory(const void *data, size_t size, const char *name, const supple_config *config,
                                   spl_tets *out, spl_tets_report *report, supple_error *error);

/* Whether the path ends as one of the formats here does. */
bool spl_tets_known_ending(const char *path);

/* Writes by the path's ending, whole or not at all. An unknown ending is SUPPLE_ERROR_ARGUMENT. `options` and `config`
 * may be NULL. */
supple_result spl_tets_save(const char *path, const spl_tets *tets, const spl_tets_save_options *options,
                            const supple_config *config, supple_error *error);

#endif
