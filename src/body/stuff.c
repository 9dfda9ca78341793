#include "body/stuff.h"

#include "body/stuff_private.h"
#include "core/error.h"
#include "core/memory.h"

static void release(stuff *s)
{
    spl_free(s->a, s->state);
    spl_free(s->a, s->slot);
    spl_free(s->a, s->sample);
    spl_free(s->a, s->node);
    spl_free(s->a, s->link);
    spl_free(s->a, s->copy);
    spl_free(s->a, s->position);
    spl_free(s->a, s->side);
    spl_free(s->a, s->owner);
    spl_free(s->a, s->cut);
    spl_free(s->a, s->cut_vertex);
}

supple_result spl_stuff_progress(const stuff *s, const char *stage, double fraction, supple_error *error)
{
    return spl_progress(s->in->config, stage, s->in->done + s->in->share * fraction, error);
}

typedef struct part_of_loop {
    spl_loop_fn *body;
    void *context;
    size_t first;
} part_of_loop;

static void run_part(void *context, size_t begin, size_t end)
{
    const part_of_loop *part = context;
    part->body(part->context, part->first + begin, part->first + end);
}

supple_result spl_stuff_loop(const stuff *s, size_t count, size_t grain, spl_loop_fn *body, void *context,
                             const char *stage, double from, double to, supple_error *error)
{
    enum { PARTS = 16 };
    size_t step = (count / PARTS / grain + 1) * grain; /* whole pieces */
    part_of_loop part = {.body = body, .context = context};
    supple_result result = SUPPLE_OK;
    for (; part.first < count && result == SUPPLE_OK; part.first += step) {
        result = spl_stuff_progress(s, stage, from + (to - from) * (double)part.first / (double)count, error);
        size_t n = count - part.first < step ? count - part.first : step;
        if (result == SUPPLE_OK) spl_parallel_for(s->in->pool, n, grain, run_part, &part);
    }
    return result;
}

static supple_result prepare(stuff *s, supple_error *error)
{
    const spl_surface *f = s->in->surface;
    for (int32_t i = 0; s->in->growth && i < f->vertex_count; i++)
        s->growth_max = fmax(s->growth_max, s->in->growth[i]);
    s->watertight = f->border_edges == 0 && f->nonmanifold_edges == 0 && f->twisted_edges == 0;
    spl_vec3 g = spl_v3(s->growth_max, s->growth_max, s->growth_max);
    if (!spl_lattice_make(&s->lattice, spl_sub(f->low, g), spl_add(f->high, g), s->in->cell, 2, s->in->point_limit))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "a lattice this fine needs more than %zu million points; lower --resolution",
                        s->in->point_limit / 1000000);
    s->state = spl_new(s->a, s->lattice.point_count, sizeof *s->state);
    s->slot = spl_new(s->a, s->lattice.point_count, sizeof *s->slot);
    return s->state && s->slot ? SUPPLE_OK : spl_fail_memory(error, "the lattice");
}

supple_result spl_stuff(const spl_stuff_input *input, spl_tets *out, spl_place **place, spl_stuff_report *report,
                        supple_error *error)
{
    *place = NULL;
    atomic_llong looks = 0;
    stuff s = {.in = input, .a = input->allocator, .looks = &looks};
    *out = (spl_tets){.allocator = *input->allocator};
    supple_result result = prepare(&s, error);
    if (result == SUPPLE_OK) result = spl_stuff_sample(&s, error);
    if (result == SUPPLE_OK) result = spl_stuff_nodes(&s, error);
    if (result == SUPPLE_OK) result = spl_stuff_links(&s, error);
    if (result == SUPPLE_OK) result = spl_stuff_progress(&s, "tetrahedra", 0.8, error);
    if (result == SUPPLE_OK) result = spl_stuff_copies(&s, error);
    if (result == SUPPLE_OK) result = spl_stuff_cuts(&s, error);
    if (result == SUPPLE_OK) result = spl_stuff_progress(&s, "tetrahedra", 0.9, error);
    if (result == SUPPLE_OK) result = spl_stuff_emit(&s, out, place, error);
    if (result == SUPPLE_OK && out->tet_count == 0) {
        spl_tets_release(out);
        spl_free(s.a, *place);
        *place = NULL;
        result = spl_fail(error, SUPPLE_ERROR_INPUT,
                          "nothing is inside the surface: is it closed, and thicker than a cell?");
    }
    s.report.looks = atomic_load(&looks);
    if (report) *report = s.report;
    release(&s);
    return result;
}
