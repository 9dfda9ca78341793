/* The rigid frame that a domain moves with: its bone's, at the middle of the bone, where a twist that is spread along
 * it is halfway. Displacements seen from there are about half as large as seen from either end. */
#ifndef SPL_SUBSPACE_FRAME_H
#define SPL_SUBSPACE_FRAME_H

#include "body/drive.h"

/* x = R X' + t for the rest shape's points. Rigid also where a clip scales the bone. */
void spl_domain_frame(const spl_drive *drive, int32_t bone, spl_mat3 *R, spl_vec3 *t);

#endif
