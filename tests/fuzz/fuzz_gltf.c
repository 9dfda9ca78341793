/* libFuzzer on the glTF reader and on everything that trusts what it let through. `make fuzz` runs it.
 *
 * A built-in character becomes a seed in the first folder that is named; files that are small and have what it lacks
 * (sparse and quantised accessors, morph targets, several skins) come from the repository, by scripts/run-fuzz.
 *
 * Bytes changed at random rarely get past the JSON parser, so half of the mutations change a value of the JSON: of a
 * .gltf, or of a .glb's first chunk (the rest of the file stays). */
#include "exercise.h"
#include "mutate.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    void *arm = NULL;
    size_t size = 0;
    for (int i = 1; i < *argc; i++) {
        struct stat is;
        char path[4096];
        if ((*argv)[i][0] == '-' || stat((*argv)[i], &is) != 0 || !S_ISDIR(is.st_mode)) continue;
        snprintf(path, sizeof path, "%s/demo-arm.glb", (*argv)[i]);
        FILE *file = access(path, R_OK) == 0 ? NULL : fopen(path, "wb");
        if (!file) break;
        if (supple_demo_make("arm", 0.25, NULL, &arm, &size, NULL) == SUPPLE_OK) fwrite(arm, 1, size, file);
        fclose(file);
        supple_bytes_free(arm, NULL);
        break;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    exercise(data, size);
    return 0;
}

/* ---- the mutator ------------------------------------------------------------------------------------------------ */

static size_t get_u32(const uint8_t *p)
{
    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

static void put_u32(uint8_t *p, size_t value)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(value >> 8 * i);
}

/* The file with another JSON; 0 if that does not fit. */
static size_t rebuild(uint8_t *data, size_t size, size_t max_size, size_t begin, size_t end, const char *json)
{
    size_t length = strlen(json), tail = size - end;
    if (begin + length + tail > max_size) return 0;
    memmove(data + begin + length, data + end, tail);
    memcpy(data + begin, json, length);
    size_t total = begin + length + tail;
    if (begin == 20) {
        put_u32(data + 8, total);
        put_u32(data + 12, length);
    }
    return total;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static const char *const words[] = {
        "CUBICSPLINE", "STEP",    "VEC3",      "VEC4",     "SCALAR",     "MASK",       "sparse",     "byteStride",
        "matrix",      "weights", "WEIGHTS_1", "JOINTS_1", "COLOR_0",    "TANGENT",    "skin",       "mesh",
        "children",    "targets", "material",  "POSITION", "ATTRIBUTES", "OCTAHEDRAL", "normalized", "TEXCOORD_0"};
    mutator m = {seed, words, sizeof words / sizeof *words};
    bool binary = size > 20 && memcmp(data, "glTF", 4) == 0;
    size_t begin = binary ? 20 : 0, length = binary ? get_u32(data + 12) : size;
    char *text = NULL;
    if (mutate_next(&m) % 2 && length <= size - begin) text = mutate_text(data + begin, length, &m);
    size_t total = text ? rebuild(data, size, max_size, begin, begin + length, text) : 0;
    free(text);
    return total ? total : LLVMFuzzerMutate(data, size, max_size);
}
