/* Texture coordinates, regions, and the stage after methods. */
#include "../failing.h"
#include "../test.h"
#include "sheets.h"
#include "sim/sim.h"
#include "slide/regions.h"
#include "slide/uv.h"

#include <supple/supple.h>

/* ---- texture coordinates ---- */

enum { AROUND = 16, ALONG = 12 };

/* A tube with u around (0 to 1, a seam at 0) and v along it, made of duplicated vertices as files have them. */
typedef struct textured {
    shape s;
    float *uv; /* 2 a corner */
    int32_t *input, *texture;
} textured;

static textured make_textured(int seam)
{
    textured t = {.s = shape_grid(AROUND, ALONG, shape_at_tube, (double[]){0.1, 0.4})};
    size_t m = (size_t)t.s.triangle_count;
    t.uv = calloc(6 * m, sizeof *t.uv);
    t.input = calloc(m, sizeof *t.input);
    t.texture = calloc(m, sizeof *t.texture);
    for (size_t i = 0; i < m; i++) {
        t.input[i] = (int32_t)i;
        for (size_t k = 0; k < 3; k++) {
            int32_t v = t.s.triangle[3 * i + k], column = v % (AROUND + 1);
            int cell = (int)(i / 2 % AROUND); /* shift the seam: cells from it on lie a turn back */
            t.uv[6 * i + 2 * k] = (float)column / AROUND - (cell >= seam ? 1.0F : 0.0F);
            t.uv[6 * i + 2 * k + 1] = (float)(v / (AROUND + 1)) / ALONG;
        }
    }
    return t;
}

static void free_textured(textured *t)
{
    shape_free(&t->s);
    free(t->uv);
    free(t->input);
    free(t->texture);
}

/* Glued skin keeps the file's texture coordinates to the last bit; skin turned by half a column and a third of a row
 * has them shifted by just that, without a jump inside any triangle, wherever the seam is. */
TEST(texture_coordinates_slide_over_seams)
{
    supple_allocator a = spl_allocator_of(NULL);
    for (int seam = 0; seam < AROUND; seam += 5) {
        textured t = make_textured(seam);
        spl_dermis_settings set = spl_dermis_settings_default();
        spl_dermis *d = sheet_skin(&t.s, &set, NULL, NULL);
        size_t m = (size_t)t.s.triangle_count;
        float *out = calloc(6 * m, sizeof *out);
        spl_slide_uv uv;
        REQUIRE(spl_slide_uv_make(&d->net, t.uv, t.input, t.texture, &a, &uv, NULL) == SUPPLE_OK);
        CHECK(spl_slide_uv_update(&uv, d, out) == 0);
        CHECK(memcmp(out, t.uv, 6 * m * sizeof *out) == 0);
        for (int32_t v = 0; v < d->net.surface.vertex_count; v++) {
            spl_vec3 p = d->net.surface.position[v];
            double angle = atan2(p.y, p.x), next = angle + 2 * shape_pi / AROUND;
            spl_vec3 side = spl_v3(0.1 * (cos(next) - cos(angle)) / 2, 0.1 * (sin(next) - sin(angle)) / 2, 0);
            if (p.z > 0.39) continue; /* the last row cannot go on */
            /* half an edge along the facet beside it, then up */
            for (int32_t e = d->net.surface.corner_first[v]; e < d->net.surface.corner_first[v + 1]; e++) {
                int32_t tri = d->net.surface.corner[e] / 3, k = d->net.surface.corner[e] % 3;
                if (fabs(spl_dot(d->net.face[tri], spl_unit(side, side))) > 1e-9) continue;
                spl_place at = {.triangle = tri};
                at.bary[k] = 1;
                spl_trail w = {.at = at, .entered = -1};
                spl_vec3 step = spl_add(side, spl_v3(0, 0, 0.4 / ALONG / 3));
                double q[2] = {spl_dot(d->net.frame[2 * tri], step), spl_dot(d->net.frame[2 * tri + 1], step)};
                spl_net_bary(&d->net, (size_t)tri, q, w.way);
                for (int n = 0; n < 10; n++) {
                    int edge = spl_trail_on(&w);
                    if (edge < 0) break;
                    spl_trail_cross(&d->net, &w, edge);
                }
                if (spl_distance(spl_surface_point(&d->net.surface, &w.at), spl_add(p, step)) > 1e-9) continue;
                d->place[v] = w.at;
                d->Y[v] = spl_add(p, step);
                break;
            }
            CHECK(spl_distance(d->Y[v], p) > 1e-3);
        }
        int32_t spanning = spl_slide_uv_update(&uv, d, out);
        CHECK(spanning > ALONG && spanning < 4 * ALONG);
        for (size_t i = 0; i < m; i++) {
            bool last = t.uv[6 * i + 1] > 0.99F || t.uv[6 * i + 3] > 0.99F || t.uv[6 * i + 5] > 0.99F;
            double turn = 0;
            for (size_t k = 0; k < 3 && !last; k++) {
                double du = (double)(out[6 * i + 2 * k] - t.uv[6 * i + 2 * k]) - 0.5 / AROUND;
                if (k == 0) turn = floor(du + 0.5);
                /* the same whole turn at all corners; around a bend at the seam a fiftieth of a column off */
                CHECK_NEAR(du - turn, 0, 0.02 / AROUND);
                CHECK_NEAR(out[6 * i + 2 * k + 1] - t.uv[6 * i + 2 * k + 1], 1.0 / (3 * ALONG), 1e-5);
            }
        }
        spl_slide_uv_release(&uv);
        spl_dermis_destroy(d);
        free(out);
        free_textured(&t);
    }
}

