/* .usda, read back by a small parser of its own; `make interop` reads it with tinyusdz. */
#include "scene/little.h"
#include "scene/writer_frames.h"
#include "test.h"

#include <ctype.h>
#include <locale.h>

static const char folder[] = "writers_usd.d", path[] = "writers_usd.d/a.usda";

/* Reads "[(x, y), ...]" or "[1, 2]" and nothing else; the number of floats, or -1. */
static int read_array(const char **at, float *out)
{
    const char *c = *at;
    int count = 0;
    if (*c++ != '[') return -1;
    while (*c != ']') {
        if (count && (*c++ != ',' || *c++ != ' ')) return -1;
        bool tuple = *c == '(';
        c += tuple;
        for (bool first = true; tuple ? *c != ')' : first; first = false) {
            if (!first && (*c++ != ',' || *c++ != ' ')) return -1;
            char *end;
            if (!isdigit((unsigned char)*c) && *c != '-') return -1;
            out[count++] = strtof(c, &end);
            if (end == c) return -1;
            c = end;
        }
        c += tuple;
    }
    *at = c + 1;
    return count;
}

/* Behind a word, from a place on; NULL if it is not there. */
static const char *after(const char *text, const char *word)
{
    const char *found = text ? strstr(text, word) : NULL;
    return found ? found + strlen(word) : NULL;
}

static void check_samples(const char *at, const float *values, size_t stride, size_t count, int frame_count)
{
    REQUIRE(at != NULL);
    for (int k = 0; k < frame_count; k++) {
        char *end;
        CHECK(strtol(at, &end, 10) == k && strncmp(end, ": ", 2) == 0);
        at = end + 2;
        float number[64];
        REQUIRE(read_array(&at, number) == (int)count && strncmp(at, ",\n", 2) == 0);
        CHECK(memcmp(number, values + stride * (size_t)k, count * sizeof(float)) == 0);
        at += 2;
    }
    while (*at == ' ') at++;
    CHECK(*at == '}');
}

TEST(samples_are_exact)
{
    static const char *const names[] = {"1. Arm/L", "Materials", "Materials_2"};
    static const char *const shown[] = {"def Mesh \"_1__Arm_L\"", "def Mesh \"Materials_2\"",
                                        "def Mesh \"Materials_2_2\""};
    little s;
    make_little(&s, 3, names);
    clean_folder(folder);
    s.node[1].s[2] = -1; /* a mirror image */
    frames f = make_frames(&s.scene, &seven, 24);
    bool comma = setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL; /* where it is installed */
    REQUIRE(write_frames(&s.scene, path, &seven, 23.976, &f, NULL) == SUPPLE_OK);
    if (comma) setlocale(LC_NUMERIC, "C");
    CHECK(files_in(folder) == 1);
    size_t size;
    char *text = (char *)read_bytes(path, &size);
    REQUIRE(text && strlen(text) == size);
    CHECK(strncmp(text, "#usda 1.0\n", 10) == 0);
    static const char *const head[] = {"defaultPrim = \"little\"\n",    "upAxis = \"Y\"\n",    "metersPerUnit = 1\n",
                                       "timeCodesPerSecond = 23.976\n", "startTimeCode = 0\n", "endTimeCode = 6\n"};
    for (int i = 0; i < 6; i++) CHECK(strstr(text, head[i]) != NULL);
    for (size_t i = 0; i < 3; i++) {
        const char *mesh = after(text, shown[i]), *at;
        REQUIRE(mesh);
        check_samples(after(mesh, "point3f[] points.timeSamples = {\n"), f.position + 18 * i, 54, 18, 7);
        check_samples(after(mesh, "normal3f[] normals.timeSamples = {\n"), f.normal + 18 * i, 54, 18, 7);
        float number[64];
        static const float turned[2][6] = {{0, 1, 2, 0, 2, 3}, {0, 2, 1, 0, 3, 2}}, threes[2] = {3, 3};
        at = after(mesh, "int[] faceVertexIndices = ");
        CHECK(at && read_array(&at, number) == 6 && memcmp(number, turned[i == 1], sizeof turned[0]) == 0);
        at = after(mesh, "int[] faceVertexCounts = ");
        CHECK(at && read_array(&at, number) == 2 && memcmp(number, threes, sizeof threes) == 0);
        static const float uv[12] = {0, 1, 1, 1, 1, 0.75f, 0, 0};
        at = after(mesh, "texCoord2f[] primvars:st = ");
        CHECK(at && read_array(&at, number) == 12 && memcmp(number, uv, sizeof uv) == 0);
        CHECK(strstr(mesh, "rel material:binding = </little/Materials/red_paint>\n") != NULL);
    }
    int depth = 0; /* braces and brackets close */
    for (const char *c = text; *c; c++) depth += (strchr("{[(", *c) != NULL) - (strchr("}])", *c) != NULL);
    CHECK(depth == 0);
    free(text);
    free_frames(&f);
}

