#include "body/demo_body.h"
#include "body/material.h"
#include "core/json.h"
#include "core/memory.h"
#include "failing.h"
#include "geom/shapes.h"

static spl_material_set parse(const char *text)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_material_set set;
    if (spl_material_set_parse(text, strlen(text), "m.json", &a, &set, &error) != SUPPLE_OK)
        printf("    %s\n", error.message);
    return set;
}

/* The field of a material text on a body; check .tet_count for success. */
static spl_material_field field_of(const spl_body *body, const char *text)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_material_set set = parse(text);
    spl_material_field field = {0};
    if (set.name && spl_material_field_make(body, &set, &a, &field, &error) != SUPPLE_OK)
        printf("    %s\n", error.message);
    spl_material_set_release(&set);
    return field;
}

TEST(flesh_is_the_default)
{
    demo_body d = demo_body_make("demo:arm", 16, 0);
    supple_allocator a = spl_allocator_of(NULL);
    spl_material_field f;
    REQUIRE(d.body && spl_material_field_make(d.body, NULL, &a, &f, NULL) == SUPPLE_OK);
    CHECK(f.tet_count == d.body->tets.tet_count && f.young_max == 3e4);
    int wrong = 0;
    for (int32_t k = 0; k < f.tet_count; k++)
        wrong += fabs(f.mu[k] - 3e4 / 2.9) > 1e-9 || fabs(f.lambda[k] - 3e4 * 0.45 / (1.45 * 0.1)) > 1e-8 ||
                 f.density[k] != 1000;
    CHECK(wrong == 0);
    spl_material_field_release(&f);
    demo_body_free(&d);
}

/* The material of the visual triangle nearest to a point: all of them are asked. */
static const char *nearest_material(const spl_body *body, spl_vec3 x, double *gap, double *distance)
{
    const char *best = "";
    double least = INFINITY, second = INFINITY;
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_part *part = &body->part[i];
        const char *name = body->scene->material[part->primitive->material].name;
        double own = INFINITY, bary[3];
        for (int32_t t = 0; t < part->primitive->triangle_count; t++) {
            spl_vec3 p[3];
            for (int k = 0; k < 3; k++)
                p[k] = spl_v3_from_float(part->primitive->position + 3 * part->primitive->triangle[3 * t + k]);
            own = fmin(own, sqrt(spl_triangle_nearest(x, p[0], p[1], p[2], bary)));
        }
        if (own < least) {
            second = least;
            least = own;
            best = name;
        } else {
            second = fmin(second, own);
        }
    }
    *gap = second - least;
    *distance = least;
    return best;
}

TEST(the_turtles_shell_is_stiff_and_nothing_else)
{
    demo_body d = demo_body_make("demo:turtle", 28, 0);
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_material_set set;
    spl_material_field f;
    REQUIRE(d.body);
    REQUIRE(spl_material_set_load(SPL_SOURCE_DIR "/examples/turtle-shell.json", &a, &set, &error) == SUPPLE_OK);
    REQUIRE(spl_material_field_make(d.body, &set, &a, &f, &error) == SUPPLE_OK);
    int stiff = 0, soft = 0, wrong = 0, other = 0;
    for (int32_t k = 0; k < f.tet_count; k++) {
        bool shell = f.mu[k] == 1e6 && f.lambda[k] == 9e6 && f.density[k] == 1300;
        stiff += shell;
        soft += f.mu[k] == 1e3 && f.lambda[k] == 9e3 && f.density[k] == 1000;
        double gap, distance;
        if (k % 23) continue;
        const char *nearest = nearest_material(d.body, spl_tet_centroid(&d.body->tets, k), &gap, &distance);
        distance *= d.body->metre;
        bool clear = gap > 1e-6 && fabs(distance - 0.02) > 1e-6; /* the file's depth */
        other += clear;
        wrong += clear && (strcmp(nearest, "shell") == 0 && distance < 0.02) != shell;
    }
    CHECK(stiff + soft == f.tet_count && stiff > f.tet_count / 20 && soft > f.tet_count / 2);
    CHECK(wrong == 0 && other > 100);
    CHECK_NEAR(f.young_max, 2 * 1e6 * 1.45, 1e-3); /* E = 2 mu (1 + nu) */
    spl_material_field_release(&f);
    spl_material_set_release(&set);
    demo_body_free(&d);
}

