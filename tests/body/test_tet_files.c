#include "body/formats/tet_file.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/timer.h"
#include "failing.h"
#include "test.h"

#include <dirent.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

/* Every form that can be written. */
typedef struct form {
    const char *path;
    spl_tets_save_options options;
} form;
static const form forms[] = {
    {"tets22.msh", {0}},
    {"tets22b.msh", {.binary = true}},
    {"tets41.msh", {.msh41 = true}},
    {"tets41b.msh", {.msh41 = true, .binary = true}},
    {"tets22s.msh", {.surface = true}},
    {"tets22bs.msh", {.binary = true, .surface = true}},
    {"tets41s.msh", {.msh41 = true, .surface = true}},
    {"tets41bs.msh", {.msh41 = true, .binary = true, .surface = true}},
    {"tets.mesh", {0}},
    {"tets_s.mesh", {.surface = true}},
    {"tets.vtk", {0}},
    {"tets_b.vtk", {.binary = true}},
    {"tets_s.vtk", {.surface = true}},
    {"tets_bs.vtk", {.binary = true, .surface = true}},
};
enum { FORMS = sizeof forms / sizeof *forms };

static bool load_text(const char *text, spl_tets *out, supple_error *error)
{
    return spl_tets_load_memory(text, strlen(text), "f.mesh", NULL, out, NULL, error) == SUPPLE_OK;
}

/* Two tets on a face, with positions that no short decimal gives. */
static spl_tets pair(void)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets tets;
    if (!spl_tets_create(&tets, 5, 2, &a)) abort();
    const spl_vec3 x[5] = {
        {-0.0, 1e-17, 0.1 + 0.2}, {1.0 / 3, 0, 5e-324}, {0, 1e5 / 7, 0}, {0.5, 0.5, -M_PI}, {0, 0, 2}};
    const int32_t v[8] = {0, 1, 2, 3, 0, 1, 2, 4};
    memcpy(tets.position, x, sizeof x);
    memcpy(tets.tet, v, sizeof v);
    if (spl_tets_check(&tets, "pair", NULL, NULL) || spl_tets_find_surface(&tets, NULL)) abort();
    return tets;
}

static bool same(const spl_tets *a, const spl_tets *b)
{
    return a->vertex_count == b->vertex_count && a->tet_count == b->tet_count && a->surface_count == b->surface_count &&
           memcmp(a->position, b->position, (size_t)a->vertex_count * sizeof *a->position) == 0 &&
           memcmp(a->tet, b->tet, 4 * (size_t)a->tet_count * sizeof *a->tet) == 0 &&
           memcmp(a->surface, b->surface, 3 * (size_t)a->surface_count * sizeof *a->surface) == 0;
}

static void round_trip(const spl_tets *tets, bool show)
{
    for (int i = 0; i < FORMS; i++) {
        supple_error error = {0};
        spl_tets back;
        CHECK(spl_tets_save(forms[i].path, tets, &forms[i].options, NULL, &error) == SUPPLE_OK);
        double start = spl_now_ms();
        CHECK(spl_tets_load(forms[i].path, NULL, &back, NULL, &error) == SUPPLE_OK);
        double ms = spl_now_ms() - start;
        if (error.code) printf("    %s: %s\n", forms[i].path, error.message);
        if (show) printf("    %-14s read in %.1f ms\n", forms[i].path, ms);
        CHECK(error.code == SUPPLE_OK && same(tets, &back));
        spl_tets_release(&back);
        unlink(forms[i].path);
    }
}

TEST(every_form_round_trips_bit_by_bit)
{
    spl_tets tets = pair();
    round_trip(&tets, false);
    spl_tets_release(&tets);
}