TEST(a_mesh_without_normals_gets_none)
{
    little s;
    make_little(&s, 1, NULL);
    s.primitive[0].normal = NULL;
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    REQUIRE(write_frames(&s.scene, path, &seven, 24, &f, NULL) == SUPPLE_OK);
    size_t size;
    char *text = (char *)read_bytes(path, &size);
    CHECK(text && strstr(text, "points") && !strstr(text, "normals"));
    free(text);
    free_frames(&f);
}

/* Texture coordinates that slide: a sample a frame for every corner, v upwards, in the order of the faces' indices; a
 * mesh whose skin stays where it is keeps its constant ones. */
TEST(sliding_coordinates_are_samples)
{
    static const char *const names[] = {"slides", "mirror", "still"};
    little s;
    make_little(&s, 3, names);
    s.node[1].s[2] = -1;
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    float *uv = swirl_uv(&s.scene, 7, 2), expected[7 * 12];
    REQUIRE(write_slid(&s.scene, path, &seven, &f, uv, NULL, NULL) == SUPPLE_OK);
    size_t size;
    char *text = (char *)read_bytes(path, &size);
    REQUIRE(text);
    char *still = strstr(text, "def Mesh \"still\"");
    REQUIRE(still);
    CHECK(strstr(still, "texCoord2f[] primvars:st = [") && strstr(still, "interpolation = \"vertex\""));
    CHECK(!strstr(still, "primvars:st.timeSamples"));
    for (size_t i = 0; i < 2; i++) {
        static const int order[2][6] = {{0, 1, 2, 3, 4, 5}, {0, 2, 1, 3, 5, 4}}; /* a mirror image is turned round */
        for (size_t k = 0; k < 7; k++)
            for (size_t c = 0; c < 6; c++) {
                const float *at = uv + 36 * k + 12 * i + 2 * order[i][c];
                expected[12 * k + 2 * c] = at[0];
                expected[12 * k + 2 * c + 1] = 1.0f - at[1];
            }
        const char *mesh = after(text, i ? "def Mesh \"mirror\"" : "def Mesh \"slides\"");
        const char *st =
            after(mesh, "texCoord2f[] primvars:st (\n            interpolation = \"faceVarying\"\n        )\n"
                        "        texCoord2f[] primvars:st.timeSamples = {\n");
        check_samples(st, expected, 12, 12, 7);
        check_samples(after(mesh, "point3f[] points.timeSamples = {\n"), f.position + 18 * i, 54, 18, 7);
        check_samples(after(mesh, "normal3f[] normals.timeSamples = {\n"), f.normal + 18 * i, 54, 18, 7);
    }
    free(text);
    free(uv);
    free_frames(&f);
}

TEST_CASES(RUN(samples_are_exact), RUN(a_mesh_without_normals_gets_none), RUN(sliding_coordinates_are_samples))
