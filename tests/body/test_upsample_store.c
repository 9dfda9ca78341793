#include "body/upsample_store.h"

#include "body/upsample_rig.h"
#include "failing.h"

#include <unistd.h>

static const char path[] = "upsample.store";
static const spl_store_id id = {"upsample", SPL_UPSAMPLE_STORE_VERSION, {{3, 4}}};

static supple_result keep(const spl_upsample *u, const supple_config *config, supple_error *error)
{
    spl_store_writer *w;
    supple_result result = spl_store_create(path, &id, config, &w, error);
    if (!result) result = spl_upsample_put(w, u, error);
    if (!result) return spl_store_commit(w, error);
    spl_store_discard(w);
    return result;
}

static supple_result take(const rig *r, const spl_upsample_options *o, const supple_config *config, spl_upsample **out,
                          supple_error *error)
{
    spl_store_reader *reader;
    supple_allocator a = spl_allocator_of(config);
    *out = NULL;
    supple_result result = spl_store_open(path, &id, config, &reader, error);
    if (!result) result = spl_upsample_take(reader, r->surface, &r->mesh, o, &a, out, error);
    spl_store_close(reader);
    return result;
}

typedef struct head {
    shape mesh;
    spl_upsample_options options;
    rig r;
} head;

static head head_make(spl_upsample_kind kind, int32_t k, bool normals)
{
    head h = {.options = {kind, k, normals}};
    h.mesh = shape_head();
    h.r = rig_make(shape_sphere(14, 1), &h.mesh, &h.options, 2);
    h.r.rest[1] = h.r.rest[3 * h.r.count - 2] = NAN; /* two that stay where they are */
    rig_map(&h.r, &h.mesh, &h.options, NULL, NULL);
    return h;
}

static void head_release(head *h)
{
    rig_release(&h->r);
    shape_free(&h->mesh);
    unlink(path);
}

/* ---- the same again ---------------------------------------------------------------------------------------------- */

static void check_same_bits(head *h)
{
    rig *r = &h->r;
    size_t size = (size_t)r->count * 12;
    float *out = malloc(2 * size), *normal = out + 3 * (size_t)r->count;
    double curvature = 0.4;
    spl_upsample *fresh = r->u, *back = NULL;
    REQUIRE(keep(fresh, NULL, NULL) == SUPPLE_OK && take(r, &h->options, NULL, &back, NULL) == SUPPLE_OK);
    CHECK(!memcmp(&fresh->stats, &back->stats, sizeof fresh->stats));
    for (int i = 0; i < 3; i++) {
        memset(r->normal, 0, size);
        r->u = fresh;
        rig_move(r, i == 0 ? stay : i == 1 ? affine : bend, i == 1 ? affine_map : &curvature);
        memcpy(out, r->out, size);
        memcpy(normal, r->normal, size);
        memset(r->normal, 0, size);
        memset(r->out, 0, size);
        r->u = back;
        rig_move(r, i == 0 ? stay : i == 1 ? affine : bend, i == 1 ? affine_map : &curvature);
        CHECK(!memcmp(out, r->out, size) && !memcmp(normal, r->normal, size));
    }
    r->u = fresh;
    spl_upsample_destroy(back);
    free(out);
}

TEST(a_stored_map_gives_the_same_bits)
{
    for (int kind = 0; kind < 3; kind++)
        for (int normals = 0; normals < 2; normals++) {
            head h = head_make((spl_upsample_kind)kind, 7 + 13 * normals, normals);
            spl_upsample_stats s = spl_upsample_get_stats(h.r.u);
            CHECK(s.skin > 0 && s.follow > 0 && h.r.u->fixed_count == 2 && h.r.u->offset_count > 0);
            check_same_bits(&h);
            head_release(&h);
        }
}

/* ---- files that make no sense ------------------------------------------------------------------------------------ */

static void refused(head *h, const char *want)
{
    spl_upsample *back;
    supple_error error = {0};
    CHECK(keep(h->r.u, NULL, NULL) == SUPPLE_OK);
    CHECK(take(&h->r, &h->options, NULL, &back, &error) == SUPPLE_ERROR_INPUT && !back);
    if (!strstr(error.message, want)) printf("    '%s' is not '%s'\n", error.message, want);
    CHECK(strstr(error.message, want) != NULL);
}

/* Puts a value into a map, stores that, and puts the old one back. */
#define WITH(field, value, message)                                                                                    \
    do {                                                                                                               \
        __typeof__(field) old = field;                                                                                 \
        field = (value);                                                                                               \
        refused(&h, message);                                                                                          \
        field = old;                                                                                                   \
    } while (0)