TEST(depth_takes_a_layer_in_metres)
{
    demo_body d = demo_body_make("demo:turtle", 24, 4); /* about four times its size */
    REQUIRE(d.body && d.body->metre > 2);
    spl_material_field f = field_of(d.body, "{\"regions\":[{\"mesh\":\"SH*L\",\"depth\":0.15,\"density\":2000},"
                                            "{\"material\":\"s?ell\",\"mesh\":\"shell\",\"young\":7e4}]}");
    REQUIRE(f.tet_count);
    int shell = 0, deep = 0, wrong = 0;
    for (int32_t k = 0; k < f.tet_count; k++) {
        if (f.mu[k] > 2e4) { /* of the whole shell */
            shell++;
            deep += f.density[k] == 1000;
        }
        wrong += f.density[k] == 2000 && f.mu[k] < 2e4;
        if (k % 23 || f.mu[k] < 2e4) continue;
        double least = INFINITY, bary[3]; /* squared, from all of the surface */
        const spl_surface *s = &d.body->surface;
        for (int32_t t = 0; t < s->triangle_count; t++) {
            const int32_t *c = s->triangle + 3 * t;
            least = fmin(least, spl_triangle_nearest(spl_tet_centroid(&d.body->tets, k), s->position[c[0]],
                                                     s->position[c[1]], s->position[c[2]], bary));
        }
        wrong += (sqrt(least) * d.body->metre <= 0.15) != (f.density[k] == 2000);
    }
    CHECK(shell > 100 && deep > 10 && deep < shell && wrong == 0);
    spl_material_field_release(&f);
    demo_body_free(&d);
}

TEST(a_joint_means_its_limb)
{
    demo_body d = demo_body_make("demo:hero", 40, 0);
    REQUIRE(d.body);
    spl_material_field f = field_of(d.body, "{\"regions\":[{\"joint\":\"FOREARM.l\",\"young\":9e4,\"poisson\":0.3}]}");
    REQUIRE(f.tet_count);
    const spl_bones *bones = &d.body->bones;
    spl_vec3 elbow = {0}, wrist = {0};
    for (int32_t b = 0; b < bones->bone_count; b++) {
        const char *name = d.scene->node[bones->bone[b].node].name;
        if (strcmp(name, "forearm.L") == 0) elbow = bones->bone[b].head;
        if (strcmp(name, "hand.L") == 0) wrist = bones->bone[b].head;
    }
    spl_vec3 along = spl_unit(spl_sub(wrist, elbow), spl_v3(0, 0, 0));
    double length = spl_distance(elbow, wrist);
    REQUIRE(length > 0.1);
    int inside = 0, wrong = 0;
    for (int32_t k = 0; k < f.tet_count; k++) {
        spl_vec3 x = spl_sub(spl_tet_centroid(&d.body->tets, k), elbow);
        double s = spl_dot(x, along), off = spl_norm(spl_madd(x, along, -s));
        bool arm = off < 0.12 && s > 0.04 && s<length, other = off> 0.2 || s < -0.06;
        bool stiff = f.mu[k] != 3e4 / 2.9;
        inside += stiff;
        wrong += (arm && !stiff) || (other && stiff);
        if (stiff) wrong += fabs(f.mu[k] - 9e4 / 2.6) > 1e-9 || fabs(f.lambda[k] - 9e4 * 0.3 / (1.3 * 0.4)) > 1e-8;
    }
    CHECK(wrong == 0 && inside > 50);
    spl_material_field_release(&f);
    demo_body_free(&d);
}

