/* --dump-sim: what a residual was computed from, as arrays for independent programs. */
#include "core/error.h"
#include "core/memory.h"
#include "core/npy.h"
#include "sim/sim.h"

#include <supple/tools.h>

#include <stdio.h>

typedef struct dump {
    const supple_sim *sim;
    const char *folder;
    int32_t frame; /* -1: constant arrays */
    supple_error *error;
    supple_result result;
} dump;

static void put(dump *d, const char *name, spl_npy_type type, const void *data, size_t count, size_t width)
{
    char path[4096];
    int n = d->frame < 0 ? snprintf(path, sizeof path, "%s/%s.npy", d->folder, name)
                         : snprintf(path, sizeof path, "%s/%s_%04d.npy", d->folder, name, (int)d->frame);
    if (d->result != SUPPLE_OK) return;
    if (n < 0 || (size_t)n >= sizeof path)
        d->result = spl_fail(d->error, SUPPLE_ERROR_OUTPUT, "%.100s: the path is too long", d->folder);
    else
        d->result = spl_npy_write(path, type, data, count, width, &d->sim->allocator, d->error);
}

/* A scratch array of doubles, written and freed. */
static double *scratch(dump *d, size_t count)
{
    double *data = d->result == SUPPLE_OK ? spl_new(&d->sim->allocator, count, sizeof *data) : NULL;
    if (!data && d->result == SUPPLE_OK) d->result = spl_fail_memory(d->error, "the dump");
    return data;
}

static void put_constants(dump *d, const spl_solution *s)
{
    const spl_flesh_sim *f = &d->sim->flesh;
    const spl_tets *t = &f->body->tets;
    size_t n = (size_t)t->vertex_count, m = (size_t)t->tet_count;
    put(d, "rest", SPL_NPY_FLOAT64, f->solid.drive.rest, n, 3);
    put(d, "tets", SPL_NPY_INT32, t->tet, m, 4);
    put(d, "bone", SPL_NPY_INT32, s->held, n, 0);
    put(d, "surface", SPL_NPY_INT32, t->surface, (size_t)t->surface_count, 3);
    double *lame = scratch(d, 2 * m);
    for (size_t k = 0; lame && k < m; k++) {
        lame[2 * k] = s->mu[k];
        lame[2 * k + 1] = s->lambda[k];
    }
    if (lame) put(d, "lame", SPL_NPY_FLOAT64, lame, m, 2);
    spl_free(&d->sim->allocator, lame);
}

/* Which joints move the bones, and the visual vertices beside the flesh: what a program needs to judge what bones hold.
 * A body that was read from a model has no scene. */
static void put_character(dump *d)
{
    const spl_flesh_sim *f = &d->sim->flesh;
    const spl_body *body = f->body;
    const supple_allocator *a = &d->sim->allocator;
    if (!body->scene || !body->bind || d->result != SUPPLE_OK) return;
    size_t bones = (size_t)body->bones.bone_count, n = (size_t)body->scene->vertex_count;
    int32_t *joint = spl_new(a, 2 * bones, sizeof *joint), *role = spl_new(a, n, sizeof *role);
    double *skin = spl_new(a, n, 3 * sizeof *skin);
    if (joint && role && skin) {
        for (size_t b = 0; b < bones; b++) {
            joint[2 * b] = body->bones.bone[b].node;
            joint[2 * b + 1] = body->bones.bone[b].of;
        }
        for (size_t v = 0; v < n; v++) {
            role[v] = body->roles.vertex[v];
            spl_vec3 p = spl_mat3_apply(&f->solid.drive.stretch, spl_v3_from_float(body->bind + 3 * v));
            skin[3 * v] = body->metre * p.x;
            skin[3 * v + 1] = body->metre * p.y;
            skin[3 * v + 2] = body->metre * p.z;
        }
        put(d, "joint", SPL_NPY_INT32, joint, bones, 2);
        put(d, "merged", SPL_NPY_INT32, body->bones.merged_into, (size_t)body->bones.node_count, 0);
        put(d, "skin", SPL_NPY_FLOAT64, skin, n, 3);
        put(d, "role", SPL_NPY_INT32, role, n, 0);
    } else
        d->result = spl_fail_memory(d->error, "the dump");
    spl_free(a, joint);
    spl_free(a, role);
    spl_free(a, skin);
}