TEST(stored_nonsense_is_refused)
{
    head h = head_make(SPL_UPSAMPLE_QUADRATIC, 20, true);
    spl_upsample *u = h.r.u;
    spl_upsample_vertex *v = u->vertex + 5;
    while (v->frame < 0 || v->count == 0) v++;
    const char *range = "a vertex is out of range";
    WITH(v->first, (uint32_t)u->entry_count - v->count + 2, range);
    WITH(v->first, 0x80000000u, range);
    WITH(v->first, 0xfffffffeu, range);
    WITH(v->normal, (uint32_t)u->normal_count - v->count + 2, range);
    WITH(v->count, v->count - 2, range);
    WITH(v->count, 66, range);
    WITH(v->frame, (int32_t)u->offset_count, range);
    WITH(v->frame, INT32_MIN, range);
    WITH(v->count, 0, "a vertex has no weights");
    WITH(u->offset[v->frame].tangent, (uint32_t)u->tangent_count - 2, range);
    WITH(u->weight[v->first], u->weight[v->first] + 0.1F, range);
    WITH(u->weight[v->first], NAN, "'map/weight' has a number out of range");
    WITH(u->index[v->first], 8 * (uint32_t)h.r.surface->vertex_count, "'map/index' has a number out of range");
    WITH(u->index[v->first], u->index[v->first] + 4, "a neighbour is between two vertices");
    WITH(u->normal_weight[3], INFINITY, "'map/normal_weight' has a number out of range");
    WITH(u->tangent[3], NAN, "'map/tangent' has a number out of range");
    WITH(u->offset[0].r[1], NAN, "'map/offset' has a number out of range");
    WITH(u->stats.skin, -1, "a count is out of range");
    WITH(u->fixed[1].vertex, u->fixed[0].vertex, "a vertex has no weights");
    WITH(u->fixed[1].vertex, u->vertex_count, "'map/fixed' has a number out of range");
    WITH(u->fixed[0].normal[1], NAN, "'map/fixed_normal' has a number out of range");
    WITH(u->fixed_count, u->fixed_count - 1, "a vertex has no weights");
    WITH(u->vertex_count, u->vertex_count - 1, "'map/vertex' has");
    WITH(u->entry_count, u->entry_count - 2, range);
    WITH(u->offset_count, u->offset_count - 1, range);
    /* a map for normals, where none are wanted */
    h.options.normals = false;
    refused(&h, "'map/normal_weight' has");
    head_release(&h);
}

/* A vertex that has weights and stays too. */
TEST(a_vertex_moved_twice_is_refused)
{
    head h = head_make(SPL_UPSAMPLE_LINEAR, 8, true);
    spl_upsample *u = h.r.u;
    spl_upsample_vertex *v = u->vertex + u->fixed[0].vertex;
    spl_upsample_vertex old = *v;
    *v = u->vertex[1];
    refused(&h, "a vertex has no weights");
    *v = old;
    v = u->vertex + u->fixed[1].vertex;
    old = *v;
    *v = u->vertex[1];
    refused(&h, "a vertex is moved twice");
    *v = old;
    head_release(&h);
}

TEST(truncated_files_are_refused)
{
    head h = head_make(SPL_UPSAMPLE_QUADRATIC, 20, true);
    REQUIRE(keep(h.r.u, NULL, NULL) == SUPPLE_OK);
    FILE *f = fopen(path, "rb");
    REQUIRE(f);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    fclose(f);
    for (long n = size - 1; n >= 0; n -= n > 2000 ? size / 97 : n > 0 ? 1 + n / 20 : 1) {
        spl_upsample *back;
        CHECK(truncate(path, n) == 0);
        CHECK(take(&h.r, &h.options, NULL, &back, NULL) == SUPPLE_ERROR_INPUT && !back);
    }
    head_release(&h);
}

TEST(failing_allocations_leave_nothing)
{
    head h = head_make(SPL_UPSAMPLE_QUADRATIC, 8, true);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        supple_error error = {0};
        spl_upsample *back = NULL;
        supple_allocator old = h.r.u->allocator;
        h.r.u->allocator = config.allocator; /* putting takes memory from there */
        supple_result result = keep(h.r.u, &config, &error);
        h.r.u->allocator = old;
        if (!result) result = take(&h.r, &h.options, &config, &back, &error);
        CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && error.code == result && !back));
        spl_upsample_destroy(back);
        CHECK(f.live == 0);
        if (!result) {
            CHECK(n > 20);
            break;
        }
    }
    head_release(&h);
}

TEST_CASES(RUN(a_stored_map_gives_the_same_bits), RUN(stored_nonsense_is_refused), RUN(a_vertex_moved_twice_is_refused),
           RUN(truncated_files_are_refused), RUN(failing_allocations_leave_nothing))
