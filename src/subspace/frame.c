#include "subspace/frame.h"

void spl_domain_frame(const spl_drive *drive, int32_t bone, spl_mat3 *R, spl_vec3 *t)
{
    const spl_bone *b = &drive->body->bones.bone[bone];
    spl_vec3 middle = spl_scale(spl_mat3_apply(&drive->stretch, spl_lerp(b->head, b->tail, 0.5)), drive->body->metre);
    *R = spl_quat_to_mat3(spl_drive_turn(drive, bone, 0.5));
    *t = spl_sub(spl_drive_move(drive, bone, 0.5, middle), spl_mat3_apply(R, middle));
}