/* A torus, and the same one with vertices doubled along other seams, as files have them: the same bits. */
TEST(results_do_not_depend_on_where_seams_are)
{
    spl_vec3 *Y[2];
    int32_t n[2];
    for (int cut = 0; cut < 2; cut++) {
        shape s = shape_torus(9, 0.35, 0.11), more = shape_new(s.vertex_count + 3 * s.triangle_count, s.triangle_count);
        memcpy(more.position, s.position, 3 * (size_t)s.vertex_count * sizeof(double));
        memcpy(more.triangle, s.triangle, 3 * (size_t)s.triangle_count * sizeof(int32_t));
        more.vertex_count = s.vertex_count;
        for (int i = 0; cut && i < 3 * s.triangle_count; i++)
            if (i / 30 % 3 == 1) { /* pieces of ten triangles have vertices of their own */
                memcpy(more.position + 3 * more.vertex_count, s.position + 3 * s.triangle[i], 3 * sizeof(double));
                more.triangle[i] = more.vertex_count++;
            }
        spl_dermis_settings set = spl_dermis_settings_default();
        set.zeta = 0.8;
        spl_dermis *d = sheet_skin(&more, &set, NULL, NULL);
        n[cut] = d->net.surface.vertex_count;
        spl_vec3 *x = calloc((size_t)n[cut], sizeof *x);
        for (int frame = 0; frame < 5; frame++) {
            for (int32_t v = 0; v < n[cut]; v++) {
                spl_vec3 p = d->net.surface.position[v];
                x[v] = spl_add(p, spl_v3(0.01 * frame * p.y, 0.05 * frame * p.x * p.x, 0));
            }
            CHECK(spl_dermis_advance(d, x, 1.0 / 30, NULL) == SUPPLE_OK);
        }
        Y[cut] = calloc((size_t)n[cut], sizeof(spl_vec3));
        memcpy(Y[cut], d->Y, (size_t)n[cut] * sizeof(spl_vec3));
        CHECK(spl_distance(d->Y[5], d->net.surface.position[5]) > 1e-4);
        free(x);
        shape_free(&s);
        shape_free(&more);
        spl_dermis_destroy(d);
    }
    CHECK(n[0] == n[1] && memcmp(Y[0], Y[1], (size_t)n[0] * sizeof(spl_vec3)) == 0);
    free(Y[0]);
    free(Y[1]);
}

/* ---- the stage ---- */

