/* Which bones turn which tetrahedra: the rotation clusters of the mixed paper (section 3.1, figure 5), and `smooth`,
 * which blends them across joints (the answer to figure 9). */
#ifndef SPL_METHODS_MIXED_CLUSTERS_H
#define SPL_METHODS_MIXED_CLUSTERS_H

#include "body/solid.h"
#include "core/threads.h"

typedef enum spl_cluster_kind {
    SPL_CLUSTER_SMOOTH,    /* quaternions blended by harmonic weights */
    SPL_CLUSTER_BONE,      /* the nearest bone segment */
    SPL_CLUSTER_JOINT,     /* the nearest joint */
    SPL_CLUSTER_MIDPOINT,  /* the nearest middle of a bone */
    SPL_CLUSTER_HIERARCHY, /* at the nearest joint, the bone of the chain that points most towards the tet */
    SPL_CLUSTER_USER,      /* as `bone`; meant for files whose regions name their joint, which counts in every kind */
} spl_cluster_kind;

typedef struct spl_clusters {
    supple_allocator allocator;
    int32_t count, influences; /* tets; bones a tet: 1, or SPL_BONE_INFLUENCES for smooth */
    int32_t *bone;             /* influences x count; -1 where unused */
    float *along;              /* the same: how far along the bone the tet is */
    float *weight;             /* the same; NULL with one influence */
    float *sharp;              /* the same, sharpened: they blend what bends, `weight` what twists */
    spl_vec3 *axis;            /* count: the strongest bone's direction, about which flesh twists */
    bool *strangers;           /* count: bones of different limbs share the tet; NULL with one influence */
    bool *kin;                 /* bones x bones: one hangs on the other, by however many joints */
    int32_t bone_count;
} spl_clusters;

/* `sharpness` is the power to which smooth takes the weights that blend bends: 1 blends over the whole way between two
 * bones' held vertices, large ones cut as `bone` does. Twists are always blended over the whole way. */
supple_result spl_clusters_create(const spl_solid *solid, spl_cluster_kind kind, double sharpness, spl_clusters *out,
                                  supple_error *error);
void spl_clusters_release(spl_clusters *c);

/* The rotations of this pose, 9 doubles a tet, column-major. `discord` (by tet, or NULL): how far bones of different
 * limbs disagree about it, 0 to 1, sum_ij 4 w_i w_j sin^2 of half the angle between them: for two at equal weights 0 if
 * they turn alike, 1 if they are half a turn apart. Joints along one limb are not counted: it bends between them. */
void spl_clusters_rotations(const spl_clusters *c, const spl_drive *drive, double *rotation, float *discord,
                            spl_pool *pool);

#endif
