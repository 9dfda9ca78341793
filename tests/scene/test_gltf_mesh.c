/* Accessors, primitives, weights and morph targets of handmade files. */
#include "scene/gltf_text.h"

/* A square of four vertices with what most cases need behind it. */
typedef struct square {
    float position[4][3]; /* at 0, view 0 */
    uint16_t index[6];    /* at 48, view 1 */
    uint8_t joint[4][4];  /* at 60, view 2 */
    float weight[4][4];   /* at 76, view 3 */
    float extra[4][4];    /* at 140, view 4 */
} square;

static const square plain = {
    .position = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}},
    .index = {0, 1, 2, 2, 1, 3},
    .joint = {{0, 1}, {0, 1}, {1, 0}, {1, 0}},
    .weight = {{1}, {0.5f, 0.5f}, {0.25f, 0.75f}, {1}},
};

#define VIEWS                                                                                                          \
    "'bufferViews':[{'buffer':0,'byteLength':48},{'buffer':0,'byteOffset':48,'byteLength':12},"                        \
    "{'buffer':0,'byteOffset':60,'byteLength':16},{'buffer':0,'byteOffset':76,'byteLength':64},"                       \
    "{'buffer':0,'byteOffset':140,'byteLength':64}],"
#define POSITION "{'bufferView':0,'componentType':5126,'type':'VEC3','count':4}"
#define INDEX    "{'bufferView':1,'componentType':5123,'type':'SCALAR','count':6}"
#define JOINT    "{'bufferView':2,'componentType':5121,'type':'VEC4','count':4}"
#define WEIGHT   "{'bufferView':3,'componentType':5126,'type':'VEC4','count':4}"
#define ONE_NODE "'nodes':[{'mesh':0}],"
#define SKINNED  "'nodes':[{'mesh':0,'skin':0},{'name':'a'},{'name':'b'}],'skins':[{'joints':[1,2]}],"

#define LOAD(data, rest) load_text(&(data), sizeof(data), rest)

static const spl_primitive *first(const supple_scene *scene)
{
    return &scene->mesh[0].primitive[0];
}

/* ---- accessors -------------------------------------------------------------------------------------------------- */

TEST(sparse_accessors_replace_elements)
{
    struct {
        float base[3][3];
        uint16_t index[2];
        float value[2][3];
    } data = {{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, {0, 2}, {{-1, -2, -3}, {-7, -8, -9}}};
#define SPARSE                                                                                                         \
    "'sparse':{'count':2,'indices':{'bufferView':1,'componentType':5123},'values':{'bufferView':1,'byteOffset':4}}}]," \
    "'bufferViews':[{'buffer':0,'byteLength':36},{'buffer':0,'byteOffset':36,'byteLength':28}],"                       \
    "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]"
    supple_scene *scene =
        LOAD(data, ONE_NODE "'accessors':[{'bufferView':0,'componentType':5126,'type':'VEC3','count':3," SPARSE);
    REQUIRE(scene);
    const float based[9] = {-1, -2, -3, 4, 5, 6, -7, -8, -9};
    CHECK(memcmp(first(scene)->position, based, sizeof based) == 0);
    supple_scene_destroy(scene);
    scene = LOAD(data, ONE_NODE "'accessors':[{'componentType':5126,'type':'VEC3','count':3," SPARSE);
    REQUIRE(scene);
    const float baseless[9] = {-1, -2, -3, 0, 0, 0, -7, -8, -9};
    CHECK(memcmp(first(scene)->position, baseless, sizeof baseless) == 0);
    supple_scene_destroy(scene);
    data.index[1] = 3;
    CHECK(refused(&data, sizeof data, ONE_NODE "'accessors':[{'componentType':5126,'type':'VEC3','count':3," SPARSE,
                  "sparse index"));
}

/* Checked by the stride and read tightly packed, a stride of 1 let twelve times the checked bytes be read. */
TEST(sparse_views_have_no_stride)
{
    static const struct {
        const char *stride_of[2]; /* of the indices' view, of the values' */
        const char *words;
    } bad[] = {{{",'byteStride':1", ""}, "bufferView 0"},
               {{"", ",'byteStride':1"}, "bufferView 1"},
               {{"", ",'byteStride':252"}, "bufferView 1"}};
    uint8_t bytes[64] = {0, 1, 2, 3};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[800];
        snprintf(text, sizeof text,
                 ONE_NODE
                 "'accessors':[{'componentType':5126,'type':'VEC3','count':4,'sparse':{'count':4,"
                 "'indices':{'bufferView':0,'componentType':5121},'values':{'bufferView':1}}}],"
                 "'bufferViews':[{'buffer':0,'byteLength':4%s},{'buffer':0,'byteOffset':49,'byteLength':15%s}],"
                 "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]",
                 bad[i].stride_of[0], bad[i].stride_of[1]);
        CHECK(refused(bytes, sizeof bytes, text, bad[i].words));
    }
}