TEST(a_box_holds_the_centroids_in_it)
{
    demo_body d = demo_body_make("demo:beam", 24, 0);
    REQUIRE(d.body);
    double x0 = d.body->surface.low.x, x1 = d.body->surface.high.x, cut = x0 + 0.3 * (x1 - x0);
    char text[400];
    snprintf(text, sizeof text,
             "{\"default\":{\"young\":1e3,\"poisson\":0},\"regions\":["
             "{\"name\":\"a\",\"box\":{\"min\":[%.9g,-9,-9],\"max\":[%.9g,9,9]},\"young\":2e3,\"density\":5},"
             "{\"name\":\"b\",\"box\":{\"min\":[%.9g,0.001,-9],\"max\":[%.9g,9,9]},\"mu\":7,\"lambda\":-2},"
             "{\"name\":\"c\",\"box\":{\"min\":[%.9g,-9,-9],\"max\":[%.9g,9,9]},\"density\":6}]}",
             x0 - 1, cut, x0 - 1, cut, x0 - 1, x0 + 0.1);
    spl_material_field f = field_of(d.body, text);
    REQUIRE(f.tet_count);
    int wrong = 0, seen[3] = {0};
    for (int32_t k = 0; k < f.tet_count; k++) {
        spl_vec3 x = spl_tet_centroid(&d.body->tets, k);
        bool a = x.x <= cut, b = a && x.y >= 0.001, c = x.x <= x0 + 0.1;
        seen[b ? 2 : a]++;
        /* Later regions count, each for what it sets. */
        wrong += f.mu[k] != (b ? 7 : a ? 1000 : 500) || f.lambda[k] != (b ? -2 : 0);
        wrong += f.density[k] != (c ? 6 : a ? 5 : 1000);
    }
    CHECK(wrong == 0 && seen[0] > 20 && seen[1] > 20 && seen[2] > 20);
    CHECK(f.young_max == 2000);
    spl_material_field_release(&f);
    demo_body_free(&d);
}

TEST(values_blend_over_the_border)
{
    const double blend = 0.3, soft = 1e3, hard = 1e6;
    demo_body d = demo_body_make("demo:beam", 48, 0);
    REQUIRE(d.body);
    double middle = 0.5 * (d.body->surface.low.x + d.body->surface.high.x), cell = d.body->flesh.cell;
    char text[300];
    snprintf(
        text, sizeof text,
        "{\"blend\":%g,\"default\":{\"young\":1e3,\"poisson\":0.2,\"density\":100},\"regions\":[{\"box\":{\"min\":[%"
        ".9g,-9,-9],\"max\":[99,9,9]},\"young\":1e6,\"poisson\":0.4,\"density\":300}]}",
        blend, middle);
    spl_material_field f = field_of(d.body, text);
    REQUIRE(f.tet_count);
    int wrong = 0, between = 0;
    double worst = 0;
    for (int32_t k = 0; k < f.tet_count; k++) {
        double x = (spl_tet_centroid(&d.body->tets, k).x - middle) * d.body->metre;
        double nu = 0.5 * f.lambda[k] / (f.lambda[k] + f.mu[k]), young = 2 * f.mu[k] * (1 + nu);
        double s = fmin(1, fabs(x) / (0.5 * blend)), share = 0.5 * (1 - s * s * (3 - 2 * s));
        if (x < 0) share = 1 - share; /* of the soft side */
        double t = log(young / soft) / log(hard / soft);
        worst = fmax(worst, fabs(t - (1 - share)));
        between += t > 0.01 && t < 0.99;
        /* Poisson's ratio and density take the same share, and far away nothing changes. */
        wrong += fabs(nu - (0.2 + 0.2 * t)) > 1e-9 || fabs(f.density[k] - (100 + 200 * t)) > 1e-6;
        if (fabs(x) > 0.5 * blend + cell) wrong += t > 1e-12 && t < 1 - 1e-12;
    }
    /* The border runs along faces of tets, off the plane by up to a cell. */
    CHECK(wrong == 0 && between > 100);
    CHECK(worst < 1.5 * cell / (0.5 * blend));
    CHECK(f.young_max <= hard * (1 + 1e-12) && f.young_max > 0.99 * hard);
    spl_material_field_release(&f);
    demo_body_free(&d);
}

