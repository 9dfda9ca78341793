/* libFuzzer on the glTF reader and on everything that trusts what it let through. `make fuzz` runs it. */
#include "exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    exercise(data, size);
    return 0;
}
