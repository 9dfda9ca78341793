/* libFuzzer on the readers of control points. `make fuzz` runs it. */
#include "read_points.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    points_exercise(data, size);
    return 0;
}
