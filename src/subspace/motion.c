#include "subspace/motion.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>

/* ---- differences --------------------------------------------------------------------------------------------------
 */

spl_vec3 spl_rotation_log(const spl_mat3 *R)
{
    spl_quat q = spl_quat_from_mat3(R);
    if (q.w < 0) q = spl_quat_negate(q); /* the shorter way */
    spl_vec3 v = spl_v3(q.x, q.y, q.z);
    double s = spl_norm(v);
    return s < 1e-9 ? spl_scale(v, 2) : spl_scale(v, 2 * atan2(s, q.w) / s);
}

/* Rotation from `now` to another pose, in the axes of now; and where the pivot goes. */
static spl_vec3 turn_to(const spl_frame *now, const spl_frame *other)
{
    spl_mat3 R = spl_mat3_transposed_mul(&now->R, &other->R);
    return spl_rotation_log(&R);
}

static spl_vec3 place(const spl_frame *f, spl_vec3 pivot)
{
    return spl_add(f->t, spl_mat3_apply(&f->R, pivot));
}

/* v and a are the pivot's; those of t follow from the rotation. */
static spl_frame_motion from_pivot(const spl_frame *now, spl_vec3 pivot, spl_frame_motion m)
{
    spl_vec3 swept = spl_cross(m.omega, pivot);
    spl_vec3 turned = spl_add(spl_cross(m.alpha, pivot), spl_cross(m.omega, swept));
    m.R = now->R;
    m.t = now->t;
    m.v = spl_sub(m.v, spl_mat3_apply(&now->R, swept));
    m.a = spl_sub(m.a, spl_mat3_apply(&now->R, turned));
    return m;
}

spl_frame_motion spl_motion_still(const spl_frame *now)
{
    return (spl_frame_motion){.R = now->R, .t = now->t};
}

/* (b - a) / (2 h) and (a + b) / h^2 of differences to the present, a before it and b after it. */
static void central(spl_vec3 a, spl_vec3 b, double h, spl_vec3 *first, spl_vec3 *second)
{
    *first = spl_scale(spl_sub(b, a), 0.5 / h);
    *second = spl_scale(spl_add(a, b), 1 / (h * h));
}

spl_frame_motion spl_motion_central(const spl_frame *before, const spl_frame *now, const spl_frame *after, double dt,
                                    spl_vec3 pivot)
{
    spl_frame_motion m = {0};
    spl_vec3 x = place(now, pivot);
    central(turn_to(now, before), turn_to(now, after), dt, &m.omega, &m.alpha);
    central(spl_sub(place(before, pivot), x), spl_sub(place(after, pivot), x), dt, &m.v, &m.a);
    return from_pivot(now, pivot, m);
}

/* Of differences a (one step before) and b (two): (b - 4 a) / (2 h) and (b - 2 a) / h^2. */
static void backward(spl_vec3 a, spl_vec3 b, double h, spl_vec3 *first, spl_vec3 *second)
{
    *first = spl_scale(spl_madd(b, a, -4), 0.5 / h);
    *second = spl_scale(spl_madd(b, a, -2), 1 / (h * h));
}

spl_frame_motion spl_motion_backward(const spl_frame *before, int32_t count, const spl_frame *now, double dt,
                                     spl_vec3 pivot)
{
    if (count <= 0) return spl_motion_still(now);
    spl_frame_motion m = {0};
    spl_vec3 x = place(now, pivot), turned = turn_to(now, &before[0]), moved = spl_sub(place(&before[0], pivot), x);
    if (count == 1) {
        m.omega = spl_scale(turned, -1 / dt);
        m.v = spl_scale(moved, -1 / dt);
    } else {
        backward(turned, turn_to(now, &before[1]), dt, &m.omega, &m.alpha);
        backward(moved, spl_sub(place(&before[1], pivot), x), dt, &m.v, &m.a);
    }
    return from_pivot(now, pivot, m);
}

/* ---- clips --------------------------------------------------------------------------------------------------------
 */

enum { PARTS = 7 };

/* The natural spline that is near the frames y and bends little (Reinsch 1967): its second derivatives m, times dt^2,
 * and its values f are
 *
 *     (m_i-1 + 4 m_i + m_i+1) + 6 w (m_i-2 - 4 m_i-1 + 6 m_i - 4 m_i+1 + m_i+2) = 6 (y_i-1 - 2 y_i + y_i+1)
 *     f_i = y_i - w (m_i-1 - 2 m_i + m_i+1)
 *
 * with m = 0 at both ends and beyond. Of a swing of frequency v it leaves 1 / (1 + w (2 pi v dt)^4): half at the
 * cutoff, w = (2 pi cutoff dt)^-4. w = 0: the spline through the frames. By LDL^T of the band; `room`: 3 x count
 * numbers. */