/* A locale with a decimal comma, as glibc's localedef compiles one: LC_NUMERIC alone, in the current folder. */
static bool set_comma(void)
{
    static const struct {
        uint32_t magic, count, offset[6]; /* from the beginning of the file */
        char text[4];                     /* the point, the separator of thousands, and how they group */
        uint32_t point, separator;        /* as wide characters */
        char code[16];
    } numeric = {0x20031115 ^ 1, 6, {32, 34, 35, 36, 40, 44}, ",", ',', 0, "ANSI_X3.4-1968"};
    FILE *file = mkdir("comma", 0755) == 0 ? fopen("comma/LC_NUMERIC", "wb") : NULL;
    if (!file) return false;
    fwrite(&numeric, 1, 59, file);
    fclose(file);
    setenv("LOCPATH", ".", 1);
    return setlocale(LC_NUMERIC, "comma") != NULL;
}

TEST(the_locale_does_not_matter)
{
    if (!set_comma()) SKIP("the C library takes no locale of glibc's form from LOCPATH");
    char text[16];
    snprintf(text, sizeof text, "%.1f", 1.5);
    CHECK(strcmp(text, "1,5") == 0);
    spl_tets tets = pair();
    round_trip(&tets, false);
    spl_tets_release(&tets);
    setlocale(LC_NUMERIC, "C");
}

/* ---- the given files -------------------------------------------------------------------------------------------- */

static void given(const char *path, int32_t vertices, int32_t count, int32_t surface, double volume)
{
    supple_error error = {0};
    spl_tets tets;
    spl_tets_report report;
    double start = spl_now_ms();
    supple_result result = spl_tets_load(path, NULL, &tets, &report, &error);
    double ms = spl_now_ms() - start;
    if (result) printf("    %s\n", error.message);
    REQUIRE(result == SUPPLE_OK);
    CHECK(tets.vertex_count == vertices && tets.tet_count == count && tets.surface_count == surface);
    CHECK(report.component_count == 1 && report.unused_vertices == 0);
    spl_tets_shape shape = spl_tets_quality(&tets);
    CHECK(shape.inverted_count == 0 && shape.min_volume > 0 && report.reoriented == 0);
    CHECK_NEAR(shape.volume / volume, 1, 1e-12);
    printf("    %d tets in %.1f ms; reoriented %d, volume %.6g, dihedral %.3f to %.3f degrees\n", (int)tets.tet_count,
           ms, (int)report.reoriented, shape.volume, shape.min_dihedral, shape.max_dihedral);
    round_trip(&tets, true);
    spl_tets_release(&tets);
}

/* By tetgen; counts and volumes as numpy reads them. */
TEST(medit_of_tetgen)
{
    given(SPL_DATA_DIR "/arm.mesh", 499, 1659, 812, 0.0033149822376896797);
}

TEST(msh_of_tetgen)
{
    given(SPL_DATA_DIR "/quadruped.msh", 723, 2236, 1196, 128849.89974837986);
}

TEST(a_bad_index_is_named)
{
    const char *path = SPL_DATA_DIR "/bad/tet_index_out_of_range.mesh";
    supple_error error = {0};
    spl_tets tets;
    CHECK(spl_tets_load(path, NULL, &tets, NULL, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, ":1329: tet 10: vertex 99999999 is not between 1 and 499"));
    CHECK(!tets.position && !tets.tet && !tets.surface);
    printf("    %s\n", strstr(error.message, "tet_index"));
}

/* ---- dialects --------------------------------------------------------------------------------------------------- */

/* Loads text that holds the unit tet; its last vertex must be (0, 0, 1). */
static void unit_tet(const char *text)
{
    spl_tets tets;
    supple_error error = {0};
    bool ok = load_text(text, &tets, &error);
    if (!ok) printf("    %s\n", error.message);
    REQUIRE(ok);
    CHECK(tets.tet_count == 1 && tets.vertex_count == 4 && tets.surface_count == 4);
    CHECK_NEAR(spl_tets_quality(&tets).volume, 1.0 / 6, 1e-15);
    CHECK(tets.position[3].z == 1);
    spl_tets_release(&tets);
}

