/* A tet mesh read from any bytes (the format is told by the first ones): whatever is accepted must survive writing and
 * reading unchanged. Shared by the fuzzer and by the test that replays its corpus. */
#ifndef SPL_TESTS_FUZZ_READ_TETS_H
#define SPL_TESTS_FUZZ_READ_TETS_H

#include "body/formats/tet_file.h"
#include "require.h"

#include <string.h>
#include <unistd.h>

static inline void tets_round_trip(const spl_tets *tets, const char *path, const spl_tets_save_options *options)
{
    spl_tets back;
    FUZZ_REQUIRE(spl_tets_save(path, tets, options, NULL, NULL) == SUPPLE_OK);
    FUZZ_REQUIRE(spl_tets_load(path, NULL, &back, NULL, NULL) == SUPPLE_OK);
    FUZZ_REQUIRE(back.vertex_count == tets->vertex_count && back.tet_count == tets->tet_count);
    FUZZ_REQUIRE(memcmp(back.position, tets->position, (size_t)back.vertex_count * sizeof *back.position) == 0);
    FUZZ_REQUIRE(memcmp(back.tet, tets->tet, (size_t)back.tet_count * 4 * sizeof *back.tet) == 0);
    spl_tets_release(&back);
    unlink(path);
}

/* Whether the bytes are a tet mesh. */
static inline bool tets_exercise(const uint8_t *data, size_t size)
{
    supple_error error = {0};
    spl_tets tets;
    supple_result result = spl_tets_load_memory(data, size, "fuzz.mesh", NULL, &tets, NULL, &error);
    if (result) { /* a refusal comes with a reason, in one line, and leaves nothing */
        FUZZ_REQUIRE(error.code == result && error.message[0] && !strchr(error.message, '\n') && !tets.position);
        return false;
    }
    FUZZ_REQUIRE(tets.surface_count >= 4);
    spl_tets_shape shape = spl_tets_quality(&tets);
    FUZZ_REQUIRE(shape.inverted_count == 0 && shape.volume > 0);
    tets_round_trip(&tets, "fuzz-output.vtk", NULL);
    tets_round_trip(&tets, "fuzz-output.msh", &(spl_tets_save_options){.binary = true, .msh41 = true, .surface = true});
    spl_tets_release(&tets);
    return true;
}

#endif