static void solve_piece(spl_track *t, size_t first, size_t last, double w, double *room)
{
    double *d = room, *below = room + t->count, *second = below + t->count; /* of column i: D, L_i+1,i and L_i+2,i */
    for (size_t i = first + 1; i < last; i++) {
        double one = i > first + 1 ? below[i - 1] : 0, two = i > first + 2 ? second[i - 2] : 0;
        double D1 = i > first + 1 ? d[i - 1] : 0, D2 = i > first + 2 ? d[i - 2] : 0;
        d[i] = 4 + 36 * w - one * one * D1 - two * two * D2;
        double across = i > first + 1 ? second[i - 1] * one * D1 : 0;
        below[i] = (1 - 24 * w - across) / d[i];
        second[i] = 6 * w / d[i];
        for (size_t c = 0; c < PARTS; c++) {
            const double *y = t->value + PARTS * i + c;
            double *m = t->bend + PARTS * i + c, right = 6 * (y[-PARTS] - 2 * y[0] + y[PARTS]);
            if (i > first + 1) right -= one * m[-PARTS];
            if (i > first + 2) right -= two * m[-2 * PARTS];
            m[0] = right;
        }
    }
    for (size_t i = last; i-- > first + 1;)
        for (size_t c = 0; c < PARTS; c++) {
            double *m = t->bend + PARTS * i + c;
            m[0] /= d[i];
            if (i + 1 < last) m[0] -= below[i] * m[PARTS];
            if (i + 2 < last) m[0] -= second[i] * m[2 * PARTS];
        }
}

/* The values that go with these second derivatives. */
static void smooth_piece(spl_track *t, size_t first, size_t last, double w)
{
    for (size_t i = first; w > 0 && i <= last; i++)
        for (size_t c = 0; c < PARTS; c++) {
            const double *m = t->bend + PARTS * i + c;
            double sum = -2 * m[0] + (i > first ? m[-PARTS] : 0) + (i < last ? m[PARTS] : 0);
            t->value[PARTS * i + c] -= w * sum;
        }
}

/* First and last frame of the piece that a frame is in. */
static size_t first_of(const spl_track *t, size_t frame)
{
    return t->piece ? (size_t)t->piece[2 * frame] : 0;
}

static size_t last_of(const spl_track *t, size_t frame)
{
    return t->piece ? (size_t)t->piece[2 * frame + 1] : (size_t)t->count - 1;
}

static void solve_spline(spl_track *t, double w, double *room)
{
    for (size_t first = 0; first < (size_t)t->count; first = last_of(t, first) + 1) {
        solve_piece(t, first, last_of(t, first), w, room);
        smooth_piece(t, first, last_of(t, first), w);
    }
}

void spl_track_pieces(const bool *cut, int32_t count, int32_t *piece)
{
    for (int32_t first = 0, last; first < count; first = last + 1) {
        for (last = first; last + 1 < count && !cut[last];) last++;
        for (int32_t k = first; k <= last; k++) piece[2 * k] = first, piece[2 * k + 1] = last;
    }
}

static void fill(spl_track *t, const spl_frame *frame)
{
    spl_quat last = spl_quat_identity();
    for (int32_t i = 0; i < t->count; i++) {
        spl_quat q = spl_quat_from_mat3(&frame[i].R);
        spl_vec3 x = place(&frame[i], t->pivot);
        if (spl_quat_dot(q, last) < 0) q = spl_quat_negate(q);
        double *to = t->value + PARTS * (size_t)i;
        to[0] = x.x, to[1] = x.y, to[2] = x.z;
        to[3] = q.x, to[4] = q.y, to[5] = q.z, to[6] = q.w;
        last = q;
    }
}

supple_result spl_track_create(const spl_frame *frame, int32_t count, double dt, double cutoff, spl_vec3 pivot,
                               const int32_t *piece, const supple_allocator *a, spl_track *out, supple_error *error)
{
    size_t n = (size_t)count;
    *out = (spl_track){.allocator = *a, .count = count, .dt = dt, .pivot = pivot, .piece = piece};
    if (count < 1 || !(dt > 0)) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a track needs frames and a time step");
    out->value = spl_new(a, PARTS * n, sizeof *out->value);
    out->bend = spl_new(a, PARTS * n, sizeof *out->bend);
    double *room = spl_new(a, n, 3 * sizeof *room), turns = 2 * M_PI * cutoff * dt;
    if (!out->value || !out->bend || !room) {
        spl_free(a, room);
        spl_track_release(out);
        return spl_fail_memory(error, "a clip's frames");
    }
    fill(out, frame);
    solve_spline(out, cutoff > 0 ? 1 / (turns * turns * turns * turns) : 0, room);
    spl_free(a, room);
    return SUPPLE_OK;
}

