/* libFuzzer on the JSON files of materials and forces: every text is read as both. `make fuzz` runs it. */
#include "settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    supple_allocator a = spl_allocator_of(NULL);
    settings_material(data, size, &a);
    settings_forces(data, size, &a);
    return 0;
}
