/* Our tet meshes in Debian's gmsh, and gmsh's in our readers. Skipped where there is no gmsh. */
#include "body/formats/tet_file.h"

#include "core/memory.h"
#include "test.h"

#include <unistd.h>

static bool has_gmsh(void)
{
    return system("command -v gmsh >gmsh.log 2>&1") == 0;
}

/* Runs gmsh; false if it failed or reported an error or a warning. */
static bool gmsh(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "gmsh %s -nopopup >gmsh.log 2>&1 && ! grep -E '^(Error|Warning)' gmsh.log",
             arguments);
    return system(command) == 0;
}

/* A ball of eight tets around the origin with uneven positions. */
static spl_tets octahedron(void)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets tets;
    if (!spl_tets_create(&tets, 7, 8, &a)) abort();
    for (int i = 0; i < 3; i++) {
        double x[3] = {0.1, 0.2, 0.3};
        x[i] += 1;
        tets.position[1 + 2 * i] = spl_v3(x[0], x[1], x[2] / 3);
        x[i] -= 2.5;
        tets.position[2 + 2 * i] = spl_v3(x[0], x[1], x[2] / 3);
    }
    for (int i = 0; i < 8; i++) {
        const int32_t v[4] = {0, 1 + (i & 1), 3 + (i >> 1 & 1), 5 + (i >> 2)};
        memcpy(tets.tet + 4 * i, v, sizeof v);
    }
    if (spl_tets_check(&tets, "ball", NULL, NULL) || spl_tets_find_surface(&tets, NULL)) abort();
    return tets;
}

/* Largest difference of a corner's position; -1 if the counts differ. Gmsh numbers the nodes of surfaces first, so the
 * numbers themselves may change. */
static double difference(const spl_tets *a, const spl_tets *b)
{
    if (a->vertex_count != b->vertex_count || a->tet_count != b->tet_count) return -1;
    double largest = 0;
    for (int32_t i = 0; i < 4 * a->tet_count; i++)
        largest = fmax(largest, spl_distance(a->position[a->tet[i]], b->position[b->tet[i]]));
    return largest;
}

static void through_gmsh(const char *path, const spl_tets *tets, spl_tets_save_options options, const char *back)
{
    char arguments[300];
    spl_tets found;
    supple_error error = {0};
    REQUIRE(spl_tets_save(path, tets, &options, NULL, NULL) == SUPPLE_OK);
    snprintf(arguments, sizeof arguments, "%s -check", path);
    CHECK(gmsh(arguments));
    snprintf(arguments, sizeof arguments, "grep -q '%d elements\\|%d tetra\\|%d cells' gmsh.log",
             (int)(tets->tet_count + (options.surface ? tets->surface_count : 0)), (int)tets->tet_count,
             (int)(tets->tet_count + (options.surface ? tets->surface_count : 0)));
    CHECK(system(arguments) == 0);
    snprintf(arguments, sizeof arguments, "%s -save -save_all %s", path, back);
    CHECK(gmsh(arguments));
    const char *output = strrchr(back, ' ') + 1;
    supple_result result = spl_tets_load(output, NULL, &found, NULL, &error);
    if (result) printf("    %s\n", error.message);
    REQUIRE(result == SUPPLE_OK);
    double largest = difference(tets, &found);
    printf("    %s %s: error %g\n", path, back, largest);
    CHECK(largest >= 0 && largest <= 1e-14); /* gmsh writes 16 digits, 15 into a .mesh */
    spl_tets_release(&found);
    unlink(path);
    unlink(output);
    unlink("gmsh.log");
}

TEST(gmsh_reads_ours_and_we_read_its)
{
    if (!has_gmsh()) SKIP("there is no gmsh here");
    spl_tets tets = octahedron();
    through_gmsh("our22.msh", &tets, (spl_tets_save_options){0}, "-format msh41 -o its.msh");
    through_gmsh("our22b.msh", &tets, (spl_tets_save_options){.binary = true, .surface = true},
                 "-format msh41 -bin -o its.msh");
    through_gmsh("our41.msh", &tets, (spl_tets_save_options){.msh41 = true}, "-format msh22 -o its.msh");
    through_gmsh("our41b.msh", &tets, (spl_tets_save_options){.msh41 = true, .binary = true, .surface = true},
                 "-format msh22 -bin -o its.msh");
    through_gmsh("our41s.msh", &tets, (spl_tets_save_options){.msh41 = true, .surface = true},
                 "-format mesh -o its.mesh");
    through_gmsh("our.mesh", &tets, (spl_tets_save_options){.surface = true}, "-format vtk -o its.vtk");
    through_gmsh("our.vtk", &tets, (spl_tets_save_options){.surface = true}, "-format vtk -bin -o its.vtk");
    through_gmsh("ourb.vtk", &tets, (spl_tets_save_options){.binary = true}, "-format msh41 -o its.msh");
    spl_tets_release(&tets);
}

TEST_CASES(RUN(gmsh_reads_ours_and_we_read_its))