TEST(a_mesh_of_denormal_size_is_refused)
{
    float positions[3][3] = {{0, 0, 0}, {1e-40f, 0, 0}, {0, 1e-41f, 0}};
#define TRIANGLE                                                                                                       \
    ONE_NODE "'accessors':[{'bufferView':0,'componentType':5126,'type':'VEC3','count':3}],'bufferViews':[{'buffer':0," \
             "'byteLength':36}],"                                                                                      \
             "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]"
    CHECK(refused(positions, sizeof positions, TRIANGLE, "smaller than numbers can tell"));
    positions[2][1] = 2e-38f; /* small, but a number like others */
    supple_scene *scene = LOAD(positions, TRIANGLE);
    CHECK(scene != NULL);
    supple_scene_destroy(scene);
    memset(positions, 0, sizeof positions); /* a point is no denormal */
    scene = LOAD(positions, TRIANGLE);
    CHECK(scene != NULL);
    supple_scene_destroy(scene);
}

TEST(strides_and_odd_offsets_are_followed)
{
    uint8_t bytes[5 + 3 * 19] = {0};
    for (size_t v = 0; v < 3; v++) {
        float p[3] = {(float)v, (float)v + 0.5f, -(float)v};
        memcpy(bytes + 5 + 19 * v, p, 12); /* nothing is aligned */
        bytes[5 + 19 * v + 12] = (uint8_t)(51 * v);
        bytes[5 + 19 * v + 13] = 255;
    }
    supple_scene *scene = load_text(
        bytes, sizeof bytes,
        ONE_NODE "'bufferViews':[{'buffer':0,'byteOffset':3,'byteLength':59,'byteStride':19}],'accessors':["
                 "{'bufferView':0,'byteOffset':2,'componentType':5126,'type':'VEC3','count':3},"
                 "{'bufferView':0,'byteOffset':14,'componentType':5121,'normalized':true,'type':'VEC2','count':3}],"
                 "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'TEXCOORD_0':1}}]}]");
    REQUIRE(scene);
    for (size_t v = 0; v < 3; v++) {
        CHECK(first(scene)->position[3 * v] == (float)v && first(scene)->position[3 * v + 2] == -(float)v);
        CHECK_NEAR(first(scene)->uv[2 * v], 0.2 * (double)v, 1e-7);
        CHECK(first(scene)->uv[2 * v + 1] == 1);
    }
    supple_scene_destroy(scene);
}

TEST(quantised_attributes_are_decoded)
{
    struct {
        uint16_t position[3][4];
        int8_t normal[3][4];
        int16_t uv[3][2];
    } data = {
        {{1, 2, 65535}, {3, 4, 5}, {0}}, {{127, -127, -128}, {0, 64, 0}, {0}}, {{32767, -32768}, {16384, 0}, {0}}};
    supple_scene *scene =
        LOAD(data, ONE_NODE "'extensionsRequired':['KHR_mesh_quantization'],'bufferViews':["
                            "{'buffer':0,'byteLength':24,'byteStride':8},"
                            "{'buffer':0,'byteOffset':24,'byteLength':12,'byteStride':4},"
                            "{'buffer':0,'byteOffset':36,'byteLength':12}],'accessors':["
                            "{'bufferView':0,'componentType':5123,'type':'VEC3','count':3},"
                            "{'bufferView':1,'componentType':5120,'normalized':true,'type':'VEC3','count':3},"
                            "{'bufferView':2,'componentType':5122,'normalized':true,'type':'VEC2','count':3}],"
                            "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1,'TEXCOORD_0':2},"
                            "'targets':[{'POSITION':0,'NORMAL':1}]}]}]");
    REQUIRE(scene);
    const spl_primitive *p = first(scene);
    CHECK(p->position[0] == 1 && p->position[1] == 2 && p->position[2] == 65535 && p->position[5] == 5);
    CHECK(p->normal[0] == 1 && p->normal[1] == -1 && p->normal[2] == -1); /* -128 is clamped */
    CHECK_NEAR(p->normal[4], 64.0 / 127, 1e-7);
    CHECK(p->uv[0] == 1 && p->uv[1] == -1);
    CHECK_NEAR(p->uv[2], 16384.0 / 32767, 1e-7);
    CHECK(p->target_count == 1 && p->target[0].position[2] == 65535 && p->target[0].normal[0] == 1);
    supple_scene_destroy(scene);
}

TEST(an_accessor_without_a_view_is_zero)
{
    supple_scene *scene = LOAD(plain, ONE_NODE "'accessors':[{'componentType':5126,'type':'VEC3','count':5}],"
                                               "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]");
    REQUIRE(scene);
    CHECK(first(scene)->vertex_count == 5 && first(scene)->position[14] == 0 && first(scene)->triangle_count == 1);
    CHECK(warned(scene, "whole triangles"));
    supple_scene_destroy(scene);
}