static supple_sim *start(const supple_scene *scene, const char *method, const char *file, const supple_setting *setting,
                         int32_t settings, supple_error *error)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.method = method;
    sc.slide = true;
    sc.slide_file = file;
    sc.settings = setting;
    sc.setting_count = settings;
    supple_sim_create(scene, &sc, NULL, &sim, error);
    return sim;
}

static supple_scene *load(const char *name)
{
    supple_scene *scene = NULL;
    if (supple_scene_load_file(name, NULL, &scene, NULL) != SUPPLE_OK) printf("    %s cannot be loaded\n", name);
    return scene;
}

TEST(a_characters_skin_slides_and_comes_back)
{
    supple_scene *scene = load("demo:arm");
    REQUIRE(scene);
    supple_error error = {0};
    supple_sim *sim = start(scene, "linear", NULL, NULL, 0, &error);
    if (!sim) printf("    %s\n", error.message);
    REQUIRE(sim && sim->slide.corner_uv);
    CHECK(sim->slide.corners == 3 * (size_t)supple_scene_triangle_count(scene));
    CHECK(sim->slide.vertices == (size_t)supple_scene_vertex_count(scene));
    size_t bytes = 2 * sim->slide.corners * sizeof(float);
    float *rest = malloc(bytes);
    CHECK(supple_sim_step_clip(sim, -1, 0, NULL) == SUPPLE_OK);
    memcpy(rest, sim->slide.corner_uv, bytes);
    double most = 0, stretch = 0, back = 0;
    for (int k = 0; k <= 15; k++) {
        CHECK(supple_sim_step_clip(sim, 0, k / 30.0, NULL) == SUPPLE_OK);
        for (size_t i = 0; i < 2 * sim->slide.corners; i++)
            most = fmax(most, fabs((double)(sim->slide.corner_uv[i] - rest[i])));
        for (size_t v = 0; v < sim->slide.vertices; v++) stretch = fmax(stretch, (double)sim->slide.stretch[v]);
        CHECK(supple_sim_stats(sim)->ms_slide > 0);
    }
    CHECK(most > 1e-3 && stretch > 1.02 && stretch < 10);
    supple_sim_reset(sim);
    CHECK(supple_sim_step_clip(sim, -1, 0, NULL) == SUPPLE_OK);
    for (size_t i = 0; i < 2 * sim->slide.corners; i++)
        back = fmax(back, fabs((double)(sim->slide.corner_uv[i] - rest[i])));
    CHECK(back == 0);
    supple_named_value value;
    int32_t values = 0, found = 0;
    for (; supple_sim_value(sim, values, &value); values++) found += strcmp(value.name, "slide_steps") == 0;
    CHECK(found == 1 && values >= 10);
    free(rest);
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);
}