/* ---- vertex colours --------------------------------------------------------------------------------------------- */

/* A box on one joint as a .glb, red rising from 0 to 1 along x from -1 to 1; as bytes with alpha, facing inwards, or as
 * floats without. */
static supple_scene *colored_box(bool bytes)
{
    shape s = shape_box(12, 2, 1, 1);
    size_t n = (size_t)s.vertex_count, m = 3 * (size_t)s.triangle_count;
    size_t at[6] = {0, 12 * n, 16 * n, 32 * n, 44 * n, 44 * n + 4 * m}, size = at[5];
    uint8_t *bin = calloc(size + 4096, 1), *glb = calloc(size + 8192, 1);
    for (size_t v = 0; v < n; v++) {
        const float color[3] = {0.5F + 0.5F * (float)s.position[3 * v], 0.4F, 0.6F}, weight[4] = {1, 0, 0, 0};
        float p[3];
        for (int i = 0; i < 3; i++) p[i] = (float)s.position[3 * v + (size_t)i];
        memcpy(bin + at[0] + 12 * v, p, sizeof p);
        memcpy(bin + at[2] + 16 * v, weight, sizeof weight);
        for (int i = 0; i < 3 && bytes; i++) bin[at[3] + 4 * v + (size_t)i] = (uint8_t)lrintf(255 * color[i]);
        if (!bytes) memcpy(bin + at[3] + 12 * v, color, sizeof color);
    }
    for (int32_t t = 0; bytes && t < s.triangle_count; t++) {
        int32_t *c = s.triangle + 3 * t, second = c[1];
        c[1] = c[2];
        c[2] = second;
    }
    memcpy(bin + at[4], s.triangle, 4 * m);
    char json[2000];
    int length = snprintf(
        json, sizeof json,
        "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0,1]}],\"nodes\":[{\"name\":\"box\","
        "\"mesh\":0,\"skin\":0},{\"name\":\"root\"}],\"skins\":[{\"joints\":[1]}],\"meshes\":[{\"primitives\":[{"
        "\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2,\"COLOR_0\":3},\"indices\":4}]}],\"buffers\":[{"
        "\"byteLength\":%zu}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":%zu},{\"buffer\":0,\"byteOffset\":%zu,"
        "\"byteLength\":%zu},{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu},{\"buffer\":0,\"byteOffset\":%zu,"
        "\"byteLength\":%zu},{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu}],\"accessors\":[{\"bufferView\":0,"
        "\"componentType\":5126,\"count\":%zu,\"type\":\"VEC3\"},{\"bufferView\":1,\"componentType\":5121,\"count\":%"
        "zu,\"type\":\"VEC4\"},{\"bufferView\":2,\"componentType\":5126,\"count\":%zu,\"type\":\"VEC4\"},{"
        "\"bufferView\":3,\"componentType\":%d,\"normalized\":%s,\"count\":%zu,\"type\":\"%s\"},{\"bufferView\":4,"
        "\"componentType\":5125,\"count\":%zu,\"type\":\"SCALAR\"}]}",
        size, 12 * n, at[1], 4 * n, at[2], 16 * n, at[3], 12 * n, at[4], 4 * m, n, n, n, bytes ? 5121 : 5126,
        bytes ? "true" : "false", n, bytes ? "VEC4" : "VEC3", m);
    while (length % 4) json[length++] = ' ';
    uint32_t head[5] = {0x46546c67, 2, 0, (uint32_t)length, 0x4e4f534a}, chunk[2] = {(uint32_t)size, 0x004e4942};
    head[2] = (uint32_t)(28 + (size_t)length + size);
    memcpy(glb, head, 20);
    memcpy(glb + 20, json, (size_t)length);
    memcpy(glb + 20 + length, chunk, 8);
    memcpy(glb + 28 + length, bin, size);
    supple_scene *scene = NULL;
    supple_error error = {0};
    if (supple_scene_load_memory(glb, head[2], "box", NULL, &scene, &error) != SUPPLE_OK)
        printf("    %s\n", error.message);
    free(bin);
    free(glb);
    shape_free(&s);
    return scene;
}