void spl_track_release(spl_track *t)
{
    if (!t->allocator.allocate) return;
    spl_free(&t->allocator, t->value);
    spl_free(&t->allocator, t->bend);
    *t = (spl_track){0};
}

static spl_frame frame_of(const spl_track *t, const double v[PARTS])
{
    spl_frame out = {.R = spl_quat_to_mat3(spl_quat_normalise(spl_quat_make(v[3], v[4], v[5], v[6])))};
    out.t = spl_sub(spl_v3(v[0], v[1], v[2]), spl_mat3_apply(&out.R, t->pivot));
    return out;
}

spl_frame spl_track_at(const spl_track *t, double time)
{
    double s = time / t->dt, last = t->count - 1, v[PARTS];
    s = s > 0 ? (s < last ? s : last) : 0; /* NaN: the start */
    size_t i = (size_t)s;
    if (i + 1 >= (size_t)t->count) i = t->count > 1 ? (size_t)t->count - 2 : 0;
    double b = s - (double)i, a = 1 - b, fa = (a * a * a - a) / 6, fb = (b * b * b - b) / 6;
    const double *y = t->value + PARTS * i, *m = t->bend + PARTS * i;
    size_t next = t->count > 1 ? PARTS : 0;
    for (size_t c = 0; c < PARTS; c++) v[c] = a * y[c] + b * y[next + c] + fa * m[c] + fb * m[next + c];
    return frame_of(t, v);
}

static const double nearly = 1e-6; /* of a frame: on it */

bool spl_track_jumps(const spl_track *t, double from, double to)
{
    double low = fmax(floor(from / t->dt + nearly), 0), high = fmin(ceil(to / t->dt - nearly), t->count - 1);
    if (!(low < high)) return false;
    for (size_t k = (size_t)low; k < (size_t)high; k++) /* from frame k to the next */
        if (last_of(t, k) == k) return true;
    return false;
}

/* `s` frames from the start, along the tangent at the end of a piece, where it does not bend; `inside`: the frame next
 * to the end. */
static spl_frame go_on(const spl_track *t, size_t end, size_t inside, double s)
{
    const double *y = t->value + PARTS * end, *z = t->value + PARTS * inside, *m = t->bend + PARTS * inside;
    double way = fabs(s - (double)end), v[PARTS];
    for (size_t c = 0; c < PARTS; c++) v[c] = y[c] + way * (inside == end ? 0 : y[c] - z[c] + m[c] / 6);
    return frame_of(t, v);
}

spl_frame spl_track_near(const spl_track *t, double time, double offset)
{
    double s = time / t->dt, to = (time + offset) / t->dt, whole = floor(s + nearly);
    if (!(whole >= 0 && whole < t->count)) return spl_track_at(t, time + offset);
    size_t first = first_of(t, (size_t)whole), last = last_of(t, (size_t)whole);
    if (to < (double)first && first > 0) return go_on(t, first, first < last ? first + 1 : first, to);
    if (to > (double)last && last + 1 < (size_t)t->count) return go_on(t, last, first < last ? last - 1 : last, to);
    return spl_track_at(t, time + offset);
}

/* a after b, and the way back. */
static spl_frame after(const spl_frame *a, const spl_frame *b)
{
    return (spl_frame){spl_mat3_mul(&a->R, &b->R), spl_add(spl_mat3_apply(&a->R, b->t), a->t)};
}

static spl_frame inverse(const spl_frame *f)
{
    spl_mat3 back = spl_mat3_transpose(&f->R);
    return (spl_frame){back, spl_scale(spl_mat3_apply(&back, f->t), -1)};
}

spl_frame spl_track_cycle_at(const spl_track *t, const spl_track *root, double time)
{
    double length = (t->count - 1) * t->dt;
    if ((time >= 0 && time <= length) || !(length > 0)) return spl_track_at(t, time);
    bool behind = time > length;
    spl_frame start = spl_track_at(root, 0), end = spl_track_at(root, length);
    spl_frame from = inverse(behind ? &start : &end), step = after(behind ? &end : &start, &from);
    spl_frame other = spl_track_at(t, behind ? time - length : time + length);
    return after(&step, &other);
}

spl_frame_motion spl_track_motion(const spl_track *t, double time, double h)
{
    spl_frame before = spl_track_at(t, time - h), now = spl_track_at(t, time), after = spl_track_at(t, time + h);
    return spl_motion_central(&before, &now, &after, h, t->pivot);
}
