#include "slide/atlas.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <string.h>

enum { SMALL = 64 /* triangles */ };
static const double OWN_TEXELS = 2048;   /* along the diagonal, of charts without area of their own */
static const double SLIPS = 0.05;        /* of a chart's area */
static const double FEWEST_TEXELS = 350; /* charts with fewer on their shorter axis: borders would be as coarse */

void spl_atlas_release(spl_atlas *t)
{
    const supple_allocator *a = &t->allocator;
    if (!a->release) return;
    for (int32_t i = 0; i < t->patch_count; i++) spl_patch_release(&t->patch[i], a);
    void *block[] = {t->source.at,    t->source.group, t->source.shows, t->source.seam, t->source.side,
                     t->source.reach, t->sheet,        t->patch,        t->patch_of,    t->cell_of,
                     t->first_node,   t->at_cell,      t->at_weight,    t->at_vertex};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    *t = (spl_atlas){0};
}

/* ---- where charts end -------------------------------------------------------------------------------------------- */

/* On which side a chart shows a triangle; 0 where it shows next to nothing of it: many characters are painted by a few
 * texels of each colour. `scale` is that of its sheet. */
static int8_t side_of(const spl_patch_source *s, size_t t, double scale)
{
    double j[4];
    spl_patch_jacobian(s->net, (int32_t)t, s->at + 6 * t, j);
    double det = j[0] * j[3] - j[1] * j[2], size = j[0] * j[0] + j[1] * j[1] + j[2] * j[2] + j[3] * j[3];
    double least = scale * FEWEST_TEXELS / s->net->surface.diagonal;
    double shorter = 2 * fabs(det) / (sqrt(size + 2 * fabs(det)) + sqrt(fmax(size - 2 * fabs(det), 0)));
    if (!(isfinite(size) && shorter > least && fabs(det) > 1e-4 * size)) return 0;
    return det < 0 ? -1 : 1;
}

/* A few triangles that lie the other way round, or have no area, in a chart that lies well are slips of its maker: they
 * stay with it. (Mirrored halves are larger.) `area`: 3 a triangle, room. */
static void forgive(spl_atlas *t, double *area)
{
    spl_patch_source *s = &t->source;
    size_t n = (size_t)t->net->surface.triangle_count;
    memset(area, 0, 3 * n * sizeof *area);
    for (size_t i = 0; i < n; i++) area[3 * t->uv->piece[i] + 1 + s->side[i]] += t->net->area[i];
    for (size_t i = 0; i < n; i++) {
        const double *of = area + 3 * t->uv->piece[i];
        double most = fmax(of[0], of[2]), all = of[0] + of[1] + of[2];
        if (s->group[i] >= 0 && all - most < SLIPS * all) s->side[i] = of[0] > of[2] ? -1 : 1;
    }
}

static void find_seams(spl_atlas *t)
{
    spl_patch_source *s = &t->source;
    const spl_surface *f = &t->net->surface;
    for (size_t e = 0; e < 3 * (size_t)f->triangle_count; e++) {
        int32_t here = (int32_t)(e / 3), next = f->across[e];
        s->seam[e] = true;
        if (next < 0 || s->group[here] != s->group[next] || s->group[here] < 0) continue;
        bool bare = s->side[here] == 0 && s->side[next] == 0;
        s->seam[e] = !bare && (s->side[here] != s->side[next] || t->uv->seam[e]);
    }
}

/* `room`: 3 a triangle. */
static void fill_source(spl_atlas *t, const int32_t *texture, double *room)
{
    spl_patch_source *s = &t->source;
    for (size_t i = 0; i < (size_t)t->net->surface.triangle_count; i++) {
        int32_t m = texture[i];
        bool has = m >= 0 && m < t->sheet_count && t->sheet[m].from[0] > 0;
        s->shows[i] = m >= 0 && m < t->sheet_count ? m : -1;
        s->group[i] = has ? m : -1;
        s->side[i] = 0;
        for (size_t k = 0; k < 6 && has; k++) {
            double x = (double)t->uv->rest[6 * i + k] * t->sheet[m].from[k % 2] * t->sheet[m].scale;
            s->at[6 * i + k] = x;
        }
        if (has) s->side[i] = side_of(s, i, t->sheet[m].scale);
    }
    forgive(t, room);
    find_seams(t);
}

/* ---- charts, cut until nothing lies on itself -------------------------------------------------------------------- */