TEST(a_colour_means_the_flesh_under_it)
{
    for (int bytes = 0; bytes < 2; bytes++) {
        demo_body d = demo_body_of(colored_box(bytes), 16, 0);
        REQUIRE(d.body);
        const spl_primitive *p = d.body->part[0].primitive;
        REQUIRE(p->color);
        CHECK_NEAR(p->color[3], bytes ? 0 : 1, 0); /* the bytes have alpha 0 */
        CHECK(d.body->surface.flipped[0] == bytes);
        spl_material_field f = field_of(d.body, "{\"regions\":[{\"color\":[0.4,0.4,0.6],\"young\":5e4},"
                                                "{\"color\":[0.65,0.4,0.65],\"tolerance\":0.06,\"density\":7}]}");
        REQUIRE(f.tet_count);
        int wrong = 0, stiff = 0, light = 0;
        for (int32_t k = 0; k < f.tet_count; k++) {
            double red = 0.5 + 0.5 * spl_tet_centroid(&d.body->tets, k).x; /* away from the ends, straight above it */
            double a = 0.1 - fabs(red - 0.4), b = 0.06 - fabs(red - 0.65);
            stiff += f.mu[k] > 1.5e4;
            light += f.density[k] == 7;
            wrong += fabs(a) > 0.003 && (a > 0) != (f.mu[k] > 1.5e4); /* bytes round */
            wrong += fabs(b) > 0.003 && (b > 0) != (f.density[k] == 7);
        }
        CHECK(wrong == 0 && stiff > 100 && light > 50);
        spl_material_field_release(&f);
        demo_body_free(&d);
    }
}

/* Where limbs overlap, a tet whose corners are denied the nearest surface takes their limb's. */
TEST(flesh_lies_under_its_own_limbs_skin)
{
    demo_body d = demo_body_make("demo:arm", 16, 0);
    REQUIRE(d.body);
    spl_body copy = *d.body;
    int32_t tet = d.body->tets.tet_count / 2, far = 0;
    spl_vec3 x = spl_tet_centroid(&copy.tets, tet);
    for (int32_t t = 1; t < copy.surface.triangle_count; t++)
        if (spl_distance(copy.surface.position[copy.surface.triangle[3 * t]], x) >
            spl_distance(copy.surface.position[copy.surface.triangle[3 * far]], x))
            far = t;
    copy.place = malloc((size_t)copy.tets.vertex_count * sizeof *copy.place);
    memcpy(copy.place, d.body->place, (size_t)copy.tets.vertex_count * sizeof *copy.place);
    for (int i = 0; i < 4; i++) copy.place[copy.tets.tet[4 * tet + i]] = (spl_place){far, {1, 0, 0}};
    spl_selection s;
    REQUIRE(spl_selection_make(d.body, &copy.allocator, &s, NULL) == SUPPLE_OK);
    CHECK(s.place[tet].triangle != far && s.distance[tet] < 0.2);
    spl_selection_release(&s);
    REQUIRE(spl_selection_make(&copy, &copy.allocator, &s, NULL) == SUPPLE_OK);
    CHECK(s.place[tet].triangle == far);
    CHECK_NEAR(s.distance[tet], spl_distance(copy.surface.position[copy.surface.triangle[3 * far]], x), 1e-12);
    /* Its bone is then one that the skin there follows. */
    double most = 0;
    int32_t node = -1, corner = copy.surface.triangle[3 * far];
    for (int32_t j = copy.weights.first[corner]; j < copy.weights.first[corner + 1]; j++)
        if (copy.weights.weight[j] > most) {
            most = copy.weights.weight[j];
            node = copy.weights.node[j];
        }
    CHECK(most > 0.99 && copy.bones.bone[s.bone[tet]].node == node);
    spl_selection_release(&s);
    free(copy.place);
    demo_body_free(&d);
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

/* What a text is refused with: all words must be in the message, and nothing may be left. */
static bool refused(const char *text, size_t size, const char *first, const char *second)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_material_set set;
    supple_result result = spl_material_set_parse(text, size, "m.json", &a, &set, &error);
    bool good = result == SUPPLE_ERROR_INPUT && error.code == result && strncmp(error.message, "m.json: ", 8) == 0 &&
                strstr(error.message, first) && strstr(error.message, second) && !strchr(error.message, '\n') &&
                !set.region && !set.name;
    if (!good) printf("    %.100s\n    -> '%s', not '%s' and '%s'\n", text, error.message, first, second);
    if (result == SUPPLE_OK) spl_material_set_release(&set);
    return good;
}