#define UNIT_NODES "1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"

TEST(dialects_of_medit)
{
    unit_tet("MeshVersionFormatted\n2\n\nDimension\n3\n# a comment\nTetrahedra 1 # one\n1 2 3 4 -7\nVertices 4\r\n"
             "0 0 0 0\r\n1 0.D0 0 0\r\n0 1e0 .0 3\r\n0 0 1. 0\r\nRequiredVertices\n2\n1\n2\nEnd\n1 2 3 garbage");
    unit_tet("MeshVersionFormatted 1 Dimension 3 Vertices 4 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 0 Tetrahedra 1 1 2 4 3 0");
    /* The ending decides where the beginning says nothing. */
    unit_tet("# made by hand\nMeshVersionFormatted 1\nDimension 3\nVertices\n4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n"
             "Hexahedra\n0\nTetrahedra\n1\n2 1 3 4 0\n");
}

TEST(dialects_of_msh)
{
    unit_tet("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"flesh "
             "$Nodes\"\n$EndPhysicalNames\n$Nodes\n4\n" UNIT_NODES
             "$EndNodes\n$Elements\n3\n1 15 2 0 1 1\n2 2 3 0 1 5 1 2 3\n3 4 4 0 1 1 1 1 2 3 4\n$EndElements\n");
    /* Tags with gaps, out of order. */
    unit_tet("$MeshFormat\r\n2.1 0 8\r\n$EndMeshFormat\r\n$Nodes\r\n4\r\n70 0 0 0\r\n-2 1 0 0\r\n9 0 1 0\r\n5 0 0 1\r\n"
             "$EndNodes\r\n$Elements\r\n1\r\n1 4 0 70 -2 9 5\r\n$EndElements\r\n");
    unit_tet("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n1 0 0 0 1 1 1 0 0\n$EndEntities\n"
             "$Nodes\n3 4 2 90\n0 1 0 1\n2\n0 0 0\n2 1 1 2\n90\n4\n1 0 0 0.5 0.5\n0 1 0 0.5 0.5\n3 1 0 1\n3\n0 0 "
             "1\n$EndNodes\n"
             "$Elements\n2 3 1 3\n2 1 2 2\n1 2 90 4\n2 2 4 3\n3 1 4 1\n3 2 90 4 3\n$EndElements\n$NodeData\n");
}

TEST(dialects_of_vtk)
{
#define VTK        "# vtk DataFile Version 4.2\nany title at all\nASCII\nDATASET UNSTRUCTURED_GRID\n"
#define VTK_POINTS "POINTS 4 float\n0 0 0 1 0 0\n0 1 0\n0 0 1\n"
    unit_tet(VTK VTK_POINTS "CELLS 2 9\n3 0 1 2\n4 0 1 2 3\nCELL_TYPES 2\n5\n10\nPOINT_DATA 4\nSCALARS a float\n");
    unit_tet(
        "# vtk DataFile Version 5.1\nvtk output\nASCII\nDATASET UNSTRUCTURED_GRID\nFIELD FieldData 1\nTIME 1 1 double\n"
        "0.25\n" VTK_POINTS "METADATA\nINFORMATION 1\nNAME x LOCATION y\n\nCELLS 3 7\nOFFSETS vtktypeint64\n0 3 7\n"
        "CONNECTIVITY vtktypeint64\n0 1 2 0 1 2 3\nCELL_TYPES 2\n5\n10\n");
}

/* The same file with every number of four or eight bytes turned round. */
static void turn(uint8_t *p, int width)
{
    for (int i = 0; i < width / 2; i++) {
        uint8_t t = p[i];
        p[i] = p[width - 1 - i];
        p[width - 1 - i] = t;
    }
}

