/* libFuzzer on the JSON files of materials and forces: every text is read as both. `make fuzz` runs it. */
#include "mutate.h"
#include "settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    supple_allocator a = spl_allocator_of(NULL);
    settings_material(data, size, &a);
    settings_forces(data, size, &a);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static const char *const words[] = {"default", "regions", "forces",  "material", "mesh",   "joint",  "box",
                                        "min",     "max",     "color",   "depth",    "blend",  "young",  "poisson",
                                        "mu",      "lambda",  "density", "vertices", "sphere", "center", "radius",
                                        "force",   "frames",  "ramp",    "name",     "comment"};
    mutator m = {seed, words, sizeof words / sizeof *words};
    return mutate_file(data, size, max_size, &m);
}