#define REGION(body) "{\"regions\":[{\"name\":\"r1\"," body "}]}"

static const char *const bad[][3] = {
    {"", "not valid JSON", "line"},
    {"[1]", "not an object", ""},
    {"{\"default\":", "not valid JSON", ""},
    {"{}", "says nothing", "regions"},
    {"{\"regions\":[],\"regions\":[]}", "not valid JSON", "duplicate"},
    {"{\"region\":[]}", "unknown key \"region\"", "regions"},
    {"{\"regions\":{}}", "\"regions\" is not a list", ""},
    {"{\"regions\":[3]}", "regions[0]", "is not an object"},
    {"{\"default\":4}", "\"default\" is not an object", ""},
    {"{\"default\":{\"Young\":1}}", "default: ", "unknown key \"Young\""},
    {"{\"default\":{\"poisson\":0.5}}", "default: ", "\"poisson\" is 0.5"},
    {"{\"blend\":-1,\"default\":{}}", "\"blend\" is -1", "0 to"},
    {"{\"blend\":\"1\",\"default\":{}}", "\"blend\" is not a number", ""},
    {"{\"comment\":1,\"default\":{}}", "\"comment\" is not a string", ""},
    {"{\"default\":{\"young\":1e999}}", "not valid JSON", "overflow"},
    {"{\"default\":{\"young\":NaN}}", "not valid JSON", ""},
    {REGION("\"material\":\"x\",\"young\":1,\"stiff\":2"), "region 'r1'", "unknown key \"stiff\""},
    {REGION("\"material\":\"x\",\"young\":-3"), "region 'r1'", "\"young\" is -3"},
    {REGION("\"material\":\"x\",\"young\":0"), "region 'r1'", "\"young\" is 0"},
    {REGION("\"material\":\"x\",\"young\":1e300"), "region 'r1'", "\"young\" is 1e+300"},
    {REGION("\"material\":\"x\",\"young\":\"1\""), "region 'r1'", "\"young\" is not a number"},
    {REGION("\"material\":\"x\",\"young\":1,\"poisson\":0.5"), "region 'r1'", "below 0.5"},
    {REGION("\"material\":\"x\",\"young\":1,\"poisson\":-1"), "region 'r1'", "above -1"},
    {REGION("\"material\":\"x\",\"young\":1,\"poisson\":[]"), "region 'r1'", "\"poisson\" is not a number"},
    {REGION("\"material\":\"x\",\"poisson\":0.3"), "region 'r1'", "\"poisson\" needs \"young\""},
    {REGION("\"material\":\"x\",\"density\":0"), "region 'r1'", "\"density\" is 0"},
    {REGION("\"material\":\"x\",\"mu\":1"), "region 'r1'", "go together"},
    {REGION("\"material\":\"x\",\"lambda\":1"), "region 'r1'", "go together"},
    {REGION("\"material\":\"x\",\"mu\":1,\"lambda\":1,\"young\":1"), "region 'r1'", "not both"},
    {REGION("\"material\":\"x\",\"mu\":-1,\"lambda\":1"), "region 'r1'", "\"mu\" is -1"},
    {REGION("\"material\":\"x\",\"mu\":3,\"lambda\":-2"), "region 'r1'", "above -2/3 mu"},
    {REGION("\"material\":\"x\",\"mu\":1e-3,\"lambda\":1e15"), "region 'r1'", "nothing could give way"},
    {REGION("\"material\":\"x\""), "region 'r1'", "sets nothing"},
    {REGION("\"young\":1"), "region 'r1'", "not where"},
    {REGION("\"material\":7,\"young\":1"), "region 'r1'", "\"material\" is not a string"},
    {REGION("\"joint\":\"\",\"young\":1"), "region 'r1'", "\"joint\" is empty"},
    {REGION("\"box\":[1,2],\"young\":1"), "region 'r1'", "\"box\" is not an object"},
    {REGION("\"box\":{\"min\":[0,0,0]},\"young\":1"), "region 'r1'", "\"min\" and \"max\""},
    {REGION("\"box\":{\"min\":[0,0],\"max\":[1,1,1]},\"young\":1"), "region 'r1'", "\"min\" is not a list of 3"},
    {REGION("\"box\":{\"min\":[0,0,0],\"max\":[1,\"1\",1]},\"young\":1"), "region 'r1'", "\"max\" is not a list of 3"},
    {REGION("\"box\":{\"min\":[0,2,0],\"max\":[1,1,1]},\"young\":1"), "region 'r1'", "along y"},
    {REGION("\"box\":{\"min\":[0,0,0],\"max\":[1,1,1],\"x\":1},\"young\":1"), "region 'r1'", "unknown key \"x\""},
    {REGION("\"color\":[1,0],\"young\":1"), "region 'r1'", "\"color\" is not a list of 3"},
    {REGION("\"color\":[255,0,0],\"young\":1"), "region 'r1'", "\"color\" holds 255"},
    {REGION("\"color\":[1,0,0],\"tolerance\":2,\"young\":1"), "region 'r1'", "\"tolerance\" is 2"},
    {REGION("\"mesh\":\"x\",\"tolerance\":0.1,\"young\":1"), "region 'r1'", "needs \"color\""},
    {REGION("\"joint\":\"x\",\"depth\":0.1,\"young\":1"), "region 'r1'", "\"depth\" needs"},
    {REGION("\"mesh\":\"x\",\"depth\":0,\"young\":1"), "region 'r1'", "\"depth\" is 0"},
    {"{\"regions\":[{\"name\":\"a\",\"mesh\":\"x\",\"young\":1},{\"name\":\"a\",\"mesh\":\"y\",\"young\":1}]}",
     "region 'a'", "\"name\" stands twice"},
    {"{\"regions\":[{\"mesh\":\"x\",\"young\":1},{\"mesh\":\"y\",\"young\":0}]}", "regions[1]", "\"young\" is 0"},
};