TEST(settings_are_checked)
{
    supple_scene *scene = load("demo:arm");
    REQUIRE(scene);
    supple_error error = {0};
    supple_setting right[] = {{"slide.zeta", "0.5"}, {"force", "paper"}, {"slide.law", "stvk"}, {"slide.step", "1"}};
    supple_sim *sim = start(scene, "linear", NULL, right, 4, &error);
    REQUIRE(sim);
    CHECK(sim->slide_parameter[SPL_SLIDE_ZETA] == 0.5 && sim->slide_parameter[SPL_SLIDE_FORCE] == 1);
    CHECK(supple_sim_step_clip(sim, 0, 0, NULL) == SUPPLE_OK);
    CHECK(supple_sim_step_clip(sim, 0, 0.01, NULL) == SUPPLE_OK);
    supple_named_value value;
    for (int32_t i = 0; supple_sim_value(sim, i, &value); i++)
        if (strcmp(value.name, "slide_steps") == 0) CHECK(value.value == 10);
    supple_sim_destroy(sim);
    supple_setting loose[] = {{"slide.drag", "3"}, {"slide.preset", "jiggle"}}; /* what is said beside it counts */
    sim = start(scene, "linear", NULL, loose, 2, &error);
    REQUIRE(sim);
    CHECK(sim->slide_parameter[SPL_SLIDE_DRAG] == 3 && sim->slide_parameter[SPL_SLIDE_ZETA] == 0.5 &&
          sim->slide_parameter[SPL_SLIDE_INERTIA] == 1);
    supple_sim_destroy(sim);
    supple_setting wrong = {"slide.zeta", "2"}, unknown = {"slide.zetta", "1"};
    CHECK(!start(scene, "linear", NULL, &wrong, 1, &error) && strstr(error.message, "from 0 to 1"));
    CHECK(!start(scene, "linear", NULL, &unknown, 1, &error) && strstr(error.message, "slide.zetta"));
    supple_sim_config sc = supple_sim_config_default();
    sc.method = "linear";
    sc.settings = right;
    sc.setting_count = 1;
    CHECK(supple_sim_create(scene, &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT &&
          strstr(error.message, "--slide"));
    supple_scene_destroy(scene);
}

/* ---- regions ---- */

/* The arm's surface, and what a text makes of it. */
typedef struct arm {
    supple_scene *scene;
    spl_part *part;
    int32_t part_count;
    bool *slides;
    spl_net net;
} arm;

static arm make_arm(void)
{
    supple_allocator a = spl_allocator_of(NULL);
    arm r = {.scene = load("demo:arm")};
    r.part = spl_parts_new(r.scene, &a, &r.part_count);
    r.slides = calloc((size_t)r.part_count, sizeof *r.slides);
    shape s = shape_new(r.scene->vertex_count, r.scene->triangle_count);
    s.triangle_count = 0;
    for (int32_t i = 0; i < r.part_count; i++) {
        const spl_primitive *p = r.part[i].primitive;
        r.slides[i] = true;
        for (int32_t k = 0; k < 3 * p->vertex_count; k++)
            s.position[3 * r.part[i].first_vertex + k] = (double)p->position[k];
        for (int32_t k = 0; k < 3 * p->triangle_count; k++)
            s.triangle[3 * s.triangle_count + k] = r.part[i].first_vertex + p->triangle[k];
        s.triangle_count += p->triangle_count;
    }
    r.net = sheet_net(&s);
    shape_free(&s);
    return r;
}

static void free_arm(arm *r)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_net_release(&r->net);
    spl_free(&a, r->part);
    free(r->slides);
    supple_scene_destroy(r->scene);
}

static supple_result parse(const arm *r, const char *text, spl_regions *out, supple_error *error)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_slide_scene where = {r->scene, r->part, r->part_count, r->slides, &r->net};
    spl_dermis_settings set = spl_dermis_settings_default();
    *error = (supple_error){0};
    return spl_regions_parse(&where, text, strlen(text), "skin.json", SPL_BORDER_FIXED, &set, &a, out, error);
}

static int count_held(const arm *r, const spl_regions *g, spl_hold hold)
{
    int n = 0;
    for (int32_t v = 0; v < r->net.surface.vertex_count; v++) n += g->hold[v] == hold;
    return n;
}