TEST(the_other_byte_order)
{
    spl_tets tets = pair(), back;
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t *data;
    size_t size;
    REQUIRE(spl_tets_save("swap.msh", &tets, &(spl_tets_save_options){.binary = true}, NULL, NULL) == SUPPLE_OK);
    REQUIRE(spl_file_read("swap.msh", 1 << 20, &a, &data, &size, NULL) == SUPPLE_OK);
    uint8_t *p = (uint8_t *)strstr((char *)data, "2.2 1 8\n") + 8;
    turn(p, 4);
    p = (uint8_t *)memmem(data, size, "$Nodes\n5\n", 9) + 9;
    for (int i = 0; i < 5; i++, p += 28) {
        turn(p, 4);
        for (int k = 0; k < 3; k++) turn(p + 4 + 8 * k, 8);
    }
    p = (uint8_t *)memmem(data, size, "$Elements\n2\n", 12) + 12;
    for (int i = 0; i < 3 + 2 * 7; i++) turn(p + 4 * i, 4);
    supple_error error = {0};
    CHECK(spl_tets_load_memory(data, size, "swap", NULL, &back, NULL, &error) == SUPPLE_OK);
    CHECK(!error.code && same(&tets, &back));
    if (error.code) printf("    %s\n", error.message);
    spl_tets_release(&back);
    spl_tets_release(&tets);
    spl_free(&a, data);
    unlink("swap.msh");
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

static void refused(const char *text, const char *want)
{
    spl_tets tets;
    supple_error error = {0};
    CHECK(spl_tets_load_memory(text, strlen(text), "f.mesh", NULL, &tets, NULL, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, want) && !tets.position);
    if (!strstr(error.message, want)) printf("    '%s' is not '%s'\n", error.message, want);
    if (tets.position) spl_tets_release(&tets);
}

#define MSH2  "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n" UNIT_NODES "$EndNodes\n$Elements\n"
#define MEDIT "MeshVersionFormatted 1\nDimension 3\nVertices\n4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\nTetrahedra\n"

TEST(malformed_files_are_refused_with_the_line)
{
    refused("", "f.mesh:1: the file ends early");
    refused("solid", "begins with 'MeshVersionFormatted'");
    refused("MeshVersionFormatted 1\nDimension 2\n", ":2: a mesh in 2 dimensions");
    refused(MEDIT "2000000000\n1 2 3 4 0\n", ":10: 2000000000 Tetrahedra are more");
    refused(MEDIT "500000000\n1 2 3 4 0\n", ":10: 500000000 Tetrahedra do not fit");
    refused(MEDIT "-1\n1 2 3 4 0\n", ":10: a negative number");
    refused(MEDIT "2\n1 2 3 4 0\n", "ends early");
    refused(MEDIT "1\n1 2 3 4 0\n1 2 3 4 0\n", ":12: more Tetrahedra than the 1 announced");
    refused(MEDIT "1\n1 2 3 0 0\n", ":11: tet 1: vertex 0 ");
    refused(MEDIT "1\n1 2 3 5 0\n", "vertex 5 is not between 1 and 4");
    refused(MEDIT "1\n1 2 3 1e9 0\n", "'1e9' is not a whole number");
    refused(MEDIT "1\n1 2 3 99999999999999999999 0\n", "is not a whole number");
    refused(MEDIT "1\n1 2 2 4 0\n", "tet 1 uses vertex 2 twice");
    refused(MEDIT "2\n1 2 3 4 0\n2 1 4 3 0\n", "tet 2 is tet 1 again");
    refused("MeshVersionFormatted 1\nVertices 1\n0 nan 0 0\nTetrahedra 0\n", ":3: 'nan' is not a number");
    refused("MeshVersionFormatted 1\nVertices 1\n0 1e999 0 0\nTetrahedra 0\n", ":3: '1e999' is not a number that");
    refused("MeshVersionFormatted 1\nVertices 1\n0 0x10 0 0\nTetrahedra 0\n", ":3: '0x10' is not a number");
    refused("MeshVersionFormatted 1\nVertices 1\n0 0 0 0\n", "no section 'Tetrahedra'");
    refused(MSH2 "1\n1 4 2 0 1 1 2 3 5\n$EndElements\n", ":13: tet 1 (element 1): there is no node 5");
    refused(MSH2 "1\n1 4 2 0 1 1 2 3 4\n2 4 2 0 1 1 2 3 4\n$EndElements\n", ":14: '2' where $EndElements");
    refused(MSH2 "1\n1 2 2 0 1 1 2 3\n$EndElements\n", "no tetrahedra");
    refused(MSH2 "1\n1 11 2 0 1 1 2 3 4 1 2 3 4 1 2\n$EndElements\n", "10 nodes");
    refused(MSH2 "1\n1 4 99999 0 1 1 2 3 5\n$EndElements\n", "99999 tags");
    refused("$MeshFormat\n4 0 8\n$EndMeshFormat\n", ":2: Gmsh format 4;");
    refused("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n3 0 0 0\n1 0 0 0\n4 0 0 0\n$EndNodes\n",
            "node 1 stands twice");
    refused("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Elements\n0\n", "before $Nodes");
    refused("# vtk DataFile\nt\nASCII\nDATASET POLYDATA\n", "a data set of kind POLYDATA");
    refused(VTK VTK_POINTS "CELLS 1 5\n4 0 1 2 4\nCELL_TYPES 1\n10\n",
            "tet 1 (cell 0): vertex 4 is not between 0 and 3");
    refused(VTK VTK_POINTS "CELLS 1 5\n5 0 1 2 3\nCELL_TYPES 1\n10\n", "does not add up at cell 0");
    refused(VTK VTK_POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 2\n10 10\n", "1 cells, but 2 cell types");
    refused(VTK VTK_POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n1", "cell 0: type 1 with 4 vertices");
    refused(VTK "POINTS 400000000 float\n0 0 0", ":5: 400000000 points do not fit");
    supple_error error;
    spl_tets tets;
    CHECK(spl_tets_load("absent.msh", NULL, &tets, NULL, &error) == SUPPLE_ERROR_INPUT);
    CHECK(spl_tets_load_memory("x", 1, "x.stl", NULL, &tets, NULL, &error) == SUPPLE_ERROR_INPUT);
}

TEST(every_truncation_is_refused)
{
    spl_tets tets = pair();
    supple_allocator a = spl_allocator_of(NULL);
    for (int i = 0; i < FORMS; i++) {
        uint8_t *data;
        size_t size;
        REQUIRE(spl_tets_save(forms[i].path, &tets, &forms[i].options, NULL, NULL) == SUPPLE_OK);
        REQUIRE(spl_file_read(forms[i].path, 1 << 20, &a, &data, &size, NULL) == SUPPLE_OK);
        /* What may be missing: "End" of a .mesh with its last reference's line end, the line end of the others. */
        size_t slack = strstr(forms[i].path, ".mesh") ? 5 : 2;
        for (size_t cut = 0; cut + slack < size; cut++) {
            uint8_t *piece = malloc(cut ? cut : 1); /* of its own size: ASan sees a byte too far */
            memcpy(piece, data, cut);
            spl_tets back;
            supple_error error = {0};
            supple_result result = spl_tets_load_memory(piece, cut, forms[i].path, NULL, &back, NULL, &error);
            CHECK(result == SUPPLE_ERROR_INPUT && error.message[0] && !back.position);
            if (!result) printf("    %s cut at %zu of %zu was taken\n", forms[i].path, cut, size);
            if (!result) spl_tets_release(&back);
            free(piece);
        }
        spl_free(&a, data);
        unlink(forms[i].path);
    }
    spl_tets_release(&tets);
}

/* What libFuzzer starts from, and what it found: see tests/fuzz/fuzz_tets.c. */
TEST(found_files_do_no_harm)
{
    const char *folder = SPL_SOURCE_DIR "/tests/fuzz/found_tets";
    DIR *dir = opendir(folder);
    REQUIRE(dir);
    int good = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        spl_tets tets;
        supple_error error = {0};
        supple_result result = spl_tets_load(path, NULL, &tets, NULL, &error);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_INPUT);
        good += !result && tets.tet_count == 2 && tets.vertex_count == 5;
        spl_tets_release(&tets);
    }
    closedir(dir);
    CHECK(good >= 8); /* the same two tets in every form */
}

TEST(bad_outputs_are_refused)
{
    spl_tets tets = pair();
    supple_error error;
    CHECK(spl_tets_save("t.stl", &tets, NULL, NULL, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_tets_save("t.mesh", &tets, &(spl_tets_save_options){.binary = true}, NULL, &error) ==
          SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_tets_save("absent/t.msh", &tets, NULL, NULL, &error) == SUPPLE_ERROR_OUTPUT);
    if (access("/dev/full", W_OK) == 0) {
        CHECK(spl_tets_save("/dev/full", &tets, NULL, NULL, &error) == SUPPLE_ERROR_ARGUMENT);
    }
    CHECK(spl_tets_known_ending("a.MSH") && spl_tets_known_ending("b.mesh") && !spl_tets_known_ending(".vtk"));
    spl_tets_release(&tets);
}

TEST(failing_allocations_leave_nothing)
{
    spl_tets tets = pair();
    for (int i = 0; i < FORMS; i++) {
        for (long n = 0;; n++) {
            failing f = {.fail_at = n};
            supple_config config = supple_config_default();
            config.allocator = failing_allocator(&f);
            supple_error error = {0};
            spl_tets back = {0};
            supple_result result = spl_tets_save(forms[i].path, &tets, &forms[i].options, &config, &error);
            if (!result) result = spl_tets_load(forms[i].path, &config, &back, NULL, &error);
            CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && error.code == result && !back.position));
            bool whole = !result && f.requests <= n; /* nothing failed */
            spl_tets_release(&back);
            CHECK(f.live == 0);
            if (whole) break;
        }
        unlink(forms[i].path);
    }
    spl_tets_release(&tets);
}