static void put_rotations(dump *d, const double *rotation, size_t m)
{
    double *rows = scratch(d, 9 * m);
    for (size_t k = 0; rows && k < m; k++)
        for (size_t r = 0; r < 3; r++)
            for (size_t c = 0; c < 3; c++) rows[9 * k + 3 * r + c] = rotation[9 * k + 3 * c + r];
    if (rows) put(d, "rot", SPL_NPY_FLOAT64, rows, m, 9);
    spl_free(&d->sim->allocator, rows);
}

static void put_pins(dump *d, const spl_pin *pin, size_t count)
{
    double *rows = scratch(d, 5 * count);
    for (size_t i = 0; rows && i < count; i++) {
        rows[5 * i] = pin[i].vertex;
        for (size_t c = 0; c < 3; c++) rows[5 * i + 1 + c] = pin[i].target[c];
        rows[5 * i + 4] = pin[i].stiffness;
    }
    if (rows) put(d, "pin", SPL_NPY_FLOAT64, rows, count, 5);
    spl_free(&d->sim->allocator, rows);
}

static void put_contacts(dump *d, const spl_contact_spring *spring, size_t count)
{
    double *rows = scratch(d, 15 * count), *to = rows;
    for (size_t i = 0; rows && i < count; i++, to += 15) {
        const spl_contact_spring *s = &spring[i];
        const double row[15] = {s->vertex,   s->corner[0], s->corner[1], s->corner[2], s->bary[0],
                                s->bary[1],  s->bary[2],   s->target.x,  s->target.y,  s->target.z,
                                s->normal.x, s->normal.y,  s->normal.z,  s->stiffness, s->along};
        for (size_t k = 0; k < 15; k++) to[k] = row[k];
    }
    if (rows) put(d, "contact", SPL_NPY_FLOAT64, rows, count, 15);
    spl_free(&d->sim->allocator, rows);
}

/* The pairs on which a barrier acts at x, sought afresh; and where things of the world are, whose vertices have the
 * numbers after those of the body. */
static void put_barrier(dump *d, const spl_solution *s)
{
    double energy;
    size_t own = (size_t)d->sim->flesh.body->tets.vertex_count, all = (size_t)spl_barrier_vertex_count(s->barrier);
    if (d->result == SUPPLE_OK && !spl_barrier_measure(s->barrier, s->barrier_x, &energy))
        d->result = spl_fail_memory(d->error, "the dump");
    int32_t count = spl_barrier_look(s->barrier).pairs;
    if (d->result != SUPPLE_OK || count <= 0) return;
    double *rows = scratch(d, 9 * (size_t)count), *to = rows;
    for (int32_t i = 0; rows && i < count; i++, to += 9) {
        const spl_potential *p = spl_barrier_active(s->barrier, i);
        to[0] = p->pair.kind == SPL_PAIR_EDGE_EDGE;
        for (size_t k = 0; k < 4; k++) to[1 + k] = p->pair.v[k];
        to[5] = p->offset;
        to[6] = p->width;
        to[7] = p->stiffness;
        to[8] = p->parallel;
    }
    if (rows) put(d, "barrier", SPL_NPY_FLOAT64, rows, (size_t)count, 9);
    spl_free(&d->sim->allocator, rows);
    if (all > own) put(d, "world", SPL_NPY_FLOAT64, s->barrier_x + 3 * own, all - own, 3);
}

static void put_frame(dump *d, const spl_solution *s)
{
    const spl_flesh_sim *f = &d->sim->flesh;
    size_t n = (size_t)f->body->tets.vertex_count;
    put(d, "x", SPL_NPY_FLOAT64, f->x, n, 3);
    if (s->rotation) put_rotations(d, s->rotation, (size_t)f->body->tets.tet_count);
    if (s->pin_count) put_pins(d, s->pin, (size_t)s->pin_count);
    if (s->spring_count) put_contacts(d, s->spring, (size_t)s->spring_count);
    if (s->barrier) put_barrier(d, s);
    const double *force = s->force ? s->force : f->solid.force;
    if (force) put(d, "fext", SPL_NPY_FLOAT64, force, n, 3);
}

supple_result supple_sim_dump(const supple_sim *sim, const char *folder, int32_t frame, supple_error *error)
{
    if (!sim->method->solution)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "method %s moves no body: there is nothing to dump",
                        sim->method->name);
    dump d = {sim, folder, frame, error, SUPPLE_OK};
    spl_solution solution;
    sim->method->solution(sim->state, &sim->context, &solution);
    if (frame < 0) {
        put_constants(&d, &solution);
        put_character(&d);
    } else
        put_frame(&d, &solution);
    return d.result;
}