TEST(a_slip_is_refused_with_its_place)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(refused(bad[i][0], strlen(bad[i][0]), bad[i][1], bad[i][2]));
    /* Every beginning of a good file is refused too. */
    const char *good = REGION("\"box\":{\"min\":[0,0,0],\"max\":[1,1,1]},\"mu\":1e3,\"lambda\":2e3");
    for (size_t cut = 0; cut < strlen(good); cut++) CHECK(refused(good, cut, "not valid JSON", ""));
    spl_material_set set = parse(good);
    CHECK(set.region_count == 1 && set.region[0].tissue.mu == 1e3);
    spl_material_set_release(&set);
}

TEST(deep_and_huge_files_are_refused)
{
    size_t n = (size_t)SPL_JSON_LARGEST + 1;
    char *text = malloc(n + 1);
    memset(text, '[', n);
    text[n] = 0;
    CHECK(refused(text, n, "larger than the limit", "MB"));
    CHECK(refused(text, 100000, "nested more than", "deep"));
    memset(text, ' ', n);
    memcpy(text, "{\"regions\":[", 12);
    for (size_t i = 0; i < 1001; i++) memcpy(text + 12 + 2 * i, "1,", 2);
    memcpy(text + 12 + 2 * 1001 - 1, "]}", 2);
    CHECK(refused(text, 20000, "1001 entries", "at most 1000"));
    free(text);
    supple_allocator a = spl_allocator_of(NULL);
    spl_material_set set;
    supple_error error = {0};
    CHECK(spl_material_set_load("no-such.json", &a, &set, &error) == SUPPLE_ERROR_INPUT && !set.name);
    CHECK(strstr(error.message, "no-such.json") != NULL);
}

