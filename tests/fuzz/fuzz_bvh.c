/* libFuzzer on motions: the .bvh reader, the matching of joints, the map, and the putting on. `make fuzz` runs it. */
#include "motion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static supple_scene *hero; /* loading it anew for every input would be all the fuzzer does */
    if (!hero) motion_require(supple_scene_load_file("demo:hero", NULL, &hero, NULL) == SUPPLE_OK);
    motion_exercise(hero, data, size);
    return 0;
}