/* Each wants gigabytes or wraps around; all must be refused before anything is allocated (see `refused`). */
TEST(claims_beyond_the_file_are_refused)
{
#define MESH ",'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]"
    static const char *const cases[][2] = {
        {"'accessors':[{'componentType':5126,'type':'VEC3','count':1000000000}]" MESH, "accessor 0 claims"},
        {"'accessors':[{'componentType':5126,'type':'VEC3','count':500000000}]" MESH, "claims"},
        {"'accessors':[{'componentType':5126,'type':'VEC3','count':9007199254740992}]" MESH, "\"count\""},
        {"'accessors':[{'componentType':5126,'type':'VEC3','count':-1}]" MESH, "\"count\""},
        {"'accessors':[{'componentType':5126,'type':'VEC3','count':2.5}]" MESH, "\"count\""},
        {"'accessors':[{'componentType':5126,'type':'VEC3','count':'3'}]" MESH, "\"count\""},
        {"'accessors':[{'componentType':5126,'type':'VEC5','count':3}]" MESH, "type"},
        {"'accessors':[{'componentType':5124,'type':'VEC3','count':3}]" MESH, "component"},
        {"'accessors':[{'componentType':5126,'type':'VEC2','count':3}]" MESH, "POSITION"},
        {"'accessors':[3]" MESH, "accessor 0"},
        {"'accessors':[{'bufferView':7,'componentType':5126,'type':'VEC3','count':3}]" MESH, "\"bufferView\" is 7"},
        {"'bufferViews':[{'buffer':0,'byteLength':205}],'accessors':[{'bufferView':0,'componentType':5126,"
         "'type':'VEC3','count':3}]" MESH,
         "beyond the end of buffer 0"},
        {"'bufferViews':[{'buffer':0,'byteOffset':8007199254740000,'byteLength':8007199254740000}],"
         "'accessors':[{'bufferView':0,'componentType':5126,'type':'VEC3','count':3}]" MESH,
         "bufferView 0"},
        {"'bufferViews':[{'buffer':0,'byteLength':204,'byteStride':8007199254740000}],'accessors':[{'bufferView':0,"
         "'componentType':5126,'type':'VEC3','count':3}]" MESH,
         "do not fit"},
        {"'bufferViews':[{'buffer':0,'byteLength':204}],'accessors':[{'bufferView':0,'byteOffset':193,"
         "'componentType':5126,'type':'VEC3','count':1}]" MESH,
         "do not fit"},
        {"'bufferViews':[{'buffer':1,'byteLength':204}],'accessors':[{'bufferView':0,'componentType':5126,"
         "'type':'VEC3','count':3}]" MESH,
         "\"buffer\""},
        {"'bufferViews':[{'buffer':0,'byteLength':204}],'accessors':[{'componentType':5126,'type':'VEC3',"
         "'count':100,'sparse':{'count':101,'indices':{'bufferView':0,'componentType':5121},"
         "'values':{'bufferView':0}}}]" MESH,
         "sparse"},
        {"'bufferViews':[{'buffer':0,'byteLength':204}],'accessors':[{'componentType':5126,'type':'VEC3',"
         "'count':100,'sparse':{'count':100,'indices':{'bufferView':0,'componentType':5121},"
         "'values':{'bufferView':0}}}]" MESH,
         "do not fit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(refused(&plain, sizeof plain, cases[i][0], cases[i][1]));
}

TEST(a_small_file_cannot_ask_for_much_by_repetition)
{
    /* Each accessor alone would pass: forty of 10 million zeros, and one mesh drawn by many nodes. */
    char rest[8000];
    size_t n = (size_t)sprintf(rest, "'accessors':[{'componentType':5126,'type':'VEC3','count':10000000}],"
                                     "'meshes':[{'primitives':[");
    for (int i = 0; i < 40; i++) n += (size_t)sprintf(rest + n, "%s{'attributes':{'POSITION':0}}", i ? "," : "");
    sprintf(rest + n, "]}]");
    CHECK(refused(&plain, sizeof plain, rest, "claims"));
    n = (size_t)sprintf(rest, "'accessors':[{'componentType':5126,'type':'VEC3','count':1000000}],"
                              "'meshes':[{'primitives':[{'mode':0,'attributes':{'POSITION':0}}]}],'nodes':[");
    for (int i = 0; i < 100; i++) n += (size_t)sprintf(rest + n, "%s{'mesh':0}", i ? "," : "");
    sprintf(rest + n, "]");
    CHECK(refused(&plain, sizeof plain, rest, "instances"));
}

/* ---- primitives ------------------------------------------------------------------------------------------------- */

TEST(every_mode_becomes_triangles)
{
    static const struct {
        int mode, triangles;
        int32_t corner[6];
    } modes[] = {{0, 0, {0}},
                 {1, 0, {0}},
                 {2, 0, {0}},
                 {3, 0, {0}},
                 {4, 2, {0, 1, 2, 2, 1, 3}},
                 {5, 4, {0, 1, 2, 1, 2, 2}}, /* 0 1 2, then 1 2 2 (wound back) */
                 {6, 4, {1, 2, 0, 2, 2, 0}}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char rest[1000];
        snprintf(rest, sizeof rest,
                 ONE_NODE VIEWS "'accessors':[" POSITION "," INDEX
                                "],'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1,'mode':%d}]}]",
                 modes[i].mode);
        supple_scene *scene = LOAD(plain, rest);
        REQUIRE(scene);
        CHECK(first(scene)->triangle_count == modes[i].triangles && first(scene)->vertex_count == 4);
        CHECK(supple_scene_triangle_count(scene) == modes[i].triangles && supple_scene_vertex_count(scene) == 4);
        for (int k = 0; modes[i].triangles && k < 6; k++) CHECK(first(scene)->triangle[k] == modes[i].corner[k]);
        supple_scene_destroy(scene);
    }
    CHECK(refused(&plain, sizeof plain,
                  VIEWS "'accessors':[" POSITION "],'meshes':[{'primitives':[{'attributes':{'POSITION':0},'mode':7}]}]",
                  "mode"));
}

TEST(a_strip_keeps_its_winding)
{
    supple_scene *scene =
        LOAD(plain, ONE_NODE VIEWS "'accessors':[" POSITION
                                   "],'meshes':[{'primitives':[{'attributes':{'POSITION':0},'mode':5}]}]");
    REQUIRE(scene);
    const int32_t want[6] = {0, 1, 2, 1, 3, 2}; /* both face +z */
    CHECK(first(scene)->triangle_count == 2 && memcmp(first(scene)->triangle, want, sizeof want) == 0);
    supple_scene_destroy(scene);
}

TEST(indices_are_checked_against_the_vertices)
{
    square s = plain;
    s.index[4] = 4;
#define INDEXED                                                                                                        \
    VIEWS "'accessors':[" POSITION "," INDEX "],'meshes':[{'name':'quad','primitives':[{'attributes':{'POSITION':0},"  \
          "'indices':1}]}]"
    CHECK(refused(&s, sizeof s, INDEXED, "'quad'"));
    CHECK(refused(&s, sizeof s, INDEXED, "index 4 (accessor 1) is 4"));
    CHECK(refused(&plain, sizeof plain,
                  VIEWS "'accessors':[" POSITION
                        "],'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':0}]}]",
                  "not scalars"));
}

TEST(sparse_indices_and_wrong_components)
{
    /* Six zeros, of which the third to fifth become 1 2 3: triangles 0 0 1 and 2 3 0. */
    struct {
        float position[4][3];
        uint8_t at[4];
        uint16_t value[4];
    } data = {{{0}}, {2, 3, 4}, {1, 2, 3}};
#define SPARSE_INDEX(component, at)                                                                                    \
    ONE_NODE "'bufferViews':[{'buffer':0,'byteLength':60}],'accessors':["                                              \
             "{'bufferView':0,'componentType':5126,'type':'VEC3','count':4},{'componentType':" component               \
             ",'type':'SCALAR','count':6,'sparse':{'count':3,'indices':{'bufferView':0,'byteOffset':48,"               \
             "'componentType':" at "},'values':{'bufferView':0,'byteOffset':52}}}],"                                   \
             "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1}]}]"
    supple_scene *scene = LOAD(data, SPARSE_INDEX("5123", "5121"));
    REQUIRE(scene);
    const int32_t want[6] = {0, 0, 1, 2, 3, 0};
    CHECK(first(scene)->triangle_count == 2 && memcmp(first(scene)->triangle, want, sizeof want) == 0);
    supple_scene_destroy(scene);
    CHECK(refused(&data, sizeof data, SPARSE_INDEX("5122", "5121"), "unsigned"));
    CHECK(refused(&data, sizeof data, SPARSE_INDEX("5123", "5120"), "malformed"));
    CHECK(refused(&data, sizeof data,
                  "'accessors':[{'componentType':5126,'type':'VEC3','count':4,'sparse':{'count':1}}]" MESH,
                  "incomplete"));
}

TEST(bytes_and_words_index_alike)
{
    struct {
        float position[3][3];
        uint32_t word[3];
        uint8_t byte[4];
    } data = {{{0}}, {2, 1, 0}, {2, 1, 0}};
    for (int wide = 0; wide < 2; wide++) {
        char rest[1000];
        snprintf(rest, sizeof rest,
                 ONE_NODE "'bufferViews':[{'buffer':0,'byteLength':52}],'accessors':["
                          "{'bufferView':0,'componentType':5126,'type':'VEC3','count':3},"
                          "{'bufferView':0,'byteOffset':%d,'componentType':%d,'type':'SCALAR','count':3}],"
                          "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1}]}]",
                 wide ? 36 : 48, wide ? 5125 : 5121);
        supple_scene *scene = LOAD(data, rest);
        REQUIRE(scene);
        CHECK(first(scene)->triangle[0] == 2 && first(scene)->triangle[1] == 1 && first(scene)->triangle[2] == 0);
        supple_scene_destroy(scene);
    }
}

TEST(a_primitive_without_positions_is_empty)
{
    supple_scene *scene = LOAD(plain, ONE_NODE VIEWS "'accessors':[" POSITION "],'meshes':[{'primitives':["
                                                     "{'attributes':{'NORMAL':0}},{'attributes':{'POSITION':0}}]}]");
    REQUIRE(scene);
    CHECK(first(scene)->vertex_count == 0 && scene->vertex_count == 4 && warned(scene, "POSITION"));
    supple_scene_destroy(scene);
}

TEST(positions_must_be_finite_other_attributes_are_dropped)
{
    square s = plain;
    s.position[2][1] = (float)INFINITY;
#define NORMALED                                                                                                       \
    ONE_NODE VIEWS "'accessors':[" POSITION ",{'bufferView':4,'componentType':5126,'type':'VEC3','count':4}],"         \
                   "'meshes':[{'name':'m','primitives':[{'attributes':{'POSITION':0,'NORMAL':1},'mode':5}]}]"
    CHECK(refused(&s, sizeof s, NORMALED, "vertex 2"));
    s = plain;
    s.extra[1][1] = (float)NAN;
    supple_scene *scene = LOAD(s, NORMALED);
    REQUIRE(scene);
    CHECK(first(scene)->normal == NULL && warned(scene, "NORMAL"));
    supple_scene_destroy(scene);
    s.extra[1][1] = 1;
    scene = LOAD(s, NORMALED);
    REQUIRE(scene);
    CHECK(first(scene)->normal && first(scene)->normal[5] == 1 && scene->warning_count == 0);
    supple_scene_destroy(scene);
}

TEST(colours_have_three_or_four_numbers)
{
    square data = plain;
    const float four[4][4] = {{1, 0, 0, 0.5f}, {0, 1, 0, 1}, {0, 0, 1, 1}, {0.25f, 0.5f, 0.75f, 0}};
    memcpy(data.extra, four, sizeof four);
#define COLORED(type)                                                                                                  \
    ONE_NODE VIEWS "'accessors':[" POSITION ",{'bufferView':4,'componentType':5126,'type':'" type "','count':4}],"     \
                   "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'COLOR_0':1},'mode':5}]}]"
    supple_scene *scene = LOAD(data, COLORED("VEC4"));
    REQUIRE(scene && first(scene)->color);
    CHECK(memcmp(first(scene)->color, four, sizeof four) == 0);
    supple_scene_destroy(scene);
    scene = LOAD(data, COLORED("VEC3")); /* the same numbers, three a vertex */
    REQUIRE(scene && first(scene)->color);
    const float three[8] = {1, 0, 0, 1, 0.5f, 0, 1, 1};
    CHECK(memcmp(first(scene)->color, three, sizeof three) == 0);
    supple_scene_destroy(scene);
    scene = LOAD(data, COLORED("VEC2"));
    REQUIRE(scene);
    CHECK(!first(scene)->color && warned(scene, "COLOR_0 is dropped: it has neither"));
    supple_scene_destroy(scene);
    data.extra[1][2] = NAN;
    scene = LOAD(data, COLORED("VEC3"));
    REQUIRE(scene);
    CHECK(!first(scene)->color && warned(scene, "COLOR_0 is dropped: it is not finite"));
    supple_scene_destroy(scene);
}

TEST(attributes_must_agree_in_number)
{
    CHECK(refused(&plain, sizeof plain,
                  VIEWS "'accessors':[" POSITION ",{'bufferView':4,'componentType':5126,'type':'VEC3','count':3}],"
                        "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1}}]}]",
                  "3 elements for 4 vertices"));
}

TEST(draco_without_its_program_or_a_plain_twin_is_refused)
{
#define DRACO                                                                                                          \
    "],'meshes':[{'primitives':[{'attributes':{'POSITION':0},"                                                         \
    "'extensions':{'KHR_draco_mesh_compression':{'bufferView':0,'attributes':{'POSITION':0}}}}]}]"
    setenv("SUPPLE_IMPORT", "/nowhere/supple-import", 1);
    CHECK(refused(&plain, sizeof plain, VIEWS "'accessors':[{'componentType':5126,'type':'VEC3','count':4}" DRACO,
                  "without Draco"));
    unsetenv("SUPPLE_IMPORT");
    supple_scene *scene = LOAD(plain, VIEWS "'accessors':[" POSITION DRACO);
    CHECK(scene != NULL);
    supple_scene_destroy(scene);
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

#define WEIGHTED                                                                                                       \
    SKINNED VIEWS "'accessors':[" POSITION "," INDEX "," JOINT "," WEIGHT "],'meshes':[{'name':'skin','primitives':["  \
                  "{'attributes':{'POSITION':0,'JOINTS_0':2,'WEIGHTS_0':3},'indices':1}]}]"

TEST(influences_are_sorted_and_merged)
{
    square s = plain;
    memcpy(s.joint[0], (uint8_t[4]){1, 0, 1, 0}, 4);
    memcpy(s.weight[0], (float[4]){0.125f, 0.25f, 0.5f, 0.125f}, 16); /* joint 1: 0.625, joint 0: 0.375 */
    supple_scene *scene = LOAD(s, WEIGHTED);
    REQUIRE(scene);
    const spl_primitive *p = first(scene);
    REQUIRE(p->influence_count == 2);
    CHECK(p->joint[0] == 1 && p->weight[0] == 0.625f && p->joint[1] == 0 && p->weight[1] == 0.375f);
    CHECK(p->joint[2] == 0 && p->joint[3] == 1 && p->weight[2] == 0.5f);  /* equal: the file's order */
    CHECK(p->joint[4] == 0 && p->weight[4] == 0.75f && p->joint[5] == 1); /* stronger first */
    CHECK(p->joint[6] == 1 && p->weight[6] == 1 && p->joint[7] == 0 && p->weight[7] == 0);
    CHECK(p->unnormalised == 0 && p->weight_sum_min == 1 && p->weight_sum_max == 1 && scene->warning_count == 0);
    supple_scene_destroy(scene);
}

TEST(sums_other_than_one_are_counted_and_normalised)
{
    square s = plain;
    s.weight[0][0] = 0.5f;
    s.weight[1][0] = 1.5f;
    s.weight[3][0] = 1.0005f; /* rounding */
    supple_scene *scene = LOAD(s, WEIGHTED);
    REQUIRE(scene);
    const spl_primitive *p = first(scene);
    CHECK(p->unnormalised == 2 && p->weight_sum_min == 0.5 && p->weight_sum_max == 2 && p->unweighted == 0);
    CHECK(p->weight[0] == 1 && p->weight[2] == 0.75f && warned(scene, "2 vertices do not sum to 1"));
    supple_scene_destroy(scene);
}

/* Corner 3 has edges to corners 1 and 2, of which joint 0 has 0.5 and 0.75. */
TEST(unweighted_vertices_take_their_neighbours_weights)
{
    square s = plain;
    memset(s.weight[3], 0, 16);
    supple_scene *scene = LOAD(s, WEIGHTED);
    REQUIRE(scene);
    const spl_primitive *p = first(scene);
    CHECK(p->unweighted == 1 && p->mistaken == 0 && p->influence_count == 2);
    CHECK(p->joint[6] == 0 && p->joint[7] == 1);
    CHECK_NEAR(p->weight[6], 0.625, 1e-7);
    CHECK_NEAR(p->weight[7], 0.375, 1e-7);
    CHECK(p->weight_sum_min == 0 && warned(scene, "1 vertices have no weight"));
    supple_scene_destroy(scene);
    memset(s.weight, 0, sizeof s.weight);
    CHECK(refused(&s, sizeof s, WEIGHTED, "weights of all 4 vertices are zero"));
}

TEST(weights_that_are_no_numbers_are_ignored)
{
    const float wrong[] = {(float)NAN, (float)INFINITY, -0.5f};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        square s = plain;
        s.weight[1][1] = wrong[i]; /* joint 0 is left with 0.5 */
        s.joint[1][1] = 200;       /* and whose it was does not matter */
        for (int k = 0; k < 4; k++) s.weight[3][k] = wrong[i];
        supple_scene *scene = LOAD(s, WEIGHTED);
        REQUIRE(scene);
        const spl_primitive *p = first(scene);
        CHECK(p->mistaken == 2 && p->unweighted == 1 && p->unnormalised == 0 && scene->warning_count == 1);
        CHECK(p->joint[2] == 0 && p->weight[2] == 1 && p->weight[3] == 0);
        CHECK(p->joint[6] == 0);
        CHECK_NEAR(p->weight[6], 0.875, 1e-7); /* of 1 and 0.75 */
        CHECK(warned(scene, "2 vertices have weights that are no numbers or negative, the first in mesh 0 'skin'"));
        CHECK(warned(scene, "1 keep their other weights, 1 take those of the vertices near them"));
        supple_scene_destroy(scene);
    }
    square s = plain;
    for (int k = 0; k < 16; k++) s.weight[k / 4][k % 4] = (float)NAN;
    CHECK(refused(&s, sizeof s, WEIGHTED, "weights of all 4 vertices are zero or no numbers"));
}

/* A first primitive with good weights: vertices along x; joint 0 up to x = 10, joint 1 at 20. The second has none: a
 * duplicate of its neighbour's corner at 10, pieces that touch nothing, one small and one long. */
TEST(loose_pieces_take_the_weights_of_what_is_near)
{
    struct {
        float position[3][3], bare[9][3];
        float weight[3][4], none[9][4];
        uint8_t joint[9][4];
        uint8_t index[12];
    } data = {
        {{0, 0, 0}, {10, 1, 0}, {20, 0, 0}},
        {{10, 1, 0}, {10, 2, 0}, {11, 2, 0}, {14, 0, 0}, {16.5f, 0, 0}, {16, 1, 0}, {1, 3, 0}, {19, 3, 0}, {10, 4, 0}},
        {{1}, {1}, {1}},
        {{0}},
        {{0}, {0}, {1}},
        {0, 1, 2, 3, 4, 5, 6, 7, 8}};
    data.none[0][0] = data.none[8][3] = (float)NAN;
    supple_scene *scene =
        LOAD(data, SKINNED "'bufferViews':[{'buffer':0,'byteLength':384}],'accessors':["
                           "{'bufferView':0,'componentType':5126,'type':'VEC3','count':3},"
                           "{'bufferView':0,'byteOffset':36,'componentType':5126,'type':'VEC3','count':9},"
                           "{'bufferView':0,'byteOffset':144,'componentType':5126,'type':'VEC4','count':3},"
                           "{'bufferView':0,'byteOffset':192,'componentType':5126,'type':'VEC4','count':9},"
                           "{'bufferView':0,'byteOffset':336,'componentType':5121,'type':'VEC4','count':3},"
                           "{'bufferView':0,'byteOffset':336,'componentType':5121,'type':'VEC4','count':9},"
                           "{'bufferView':0,'byteOffset':372,'componentType':5121,'type':'SCALAR','count':9}],"
                           "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':4,'WEIGHTS_0':2}},"
                           "{'attributes':{'POSITION':1,'JOINTS_0':5,'WEIGHTS_0':3},'indices':6}]}]");
    REQUIRE(scene && scene->mesh[0].primitive_count == 2);
    const spl_primitive *p = &scene->mesh[0].primitive[1];
    CHECK(p->unweighted == 9 && p->mistaken == 2 && p->influence_count == 1);
    const uint16_t expected[9] = {0, 0, 0, 1, 1, 1, 0, 1, 0}; /* the second piece: 16.5 is nearest to something, 20 */
    for (int v = 0; v < 9; v++) CHECK(p->joint[v] == expected[v] && p->weight[v] == 1);
    CHECK(warned(scene, "0 keep their other weights, 2 take") && warned(scene, "7 vertices have no weight"));
    supple_scene_destroy(scene);
}

TEST(joints_that_are_not_there_are_refused)
{
    square s = plain;
    s.joint[2][1] = 2;
    CHECK(refused(&s, sizeof s, WEIGHTED, "vertex 2 uses joint index 2"));
    s = plain;
    s.joint[0][3] = 200; /* its weight is 0 */
    supple_scene *scene = LOAD(s, WEIGHTED);
    CHECK(scene != NULL);
    supple_scene_destroy(scene);
    CHECK(refused(&plain, sizeof plain,
                  SKINNED VIEWS "'accessors':[" POSITION "," JOINT
                                "],'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1}}]}]",
                  "WEIGHTS_0"));
}

TEST(a_mesh_under_two_skins_is_checked_against_both)
{
#define TWO_SKINS(second)                                                                                              \
    "'nodes':[{'mesh':0,'skin':0},{'mesh':0,'skin':1},{'mesh':0},{'name':'a'},{'name':'b'}],"                          \
    "'skins':[{'joints':[3,4]},{'name':'small','joints':" second "}]," VIEWS "'accessors':[" POSITION "," JOINT        \
    "," WEIGHT "],'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2}}]}]"
    supple_scene *scene = LOAD(plain, TWO_SKINS("[4,3]"));
    REQUIRE(scene);
    CHECK(scene->instance_count == 3 && scene->vertex_count == 12 && scene->joint_count == 4);
    CHECK(scene->instance[1].skin == 1 && scene->instance[1].first_vertex == 4 && scene->instance[2].skin == -1);
    CHECK(scene->skin[1].first_joint == 2);
    CHECK(strcmp(supple_scene_joint_name(scene, 1), "b") == 0 && strcmp(supple_scene_joint_name(scene, 2), "b") == 0);
    CHECK(strcmp(supple_scene_joint_name(scene, 3), "a") == 0 && supple_scene_joint_name(scene, 4) == NULL);
    supple_scene_destroy(scene);
    CHECK(refused(&plain, sizeof plain, TWO_SKINS("[4]"), "skin 'small' has 1 joints"));
}

TEST(a_skin_without_weights_moves_with_its_node)
{
    supple_scene *scene =
        LOAD(plain, SKINNED VIEWS "'accessors':[" POSITION "," INDEX "],'meshes':[{'name':'prop','primitives':["
                                  "{'attributes':{'POSITION':0},'indices':1}]}]");
    REQUIRE(scene);
    CHECK(first(scene)->influence_count == 0 && isnan(first(scene)->weight_sum_max) && warned(scene, "no weights"));
    CHECK(strcmp(spl_instance_name(scene, 0), "prop") == 0); /* the node has no name */
    supple_scene_destroy(scene);
}

TEST(all_sets_and_integer_weights_are_read)
{
    struct {
        float position[3][3];
        uint8_t joint0[3][4], joint1[3][4];
        uint8_t weight0[3][4], weight1[3][4];
    } data = {{{0}},
              {{0, 1, 2, 3}, {0}, {3}},
              {{4, 5, 0, 0}, {4}, {0}},
              {{51, 51, 51, 51}, {254}, {128}},
              {{26, 25, 0, 0}, {0}, {0}}};
    supple_scene *scene =
        LOAD(data, "'nodes':[{'mesh':0,'skin':0},{},{},{},{},{},{}],'skins':[{'joints':[1,2,3,4,5,6]}],"
                   "'bufferViews':[{'buffer':0,'byteLength':84}],'accessors':["
                   "{'bufferView':0,'componentType':5126,'type':'VEC3','count':3},"
                   "{'bufferView':0,'byteOffset':36,'componentType':5121,'type':'VEC4','count':3},"
                   "{'bufferView':0,'byteOffset':48,'componentType':5121,'type':'VEC4','count':3},"
                   "{'bufferView':0,'byteOffset':60,'componentType':5121,'normalized':true,'type':'VEC4','count':3},"
                   "{'bufferView':0,'byteOffset':72,'componentType':5121,'type':'VEC4','count':3}],"
                   "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':3,'JOINTS_1':2,"
                   "'WEIGHTS_1':4}}]}]");
    REQUIRE(scene);
    const spl_primitive *p = first(scene);
    REQUIRE(p->influence_count == 6);
    CHECK_NEAR(p->weight[0], 0.2, 1e-7);
    CHECK(p->joint[4] == 4 && p->joint[5] == 5);
    CHECK_NEAR(p->weight[5], 25.0 / 255, 1e-7);
    CHECK(p->unnormalised == 1); /* 254 / 255 is rounding, 128 / 255 is not */
    CHECK(p->joint[12] == 3 && p->weight[12] == 1);
    supple_scene_destroy(scene);
}

/* ---- morph targets ---------------------------------------------------------------------------------------------- */

TEST(morph_targets_and_their_weights_are_read)
{
#define MORPHED(node_weights, mesh_weights)                                                                            \
    "'nodes':[{'mesh':0" node_weights "}]," VIEWS "'accessors':[" POSITION                                             \
    ",{'bufferView':4,'componentType':5126,'type':'VEC3','count':4}],'meshes':[{'primitives':["                        \
    "{'attributes':{'POSITION':0},'mode':5,'targets':[{'POSITION':1},{'NORMAL':1}]}]" mesh_weights "}]"
    square s = plain;
    s.extra[0][1] = 2;
    supple_scene *scene = LOAD(s, MORPHED("", ",'weights':[0.25,0.5]"));
    REQUIRE(scene);
    const spl_primitive *p = first(scene);
    CHECK(p->target_count == 2 && p->target[0].position[1] == 2 && !p->target[0].normal);
    CHECK(!p->target[1].position && p->target[1].normal[1] == 2);
    CHECK(scene->node[0].weight_count == 2 && scene->node[0].weight[0] == 0.25f && scene->node[0].weight[1] == 0.5f);
    supple_scene_destroy(scene);
    scene = LOAD(s, MORPHED(",'weights':[1,0.75]", ",'weights':[0.25,0.5]"));
    REQUIRE(scene);
    CHECK(scene->node[0].weight[0] == 1 && scene->node[0].weight[1] == 0.75f); /* the node's win */
    supple_scene_destroy(scene);
    scene = LOAD(s, MORPHED("", ""));
    REQUIRE(scene);
    CHECK(scene->node[0].weight_count == 2 && scene->node[0].weight[1] == 0 && scene->warning_count == 0);
    supple_scene_destroy(scene);
    scene = LOAD(s, MORPHED(",'weights':[1]", ""));
    REQUIRE(scene);
    CHECK(scene->node[0].weight_count == 2 && scene->node[0].weight[0] == 1 && warned(scene, "1 morph weights for 2"));
    supple_scene_destroy(scene);
    CHECK(refused(&s, sizeof s, MORPHED(",'weights':[1e40,0]", ""), "morph weight 0"));
    CHECK(refused(&s, sizeof s, MORPHED(",'weights':1", ""), "not an array"));
    s.extra[0][1] = (float)NAN;
    CHECK(refused(&s, sizeof s, MORPHED("", ""), "morph target"));
}

TEST_CASES(RUN(sparse_accessors_replace_elements), RUN(sparse_views_have_no_stride),
           RUN(a_mesh_of_denormal_size_is_refused), RUN(strides_and_odd_offsets_are_followed),
           RUN(quantised_attributes_are_decoded), RUN(an_accessor_without_a_view_is_zero),
           RUN(claims_beyond_the_file_are_refused), RUN(a_small_file_cannot_ask_for_much_by_repetition),
           RUN(every_mode_becomes_triangles), RUN(a_strip_keeps_its_winding),
           RUN(indices_are_checked_against_the_vertices), RUN(sparse_indices_and_wrong_components),
           RUN(bytes_and_words_index_alike), RUN(a_primitive_without_positions_is_empty),
           RUN(positions_must_be_finite_other_attributes_are_dropped), RUN(colours_have_three_or_four_numbers),
           RUN(attributes_must_agree_in_number), RUN(draco_without_its_program_or_a_plain_twin_is_refused),
           RUN(influences_are_sorted_and_merged), RUN(sums_other_than_one_are_counted_and_normalised),
           RUN(unweighted_vertices_take_their_neighbours_weights), RUN(weights_that_are_no_numbers_are_ignored),
           RUN(loose_pieces_take_the_weights_of_what_is_near), RUN(joints_that_are_not_there_are_refused),
           RUN(a_mesh_under_two_skins_is_checked_against_both), RUN(a_skin_without_weights_moves_with_its_node),
           RUN(all_sets_and_integer_weights_are_read), RUN(morph_targets_and_their_weights_are_read))