typedef struct cutter {
    spl_atlas *atlas;
    int32_t *order;    /* triangles, chart after chart, pieces of a chart after each other */
    int32_t *mark;     /* by triangle: the chart under way */
    int32_t *distance; /* by home */
    int32_t *queue;
    int32_t *texel;
    size_t texel_room;
} cutter;

static bool keep(spl_atlas *t, const spl_patch *p)
{
    if (t->patch_count == t->patch_room) {
        int32_t room = t->patch_room ? 2 * t->patch_room : 64;
        spl_patch *grown = spl_resize(&t->allocator, t->patch, (size_t)room, sizeof *grown);
        if (!grown) return false;
        t->patch = grown;
        t->patch_room = room;
    }
    t->patch[t->patch_count++] = *p;
    return true;
}

static supple_result look_for_clash(cutter *w, const spl_patch *p, spl_patch_clash *clash, supple_error *error)
{
    size_t n = (size_t)(p->size[0] * p->size[1]);
    if (n > w->texel_room) {
        spl_free(&w->atlas->allocator, w->texel);
        w->texel_room = n + n / 4;
        w->texel = spl_new(&w->atlas->allocator, w->texel_room, sizeof *w->texel);
        if (!w->texel) w->texel_room = 0;
        if (!w->texel) return spl_fail_memory(error, "a chart's texels");
    }
    *clash = spl_patch_cover(&w->atlas->source, p, w->texel);
    return SUPPLE_OK;
}

/* The homes by their distance from some of them: fills `queue` with all, in order; `of` gets 0 or 1, whose they are. */
static void spread(const spl_patch *p, const int32_t *seed, int count, int32_t *of, int32_t *queue)
{
    int32_t end = 0;
    for (int32_t c = 0; c < p->home_count; c++) of[c] = -1;
    for (int i = 0; i < count; i++) {
        of[seed[i]] = i;
        queue[end++] = seed[i];
    }
    for (int32_t i = 0; i < end; i++)
        for (size_t k = 0; k < 3; k++) {
            int32_t next = p->across[3 * (size_t)queue[i] + k];
            if (next < 0 || next >= p->home_count || of[next] >= 0) continue;
            of[next] = of[queue[i]];
            queue[end++] = next;
        }
}

/* Cuts the homes in two: each goes to the nearer of those from which the clashing cells were reached. Rewrites `home`;
 * returns how many are in the first part. */
static int32_t cut(cutter *w, const spl_patch *p, spl_patch_clash clash, int32_t *home)
{
    int32_t seed[2] = {p->root[clash.a], p->root[clash.b]}, first = 0, n = 0;
    if (seed[0] == seed[1]) { /* the farthest from it, then */
        spread(p, seed, 1, w->distance, w->queue);
        seed[1] = w->queue[p->home_count - 1];
    }
    spread(p, seed, 2, w->distance, w->queue);
    for (int part = 0; part < 2; part++) {
        for (int32_t i = 0; i < p->home_count; i++)
            if (w->distance[w->queue[i]] == part) home[n++] = p->cell[w->queue[i]];
        if (part == 0) first = n;
    }
    return first;
}

/* Makes a patch of them, loosely where it lies on itself otherwise and is small. */
static supple_result try_patch(cutter *w, const int32_t *home, int32_t count, spl_patch *p, spl_patch_clash *clash,
                               supple_error *error)
{
    supple_result result = SUPPLE_OK;
    for (int loose = 0; loose < 2 && result == SUPPLE_OK; loose++) {
        if (loose) spl_patch_release(p, &w->atlas->allocator);
        result = spl_patch_make(&w->atlas->source, home, count, loose, p, error);
        if (result == SUPPLE_OK) result = look_for_clash(w, p, clash, error);
        if (result == SUPPLE_OK && (clash->a < 0 || count > SMALL)) break;
    }
    return result;
}

/* A chart, or a part of one: kept where it fits itself, else cut and each part done likewise. */
static supple_result lay(cutter *w, int32_t *home, int32_t count, supple_error *error)
{
    spl_patch p = {0};
    spl_patch_clash clash = {-1, -1};
    supple_result result = try_patch(w, home, count, &p, &clash, error);
    int32_t first = count;
    if (result == SUPPLE_OK && clash.a >= 0 && count > 1) first = cut(w, &p, clash, home);
    if (result == SUPPLE_OK && first == count) {
        w->atlas->sheet[p.group].clashes += clash.a >= 0;
        if (keep(w->atlas, &p)) return SUPPLE_OK;
        result = spl_fail_memory(error, "the charts");
    }
    spl_patch_release(&p, &w->atlas->allocator);
    if (result == SUPPLE_OK) result = lay(w, home, first, error);
    return result == SUPPLE_OK ? lay(w, home + first, count - first, error) : result;
}

