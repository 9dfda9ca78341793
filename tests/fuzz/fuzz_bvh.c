/* libFuzzer on motions: the .bvh reader, the matching of joints, the map, and the putting on. `make fuzz` runs it. */
#include "motion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static supple_scene *skeleton; /* loading it anew for every input would be most of what the fuzzer does */
    if (!skeleton) skeleton = motion_skeleton();
    motion_require(skeleton != NULL);
    motion_exercise(skeleton, data, size);
    return 0;
}
