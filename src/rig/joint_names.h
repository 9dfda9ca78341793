/* What a joint's name says: programs write the same joint as LeftForeArm, mixamorig:LeftForeArm, forearm.L, l_lowerarm,
 * Bip01 L Forearm or lForeArm. A name is cut into words, prefixes and separators go, and what remains is looked up. */
#ifndef SPL_RIG_JOINT_NAMES_H
#define SPL_RIG_JOINT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* What a joint is. Those from SPL_PART_FINGERS on are chains, as are the spine and the neck. */
typedef enum spl_body_part {
    SPL_PART_NONE, /* the name says nothing that is known */
    SPL_PART_HIPS,
    SPL_PART_SPINE,
    SPL_PART_NECK,
    SPL_PART_HEAD,
    SPL_PART_CLAVICLE,
    SPL_PART_UPPER_ARM,
    SPL_PART_FOREARM,
    SPL_PART_HAND,
    SPL_PART_HIP_JOINT, /* between the hips and a thigh */
    SPL_PART_THIGH,
    SPL_PART_SHIN,
    SPL_PART_FOOT,
    SPL_PART_TOE,
    SPL_PART_FINGERS, /* all in one */
    SPL_PART_THUMB,
    SPL_PART_INDEX,
    SPL_PART_MIDDLE,
    SPL_PART_RING,
    SPL_PART_PINKY,
    SPL_PART_COUNT,
    /* Words that mean one thing or another; spl_joint_names_read settles them by what else the skeleton has. */
    SPL_WORD_ARM = SPL_PART_COUNT,
    SPL_WORD_LEG,
    SPL_WORD_SHOULDER,
    SPL_WORD_HIP,
    SPL_WORD_ROOT,
} spl_body_part;

enum { SPL_JOINT_WORD = 48 };

typedef struct spl_joint_name {
    char word[SPL_JOINT_WORD]; /* lower case, without side, prefix, number and separators; cut off where too long */
    char side;                 /* 'l', 'r' or 0 */
    int32_t number;            /* the last in the name, -1 for none */
    spl_body_part part;
    spl_body_part helps; /* of a helper (IK, control, twist): the part it is named after; else SPL_PART_NONE */
    bool may_be;         /* of a helper: an IK or control joint, which in some rigs is the part itself */
} spl_joint_name;

/* Reads one name; ambiguous words are left as SPL_WORD_*. */
spl_joint_name spl_joint_name_read(const char *name);

/* Reads the names of a skeleton, parents before children, and settles ambiguous words. */
void spl_joint_names_read(const char *const *names, int32_t count, spl_joint_name *out);

/* Whether two names are the same but for case, separators, prefixes and the way the side is written. */
bool spl_joint_name_same(const spl_joint_name *a, const spl_joint_name *b);

#endif
