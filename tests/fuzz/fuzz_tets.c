/* libFuzzer on the readers of tet meshes (the format is told by the first bytes) and on what trusts them: whatever is
 * accepted must survive writing and reading unchanged. `make fuzz` runs it. */
#include "body/formats/tet_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) abort();
}

static void round_trip(const spl_tets *tets, const char *path, const spl_tets_save_options *options)
{
    spl_tets back;
    require(spl_tets_save(path, tets, options, NULL, NULL) == SUPPLE_OK);
    require(spl_tets_load(path, NULL, &back, NULL, NULL) == SUPPLE_OK);
    require(back.vertex_count == tets->vertex_count && back.tet_count == tets->tet_count);
    require(memcmp(back.position, tets->position, (size_t)back.vertex_count * sizeof *back.position) == 0);
    require(memcmp(back.tet, tets->tet, (size_t)back.tet_count * 4 * sizeof *back.tet) == 0);
    spl_tets_release(&back);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    supple_error error = {0};
    spl_tets tets;
    supple_result result = spl_tets_load_memory(data, size, "fuzz.mesh", NULL, &tets, NULL, &error);
    if (result) { /* a refusal comes with a reason, in one line, and leaves nothing */
        require(error.code == result && error.message[0] && !strchr(error.message, '\n') && !tets.position);
        return 0;
    }
    require(tets.surface_count >= 4);
    spl_tets_shape shape = spl_tets_quality(&tets);
    require(shape.inverted_count == 0 && shape.volume > 0);
    round_trip(&tets, "fuzz-output.vtk", NULL);
    round_trip(&tets, "fuzz-output.msh", &(spl_tets_save_options){.binary = true, .msh41 = true, .surface = true});
    spl_tets_release(&tets);
    return 0;
}