TEST(regions_are_found_and_contradictions_named)
{
    arm r = make_arm();
    spl_regions g;
    supple_error error;
    int all = r.net.surface.vertex_count;
    const char *joint = r.scene->node[r.scene->skin[0].joint[r.scene->skin[0].joint_count - 1]].name;
    char text[600];
    CHECK(parse(&r, "{\"regions\": []}", &g, &error) == SUPPLE_OK && count_held(&r, &g, SPL_HOLD_FREE) == all);
    spl_regions_release(&g);
    snprintf(text, sizeof text, "{\"regions\": [{\"joint\": \"%s\", \"skin\": \"free\", \"stiffness\": 3}]}", joint);
    REQUIRE(parse(&r, text, &g, &error) == SUPPLE_OK);
    int free_count = count_held(&r, &g, SPL_HOLD_FREE);
    CHECK(free_count > 10 && free_count < all && count_held(&r, &g, SPL_HOLD_FIXED) == all - free_count);
    for (int32_t v = 0; v < all; v++) CHECK(g.stiffness[v] == (g.hold[v] == SPL_HOLD_FREE ? 3 : 1));
    spl_regions_release(&g);
    snprintf(text, sizeof text,
             "{\"regions\": [{\"name\": \"cuff\", \"joint\": \"%s\", \"skin\": \"fixed\"},"
             "{\"name\": \"sleeve\", \"mesh\": \"*\", \"border\": false, \"curve\": [%d, %d], \"skin\": \"sliding\"}]}",
             joint, (int)r.part[0].primitive->triangle[0], (int)r.part[0].primitive->triangle[1]);
    supple_result result = parse(&r, text, &g, &error);
    if (result == SUPPLE_OK) spl_regions_release(&g); /* the curve may lie outside of the cuff: then no contradiction */
    snprintf(text, sizeof text,
             "{\"regions\": [{\"name\": \"all\", \"mesh\": \"*\", \"skin\": \"fixed\"},"
             "{\"name\": \"seam\", \"curve\": [%d, %d], \"skin\": \"sliding\"}]}",
             (int)r.part[0].primitive->triangle[0], (int)r.part[0].primitive->triangle[1]);
    CHECK(parse(&r, text, &g, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "region 'seam'") && strstr(error.message, "region 'all'") &&
          strstr(error.message, "contradict"));
    static const char *const wrong[][2] = {
        {"{\"regions\": [{\"name\": \"x\", \"material\": \"none such\", \"skin\": \"fixed\"}]}", "matches no skin"},
        {"{\"regions\": [{\"name\": \"x\", \"color\": [1, 0, 0], \"skin\": \"fixed\"}]}", "matches no skin"},
        {"{\"regions\": [{\"skin\": \"fixed\"}]}", "says not where"},
        {"{\"regions\": [{\"mesh\": \"*\"}]}", "sets nothing"},
        {"{\"regions\": [{\"mesh\": \"*\", \"skin\": \"loose\"}]}", "takes \"free\""},
        {"{\"regions\": [{\"mesh\": \"*\", \"skin\": \"sliding\"}]}", "no border to slide along"},
        {"{\"regions\": [{\"curve\": [0, 99999999], \"skin\": \"fixed\"}]}", "curve"},
        {"{\"regions\": [{\"mesh\": \"*\", \"zeta\": 3}]}", "zeta"},
        {"{\"border\": \"open\"}", "border"},
        {"{\"regionz\": []}", "regionz"},
        {"[]", "skin.json"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(parse(&r, wrong[i][0], &g, &error) == SUPPLE_ERROR_INPUT && strstr(error.message, wrong[i][1]));
        if (!strstr(error.message, wrong[i][1])) printf("    %s\n", error.message);
    }
    free_arm(&r);
}

TEST(every_allocation_may_fail)
{
    supple_scene *scene = load("demo:arm");
    REQUIRE(scene);
    supple_sim_config sc = supple_sim_config_default();
    sc.method = "linear";
    sc.slide = true;
    failing f = {.fail_at = -1};
    supple_config config = supple_config_default();
    config.allocator = failing_allocator(&f);
    config.thread_count = 1;
    supple_sim *sim = NULL;
    REQUIRE(supple_sim_create(scene, &sc, &config, &sim, NULL) == SUPPLE_OK);
    long requests = f.requests;
    for (int k = 0; k < 3; k++) CHECK(supple_sim_step_clip(sim, 0, 0.03 * k, NULL) == SUPPLE_OK);
    CHECK(f.requests == requests);
    supple_sim_destroy(sim);
    CHECK(f.live == 0);
    for (long k = 0; k < requests; k += test_size(4, 13)) {
        f = (failing){.fail_at = k};
        supple_result r = supple_sim_create(scene, &sc, &config, &sim, NULL);
        CHECK((r == SUPPLE_OK && sim) || (r == SUPPLE_ERROR_MEMORY && !sim));
        supple_sim_destroy(sim);
        CHECK(f.live == 0);
    }
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(texture_coordinates_slide_over_seams), RUN(results_do_not_depend_on_where_seams_are),
           RUN(a_characters_skin_slides_and_comes_back), RUN(settings_are_checked),
           RUN(regions_are_found_and_contradictions_named), RUN(every_allocation_may_fail))
