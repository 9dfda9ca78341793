/* libFuzzer on small files (small.h): vertex animations, images, and the JSON of colliders, joint limits, maps of
 * joints and regions of sliding skin. The first byte is the kind's letter. `make fuzz` runs it. */
#include "small.h"

#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static small_world world; /* making it anew for every input would be most of what the fuzzer does */
    if (!world.skeleton) world = small_make();
    small_exercise(&world, data, size);
    return 0;
}

/* ---- the mutator ------------------------------------------------------------------------------------------------ */

static uint32_t crc_of(const uint8_t *p, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* Checksums of a PNG's chunks, as far as its lengths make sense. */
static void repair_png(uint8_t *data, size_t size)
{
    for (size_t at = 8; at + 12 <= size;) {
        size_t length = (size_t)data[at] << 24 | (size_t)data[at + 1] << 16 | (size_t)data[at + 2] << 8 | data[at + 3];
        if (length > size - at - 12) return;
        uint32_t crc = crc_of(data + at + 4, length + 4);
        for (size_t i = 0; i < 4; i++) data[at + 8 + length + i] = (uint8_t)(crc >> (24 - 8 * i));
        at += 12 + length;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static const char *const words[] = {
        "colliders", "sphere", "capsule", "plane",    "center", "radius", "from",  "to",      "point",     "normal",
        "keys",      "time",   "move",    "turn",     "joints", "min",    "max",   "still",   "spine",     "thigh*",
        "Hips",      "Spine",  "Odd",     "hips",     "neck",   "head",   "mesh",  "joint",   "regions",   "border",
        "fixed",     "free",   "sliding", "material", "sheet",  "box",    "color", "curve",   "tolerance", "skin",
        "zeta",      "drag",   "root",    "tip",      "name",   "*",      "",      "comment", "stiffness", "prestrain"};
    mutator m = {seed, words, sizeof words / sizeof *words};
    if (size < 2 || max_size < 2) return LLVMFuzzerMutate(data, size, max_size);
    if (mutate_next(&m) % 64 == 0) *data = (uint8_t) "piclms"[mutate_next(&m) % 6];
    bool binary = *data == 'p' || *data == 'i';
    size_t total = 1 + (binary ? LLVMFuzzerMutate(data + 1, size - 1, max_size - 1)
                               : mutate_file(data + 1, size - 1, max_size - 1, &m));
    if (*data == 'i' && mutate_next(&m) % 8) repair_png(data + 1, total - 1);
    return total;
}