/* The triangles of a chart, as they are reached from its first. */
static int32_t gather(cutter *w, int32_t t, int32_t *out)
{
    const spl_surface *f = &w->atlas->net->surface;
    int32_t end = 0;
    w->mark[t] = 1;
    out[end++] = t;
    for (int32_t i = 0; i < end; i++)
        for (size_t k = 0; k < 3; k++) {
            size_t e = 3 * (size_t)out[i] + k;
            if (w->atlas->source.seam[e] || w->mark[f->across[e]]) continue;
            w->mark[f->across[e]] = 1;
            out[end++] = f->across[e];
        }
    return end;
}

static supple_result lay_all(cutter *w, const supple_config *config, supple_error *error)
{
    spl_atlas *t = w->atlas;
    int32_t done = 0, n = t->net->surface.triangle_count;
    supple_result result = SUPPLE_OK;
    for (int32_t m = 0; m < t->sheet_count && result == SUPPLE_OK; m++) {
        t->sheet[m].first = t->patch_count;
        t->sheet[m].clashes = 0;
        for (int32_t i = 0; i < n && result == SUPPLE_OK; i++) {
            if (t->source.group[i] != m || w->mark[i]) continue;
            int32_t count = gather(w, i, w->order + done);
            result = lay(w, w->order + done, count, error);
            done += count;
            if (result == SUPPLE_OK) result = spl_progress(config, "atlas", (double)done / n, error);
        }
        t->sheet[m].count = t->patch_count - t->sheet[m].first;
    }
    return result;
}

static supple_result make_patches(spl_atlas *t, const int32_t *texture, const supple_config *config,
                                  supple_error *error)
{
    const supple_allocator *a = &t->allocator;
    size_t n = (size_t)t->net->surface.triangle_count;
    cutter w = {.atlas = t};
    for (int32_t i = 0; i < t->patch_count; i++) spl_patch_release(&t->patch[i], a);
    t->patch_count = 0;
    double *room = spl_new(a, n, 3 * sizeof *room);
    if (!room) return spl_fail_memory(error, "the charts");
    fill_source(t, texture, room);
    spl_free(a, room);
    w.order = spl_new(a, n, sizeof *w.order);
    w.mark = spl_new(a, n, sizeof *w.mark);
    w.distance = spl_new(a, n, sizeof *w.distance);
    w.queue = spl_new(a, n, sizeof *w.queue);
    bool ok = w.order && w.mark && w.distance && w.queue;
    supple_result result = ok ? lay_all(&w, config, error) : spl_fail_memory(error, "the charts");
    void *block[] = {w.order, w.mark, w.distance, w.queue, w.texel};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    return result;
}

/* ---- the atlas --------------------------------------------------------------------------------------------------- */

static double area_of(const spl_net *net)
{
    double sum = 0;
    for (int32_t i = 0; i < net->surface.triangle_count; i++) sum += net->area[i];
    return sum;
}

static supple_result allocate(spl_atlas *t, const spl_atlas_sheet *sheets, const double *reach, int32_t limit,
                              supple_error *error)
{
    const supple_allocator *a = &t->allocator;
    size_t n = (size_t)t->net->surface.triangle_count, v = (size_t)t->net->surface.vertex_count;
    spl_patch_source *s = &t->source;
    s->net = t->net;
    s->allocator = *a;
    s->at = spl_new(a, n, 6 * sizeof *s->at);
    s->group = spl_new(a, n, sizeof *s->group);
    s->shows = spl_new(a, n, sizeof *s->shows);
    s->seam = spl_new(a, n, 3 * sizeof *s->seam);
    s->side = spl_new(a, n, sizeof *s->side);
    s->reach = spl_new(a, v, sizeof *s->reach);
    s->density = fmin(OWN_TEXELS / t->net->surface.diagonal, limit / (2 * sqrt(area_of(t->net))));
    t->sheet = spl_new(a, (size_t)t->sheet_count, sizeof *t->sheet);
    t->patch_of = spl_new(a, n, sizeof *t->patch_of);
    t->cell_of = spl_new(a, n, sizeof *t->cell_of);
    if (!s->at || !s->group || !s->shows || !s->seam || !s->side || !s->reach || !t->sheet || !t->patch_of ||
        !t->cell_of)
        return spl_fail_memory(error, "the atlas");
    memcpy(s->reach, reach, v * sizeof *reach);
    memcpy(t->sheet, sheets, (size_t)t->sheet_count * sizeof *sheets);
    return SUPPLE_OK;
}

