/* libFuzzer on the readers of tet meshes and on what trusts them. `make fuzz` runs it. */
#include "read_tets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tets_exercise(data, size);
    return 0;
}
