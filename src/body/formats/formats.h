/* The formats behind tet_file.h. Readers fill positions and tets (from 0, indices in range) and leave the rest of the
 * checks to spl_tets_check; on failure the caller releases what they took. Writers write to a stream whose thread has
 * the C locale; errors of the stream are the caller's to see. */
#ifndef SPL_BODY_FORMATS_FORMATS_H
#define SPL_BODY_FORMATS_FORMATS_H

#include "body/formats/tet_file.h"
#include "core/scan.h"

#include <stdio.h>

supple_result spl_msh_read(spl_scan *s, spl_tets *out);
supple_result spl_medit_read(spl_scan *s, spl_tets *out);
supple_result spl_vtk_read(spl_scan *s, spl_tets *out);

void spl_msh_write(FILE *f, const spl_tets *tets, const spl_tets_save_options *options);
void spl_medit_write(FILE *f, const spl_tets *tets, const spl_tets_save_options *options);
void spl_vtk_write(FILE *f, const spl_tets *tets, const spl_tets_save_options *options);

/* A position as text: the shorter of 15 and 17 digits that gives the same doubles back. */
typedef struct spl_point_text {
    char text[96];
} spl_point_text;
spl_point_text spl_point_print(spl_vec3 p);

#endif