TEST(a_region_without_flesh_is_refused)
{
    static const char *const none[][2] = {
        {REGION("\"material\":\"steel\",\"young\":1"), "no material is called 'steel'"},
        {REGION("\"mesh\":\"leg*\",\"young\":1"), "no mesh is called 'leg*'"},
        {REGION("\"joint\":\"wing\",\"young\":1"), "no joint is called 'wing'"},
        {REGION("\"color\":[1,0,0],\"young\":1"), "COLOR_0"},
        {REGION("\"box\":{\"min\":[50,0,0],\"max\":[51,1,1]},\"young\":1"), "no tetrahedron"},
        {REGION("\"material\":\"flesh\",\"box\":{\"min\":[50,0,0],\"max\":[51,1,1]},\"young\":1"), "no tetrahedron"},
    };
    demo_body d = demo_body_make("demo:beam", 12, 0);
    supple_allocator a = spl_allocator_of(NULL);
    REQUIRE(d.body);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        spl_material_set set = parse(none[i][0]);
        spl_material_field f;
        supple_error error = {0};
        REQUIRE(set.name);
        CHECK(spl_material_field_make(d.body, &set, &a, &f, &error) == SUPPLE_ERROR_INPUT && !f.mu && !f.tet_count);
        bool said = strstr(error.message, "m.json: region 'r1' matches nothing: ") && strstr(error.message, none[i][1]);
        if (!said) printf("    '%s' lacks '%s'\n", error.message, none[i][1]);
        CHECK(said);
        spl_material_set_release(&set);
    }
    demo_body_free(&d);
}

TEST(every_failed_allocation_is_survived)
{
    const char *text =
        "{\"blend\":0.1,\"regions\":[{\"name\":\"a\",\"material\":\"flesh\",\"young\":5},{\"mesh\":\"beam\","
        "\"density\":2},{\"joint\":\"bone.1\",\"box\":{\"min\":[-9,-9,-9],\"max\":[9,9,9]},\"young\":9}]}";
    demo_body d = demo_body_make("demo:beam", 12, 0);
    REQUIRE(d.body);
    bool done = false;
    long fail_at = 0, refusals = 0;
    for (; !done && fail_at < 200; fail_at++) {
        failing counter = {.fail_at = fail_at};
        supple_allocator a = failing_allocator(&counter);
        spl_material_set set;
        spl_material_field f = {0};
        supple_error error = {0};
        supple_result result = spl_material_set_parse(text, strlen(text), "m.json", &a, &set, &error);
        if (result == SUPPLE_OK) result = spl_material_field_make(d.body, &set, &a, &f, &error);
        done = counter.requests <= fail_at;
        /* The tree may keep memory that it could not give back; everything else must say so. */
        CHECK(result == SUPPLE_OK || (!done && result == SUPPLE_ERROR_MEMORY && error.code == result));
        CHECK((result == SUPPLE_OK) == (f.mu != NULL) && (!f.mu || f.mu[0] > 0));
        refusals += result != SUPPLE_OK;
        spl_material_field_release(&f);
        spl_material_set_release(&set);
        CHECK(counter.live == 0);
    }
    CHECK(done && fail_at > 20 && refusals >= fail_at - 3);
    demo_body_free(&d);
}

TEST_CASES(RUN(flesh_is_the_default), RUN(the_turtles_shell_is_stiff_and_nothing_else),
           RUN(depth_takes_a_layer_in_metres), RUN(a_joint_means_its_limb), RUN(a_box_holds_the_centroids_in_it),
           RUN(values_blend_over_the_border), RUN(a_colour_means_the_flesh_under_it),
           RUN(flesh_lies_under_its_own_limbs_skin), RUN(a_slip_is_refused_with_its_place),
           RUN(deep_and_huge_files_are_refused), RUN(a_region_without_flesh_is_refused),
           RUN(every_failed_allocation_is_survived))
