/* _SUPPLE_ID: caches in the order of a mesh's points, whatever the order and number of its vertices. */
#include "gltf_text.h"
#include "scene/writers/writer.h"

#include <supple/tools.h>
#include <unistd.h>

/* Two primitives over five points; point 1 is a vertex of both, point 4 of no triangle. */
static const float POSITION[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, /* points 2, 1, 0 */
                                 1, 0, 0, 1, 1, 0, 0, 1, 0, 5, 5, 5 /* points 1, 3, 0, 4 */};

typedef struct data {
    float position[21], id[7];
    uint16_t index[3];
} data;

static data make_data(void)
{
    data d = {.id = {2, 1, 0, 1, 3, 0, 4}, .index = {0, 1, 2}};
    memcpy(d.position, POSITION, sizeof POSITION);
    return d;
}

static const char REST[] = "'bufferViews':[{'buffer':0,'byteLength':84},{'buffer':0,'byteOffset':84,'byteLength':28},"
                           "{'buffer':0,'byteOffset':112,'byteLength':6}],"
                           "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'},"
                           "{'bufferView':0,'byteOffset':36,'componentType':5126,'count':4,'type':'VEC3'},"
                           "{'bufferView':1,'componentType':5126,'count':3,'type':'SCALAR'},"
                           "{'bufferView':1,'byteOffset':12,'componentType':5126,'count':4,'type':'SCALAR'},"
                           "{'bufferView':2,'componentType':5123,'count':3,'type':'SCALAR'}],"
                           "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'_SUPPLE_ID':2},'indices':4},"
                           "{'attributes':{'POSITION':1,'_SUPPLE_ID':3},'indices':4}]},"
                           "{'primitives':[{'attributes':{'POSITION':0},'indices':4}]}],"
                           "'nodes':[{'mesh':1},{'mesh':0},{'mesh':0}]";

TEST(points_of_instances)
{
    data d = make_data();
    supple_scene *s = load_text(&d, sizeof d, REST);
    REQUIRE(s);
    CHECK(s->vertex_count == 3 + 7 + 7 && s->point_count == 3 + 5 + 5 && s->mesh[0].point_count == 5);
    CHECK(s->instance[2].first_point == 8 && s->instance[2].point_count == 5 && s->instance[0].point_count == 3);
    static const int32_t expected[] = {0, 1, 2, 5, 4, 3, 7, 9, 12, 11, 10, 14, 16};
    for (int i = 0; i < 13; i++) CHECK(s->point_vertex && s->point_vertex[i] == expected[i]);
    supple_scene_destroy(s);
}

static void write_frame(const supple_scene *s, const char *path, float *position)
{
    supple_range range = {.clip = -1, .frame_count = 1};
    supple_plan plan = {.ranges = &range, .range_count = 1, .fps = 30};
    supple_writer *w;
    supple_error error = {0};
    REQUIRE(supple_writer_open(s, path, &plan, NULL, &w, &error) == SUPPLE_OK);
    supple_frame frame = {.position = position, .normal = position, .tangent = position};
    CHECK(supple_writer_frame(w, &frame, &error) == SUPPLE_OK);
    CHECK(supple_writer_close(w, &error) == SUPPLE_OK);
}

/* The floats at the end of a file. */
static void read_tail(const char *path, float *out, size_t count)
{
    FILE *file = fopen(path, "rb");
    REQUIRE(file);
    fseek(file, -(long)(count * sizeof *out), SEEK_END);
    CHECK(fread(out, sizeof *out, count, file) == count);
    fclose(file);
    unlink(path);
}

TEST(caches_are_in_the_order_of_points)
{
    data d = make_data();
    supple_scene *s = load_text(&d, sizeof d, REST);
    REQUIRE(s);
    float position[3 * 17], out[3 * 13];
    for (int i = 0; i < 3 * 17; i++) position[i] = (float)(i / 3 * 10 + i % 3);
    write_frame(s, "point-order.npy", position);
    read_tail("point-order.npy", out, 3 * 13);
    for (int i = 0; i < 13; i++)
        for (int k = 0; k < 3; k++) CHECK(out[3 * i + k] == position[3 * s->point_vertex[i] + k]);
    write_frame(s, "point-order.pc2", position);
    char **name = spl_instance_names(s, &s->allocator);
    REQUIRE(name);
    for (int i = 0; i < 3; i++) {
        char path[200];
        snprintf(path, sizeof path, "point-order.%s.pc2", name[i]);
        int32_t n = s->instance[i].point_count;
        read_tail(path, out, 3 * (size_t)n);
        for (int32_t p = 0; p < n; p++)
            CHECK(out[3 * p] == position[3 * s->point_vertex[s->instance[i].first_point + p]]);
    }
    spl_names_free(name, 3, &s->allocator);
    supple_scene_destroy(s);
}

TEST(ids_that_do_not_fit_are_ignored)
{
    static const struct {
        int at;
        float value;
    } wrong[] = {{6, 7}, {6, 2.5f}, {0, -1}, {3, 1e9f}, {6, 3}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        data d = make_data();
        d.id[wrong[i].at] = wrong[i].value;
        if (wrong[i].value == 3) d.id[4] = 4, d.id[6] = 6; /* a gap */
        supple_scene *s = load_text(&d, sizeof d, REST);
        REQUIRE(s);
        CHECK(s->mesh[0].point_count == 0 && s->point_count == s->vertex_count && !s->point_vertex);
        CHECK(s->warning_count > 0);
        supple_scene_destroy(s);
    }
}

TEST(unit_axis_and_rate_of_an_imported_file)
{
    static const uint8_t nothing[4];
    supple_scene *s = load_text(nothing, sizeof nothing, "'nodes':[{}]");
    REQUIRE(s);
    CHECK(spl_scene_unit(s) == 1 && s->up == SPL_UP_Y && supple_scene_fps(s) == 30);
    float row[3] = {1, 2, 3};
    spl_scene_upright(s, row, 1);
    CHECK(row[0] == 1 && row[1] == 2 && row[2] == 3);
    s->up = SPL_UP_Z;
    spl_scene_upright(s, row, 1);
    CHECK(row[0] == 1 && row[1] == 3 && row[2] == -2);
    s->up = SPL_UP_X;
    spl_scene_upright(s, row, 1);
    CHECK(row[0] == -3 && row[1] == 1 && row[2] == -2);
    supple_scene_destroy(s);
}

TEST_CASES(RUN(points_of_instances), RUN(caches_are_in_the_order_of_points), RUN(ids_that_do_not_fit_are_ignored),
           RUN(unit_axis_and_rate_of_an_imported_file))