typedef struct log_text {
    char text[600];
} log_text;

static void keep_log(void *user, supple_log_level level, const char *message)
{
    log_text *log = user;
    size_t n = strlen(log->text);
    snprintf(log->text + n, sizeof log->text - n, "%d:%s\n", (int)level, message);
}

TEST(what_was_mended_is_told)
{
    const char *text = "MeshVersionFormatted 1\nDimension 3\nVertices\n9\n9 9 9 0\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n"
                       "5 0 0 0\n6 0 0 0\n5 1 0 0\n5 0 1 0\nTetrahedra\n2\n2 4 3 5 0\n6 7 8 9 0\n";
    log_text log = {0};
    supple_config config = supple_config_default();
    config.log = keep_log;
    config.log_user = &log;
    spl_tets tets;
    REQUIRE(spl_tets_load_memory(text, strlen(text), "m", &config, &tets, NULL, NULL) == SUPPLE_OK);
    CHECK(strcmp(log.text, "0:m: 1 of 2 tets were turned to positive volume\n1:m: 1 vertices that no tet uses were "
                           "dropped\n0:m: the tets are in 2 separate pieces\n") == 0);
    spl_tets_release(&tets);
}

TEST_CASES(RUN(every_form_round_trips_bit_by_bit), RUN(the_locale_does_not_matter), RUN(medit_of_tetgen),
           RUN(msh_of_tetgen), RUN(a_bad_index_is_named), RUN(dialects_of_medit), RUN(dialects_of_msh),
           RUN(dialects_of_vtk), RUN(the_other_byte_order), RUN(malformed_files_are_refused_with_the_line),
           RUN(every_truncation_is_refused), RUN(found_files_do_no_harm), RUN(bad_outputs_are_refused),
           RUN(failing_allocations_leave_nothing), RUN(what_was_mended_is_told))