/* Sheets that came out too large get a smaller scale, and charts without area of their own fewer texels; true if there
 * are any. */
static bool shrink(spl_atlas *t, int32_t limit)
{
    double least = 1;
    for (int32_t m = 0; m < t->sheet_count; m++) {
        int64_t side = t->sheet[m].size[0] > t->sheet[m].size[1] ? t->sheet[m].size[0] : t->sheet[m].size[1];
        if (side <= limit) continue;
        double by = 0.97 * limit / (double)side;
        t->sheet[m].scale *= by;
        least = fmin(least, by);
    }
    t->source.density *= least;
    return least < 1;
}

/* Says where triangles and nodes are. */
static supple_result index_homes(spl_atlas *t, supple_error *error)
{
    const supple_allocator *a = &t->allocator;
    const int32_t *v = t->net->surface.triangle;
    for (int32_t i = 0; i < t->net->surface.triangle_count; i++) t->patch_of[i] = t->cell_of[i] = -1;
    t->first_node = spl_new(a, (size_t)t->patch_count + 1, sizeof *t->first_node);
    if (!t->first_node) return spl_fail_memory(error, "the atlas");
    for (int32_t i = 0; i < t->patch_count; i++) t->first_node[i + 1] = t->first_node[i] + t->patch[i].node_count;
    size_t nodes = (size_t)t->first_node[t->patch_count];
    t->at_cell = spl_new(a, nodes, sizeof *t->at_cell);
    t->at_weight = spl_new(a, nodes, 3 * sizeof *t->at_weight);
    t->at_vertex = spl_new(a, nodes, sizeof *t->at_vertex);
    if (!t->at_cell || !t->at_weight || !t->at_vertex) return spl_fail_memory(error, "the atlas");
    for (size_t n = 0; n < nodes; n++) t->at_vertex[n] = -1;
    for (int32_t i = 0; i < t->patch_count; i++)
        for (int32_t c = 0; c < t->patch[i].home_count; c++) {
            int32_t home = t->patch[i].cell[c];
            t->patch_of[home] = i;
            t->cell_of[home] = c;
            for (size_t k = 0; k < 3; k++)
                t->at_vertex[t->first_node[i] + t->patch[i].node[3 * (size_t)c + k]] = v[3 * (size_t)home + k];
        }
    spl_atlas_begin(t);
    return SUPPLE_OK;
}

supple_result spl_atlas_make(const spl_net *net, const spl_slide_uv *uv, const spl_atlas_sheet *sheets,
                             int32_t sheet_count, const int32_t *texture, const double *reach, int32_t limit,
                             const supple_config *config, spl_atlas *out, supple_error *error)
{
    enum { TRIES = 6 };
    *out = (spl_atlas){.net = net, .uv = uv, .sheet_count = sheet_count, .allocator = spl_allocator_of(config)};
    supple_result result = allocate(out, sheets, reach, limit, error);
    for (int32_t m = 0; m < sheet_count && result == SUPPLE_OK; m++) out->sheet[m].scale = 1;
    for (int i = 0; i < TRIES && result == SUPPLE_OK; i++) {
        result = make_patches(out, texture, config, error);
        for (int32_t m = 0; m < sheet_count && result == SUPPLE_OK; m++)
            if (!spl_atlas_pack(out, &out->sheet[m])) result = spl_fail_memory(error, "the atlas");
        if (result == SUPPLE_OK && !shrink(out, limit)) break;
        if (result == SUPPLE_OK && i == TRIES - 1)
            result = spl_fail(error, SUPPLE_ERROR_INPUT, "the charts of the texture do not fit into %d texels", limit);
    }
    if (result == SUPPLE_OK) result = index_homes(out, error);
    if (result != SUPPLE_OK) spl_atlas_release(out);
    return result;
}
