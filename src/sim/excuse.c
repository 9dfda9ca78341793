#include "sim/excuse.h"

#include "core/error.h"
#include "core/memory.h"

#include <stdio.h>
#include <string.h>

enum { NAMED = 3 }; /* pairs that a line names; of the others it has the number */

static size_t places(const spl_excuses *e)
{
    return (size_t)e->bone_count * (size_t)e->bone_count;
}

supple_result spl_excuses_create(const supple_scene *scene, const spl_bones *bones, int32_t collider_count,
                                 const supple_config *config, const supple_allocator *a, spl_excuses *out,
                                 supple_error *error)
{
    *out = (spl_excuses){.allocator = *a,
                         .config = config,
                         .scene = scene,
                         .bones = bones,
                         .bone_count = bones->bone_count + collider_count};
    out->ease = spl_new(a, places(out), sizeof *out->ease);
    bool ok = out->ease != NULL;
    for (int k = 0; k < SPL_EXCUSE_FOLDS; k++) {
        out->kind[k].pair = spl_new(a, places(out), sizeof *out->kind[k].pair);
        ok = ok && out->kind[k].pair;
    }
    if (ok) return SUPPLE_OK;
    spl_excuses_release(out);
    return spl_fail_memory(error, "a report of contacts");
}

void spl_excuses_release(spl_excuses *e)
{
    if (!e->allocator.release) return;
    spl_excuses_end(e);
    for (int k = 0; k < SPL_EXCUSE_KINDS; k++) spl_free(&e->allocator, e->kind[k].pair);
    spl_free(&e->allocator, e->ease);
    *e = (spl_excuses){0};
}

/* ---- lines ---- */

static void name_bone(const spl_excuses *e, int32_t bone, char *out, size_t size)
{
    if (bone >= e->bones->bone_count)
        snprintf(out, size, "collider %d", (int)(bone - e->bones->bone_count + 1));
    else
        snprintf(out, size, "%.40s", e->scene->node[e->bones->bone[bone].node].name);
}

/* "wrist.L and hand.R, head and hand.L and 4 more pairs". Bones of one joint are called alike and named once. */
static void list_pairs(const spl_excuses *e, const bool *pair, char *out, size_t size)
{
    char one[60], other[60], both[140], told[NAMED][140];
    int count = 0, more = 0;
    out[0] = 0;
    for (int32_t p = 0; p < e->bone_count; p++)
        for (int32_t q = 0; q <= p; q++) {
            if (!pair[(size_t)p * (size_t)e->bone_count + (size_t)q]) continue;
            name_bone(e, q, one, sizeof one);
            name_bone(e, p, other, sizeof other);
            snprintf(both, sizeof both, "%s and %s", one, strcmp(one, other) == 0 ? "itself" : other);
            bool known = false;
            for (int i = 0; i < count; i++) known = known || strcmp(told[i], both) == 0;
            if (known) continue;
            if (count == NAMED) {
                more++;
                continue;
            }
            memcpy(told[count], both, sizeof both);
            size_t used = strlen(out);
            snprintf(out + used, size - used, "%s%s", count++ ? ", " : "", both);
        }
    size_t used = strlen(out);
    if (more > 0) snprintf(out + used, size - used, " and %d more pair%s", more, more == 1 ? "" : "s");
}

/* "reach, frames 93 to 95" */
static void name_frames(const spl_excuses *e, const spl_excuse *x, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    if (x->clip >= 0) snprintf(out, size, "%.60s, ", supple_scene_clip_name(e->scene, x->clip));
    used = strlen(out);
    if (x->first == x->last)
        snprintf(out + used, size - used, "frame %d", (int)x->first);
    else
        snprintf(out + used, size - used, "frames %d to %d", (int)x->first, (int)x->last);
}

static void tell(const spl_excuses *e, spl_excuse_kind kind)
{
    const spl_excuse *x = &e->kind[kind];
    char frames[120], pairs[500], by[60] = "";
    name_frames(e, x, frames, sizeof frames);
    if (kind == SPL_EXCUSE_FOLDS) {
        spl_log(e->config, SUPPLE_LOG_WARNING, "%s: folds of the visual mesh are left crossing", frames);
        return;
    }
    list_pairs(e, x->pair, pairs, sizeof pairs);
    if (x->missing > 0) snprintf(by, sizeof by, ", %.2g mm farther than their flesh allows", 1e3 * x->missing);
    if (kind == SPL_EXCUSE_THROUGH)
        spl_log(e->config, SUPPLE_LOG_WARNING,
                "%s: the motion takes %s through each other%s; their flesh is not kept apart there", frames, pairs, by);
    else
        spl_log(e->config, SUPPLE_LOG_INFO,
                "%s: the motion brings %s together%s; their flesh touches, and the mesh on it may cross", frames, pairs,
                by);
}

/* ---- ranges ---- */

static void end(spl_excuses *e, spl_excuse_kind kind)
{
    spl_excuse *x = &e->kind[kind];
    if (x->on) tell(e, kind);
    x->on = false;
}

void spl_excuses_end(spl_excuses *e)
{
    for (int k = 0; k < SPL_EXCUSE_KINDS; k++) end(e, (spl_excuse_kind)k);
}

/* The frame is in a range of this kind: the last one's, or one that begins with it. */
static spl_excuse *note(spl_excuses *e, spl_excuse_kind kind, int32_t clip, int32_t frame)
{
    spl_excuse *x = &e->kind[kind];
    if (x->on && (x->clip != clip || frame < x->last)) end(e, kind);
    if (!x->on) {
        x->on = true;
        x->clip = clip;
        x->first = frame;
        x->missing = 0;
        if (x->pair) memset(x->pair, 0, places(e) * sizeof *x->pair);
    }
    x->last = frame;
    return x;
}

/* Pairs whose share of their offsets is in [low, high) are in the range. Returns false if there is none. */
static bool note_pairs(spl_excuses *e, spl_excuse_kind kind, double low, double high, int32_t clip, int32_t frame)
{
    spl_excuse *x = NULL;
    for (size_t i = 0; i < places(e); i++) {
        if (e->ease[i] < low || e->ease[i] >= high) continue;
        if (!x) x = note(e, kind, clip, frame);
        x->pair[i] = true;
    }
    return x != NULL;
}

void spl_excuses_frame(spl_excuses *e, const spl_barrier *barrier, double missing, spl_clear_outcome folds,
                       int32_t clip, int32_t frame)
{
    static const double LEAST = 1e-300; /* 0 is a pair that is released */
    spl_barrier_keep(barrier, e->ease);
    bool through = note_pairs(e, SPL_EXCUSE_THROUGH, 0, LEAST, clip, frame);
    bool near = !through && missing > 0 && note_pairs(e, SPL_EXCUSE_NEAR, LEAST, 1, clip, frame);
    spl_excuse *x = &e->kind[through ? SPL_EXCUSE_THROUGH : SPL_EXCUSE_NEAR];
    if (through || near) x->missing = fmax(x->missing, missing);
    if (!through) end(e, SPL_EXCUSE_THROUGH);
    if (!near) end(e, SPL_EXCUSE_NEAR);
    if (folds == SPL_CLEAR_LEFT)
        note(e, SPL_EXCUSE_FOLDS, clip, frame);
    else
        end(e, SPL_EXCUSE_FOLDS);
}
