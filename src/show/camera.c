#include "show/camera.h"

#include <float.h>
#include <stddef.h>

/* Focal length over the picture's longer side: a portrait lens, 20 degrees across. */
static const double LENS = 2.8;

static const struct {
    const char *name;
    double azimuth, elevation; /* degrees; azimuth 0 looks along -z, 90 along -x */
} views[SPL_VIEW_COUNT] = {
    {"front", 0, 6}, {"three-quarter", 38, 12}, {"side", 90, 6}, {"back", 180, 6}, {"top", 0, 90},
};

const char *spl_view_name(spl_view view)
{
    return views[view].name;
}

spl_vec3 spl_camera_point(const spl_camera *camera, spl_vec3 p)
{
    spl_vec3 d = spl_sub(p, camera->eye);
    return spl_v3(spl_dot(camera->right, d), spl_dot(camera->up, d), -spl_dot(camera->back, d));
}

spl_vec3 spl_camera_ray(const spl_camera *camera, double x, double y)
{
    spl_vec3 ahead = spl_scale(camera->back, -1);
    if (camera->ortho) return ahead;
    spl_vec3 d = spl_madd(ahead, camera->right, (x - camera->cx) / camera->focal);
    return spl_unit(spl_madd(d, camera->up, (camera->cy - y) / camera->focal), ahead);
}

spl_box spl_box_empty(void)
{
    return (spl_box){{DBL_MAX, DBL_MAX, DBL_MAX}, {-DBL_MAX, -DBL_MAX, -DBL_MAX}};
}

bool spl_box_is_empty(const spl_box *box)
{
    return !(box->min.x <= box->max.x);
}

void spl_box_add(spl_box *box, spl_vec3 p)
{
    if (!spl_v3_finite(p)) return;
    box->min = spl_v3(fmin(box->min.x, p.x), fmin(box->min.y, p.y), fmin(box->min.z, p.z));
    box->max = spl_v3(fmax(box->max.x, p.x), fmax(box->max.y, p.y), fmax(box->max.z, p.z));
}

void spl_box_join(spl_box *box, const spl_box *other)
{
    if (spl_box_is_empty(other)) return;
    spl_box_add(box, other->min);
    spl_box_add(box, other->max);
}

void spl_box_add_points(spl_box *box, const float *points, int32_t count)
{
    for (int32_t i = 0; i < count; i++) spl_box_add(box, spl_v3_from_float(points + 3 * (size_t)i));
}

spl_framing spl_framing_begin(spl_view view, int32_t width, int32_t height, double margin)
{
    const double degree = acos(-1.0) / 180;
    double a = views[view].azimuth * degree, e = views[view].elevation * degree;
    spl_framing f = {.ax = -DBL_MAX, .bx = -DBL_MAX, .ay = -DBL_MAX, .by = -DBL_MAX, .front = -DBL_MAX};
    f.right = spl_v3(cos(a), 0, -sin(a));
    f.back = spl_v3(sin(a) * cos(e), sin(e), cos(a) * cos(e));
    f.up = spl_cross(f.back, f.right);
    f.focal = LENS * (width > height ? width : height);
    f.cx = 0.5 * width;
    f.cy = 0.5 * height;
    f.kx = f.focal / (f.cx * (1 - 2 * margin));
    f.ky = f.focal / (f.cy * (1 - 2 * margin));
    f.left = f.low = DBL_MAX;
    f.wide = f.high = -DBL_MAX;
    return f;
}

void spl_framing_add(spl_framing *f, spl_vec3 p)
{
    if (!spl_v3_finite(p)) return;
    double x = spl_dot(f->right, p), y = spl_dot(f->up, p), z = spl_dot(f->back, p);
    f->ax = fmax(f->ax, z + f->kx * x);
    f->bx = fmax(f->bx, z - f->kx * x);
    f->ay = fmax(f->ay, z + f->ky * y);
    f->by = fmax(f->by, z - f->ky * y);
    f->front = fmax(f->front, z);
    f->left = fmin(f->left, x);
    f->wide = fmax(f->wide, x);
    f->low = fmin(f->low, y);
    f->high = fmax(f->high, y);
    f->count++;
}

double spl_framing_aspect(const spl_framing *f)
{
    double width = f->wide - f->left, height = f->high - f->low;
    return f->count && width > 0 && height > 0 ? height / width : 1;
}

/* A point at (x, y, z) is in the picture of a camera at (X, Y, D) where kx |x - X| <= D - z, so D >= ax - kx X and
 * D >= bx + kx X: least at X = (ax - bx) / (2 kx), with D = (ax + bx) / 2. Likewise for y; the larger D serves both. */
spl_camera spl_framing_camera(const spl_framing *f)
{
    spl_framing unit = *f;
    if (!f->count) {
        for (int i = 0; i < 8; i++)
            spl_framing_add(&unit, spl_v3(i & 1 ? 0.5 : -0.5, i & 2 ? 0.5 : -0.5, i & 4 ? 0.5 : -0.5));
        return spl_framing_camera(&unit);
    }
    double X = (f->ax - f->bx) / (2 * f->kx), Y = (f->ay - f->by) / (2 * f->ky);
    double D = fmax((f->ax + f->bx) / 2, (f->ay + f->by) / 2);
    double size = fmax(fabs(X), fmax(fabs(Y), fabs(f->front)));
    /* A single point has no size: stay off it by more than rounding. */
    double gap = fmax(D - f->front, fmax(1e-6 * size, 1e-12));
    spl_camera c = {.right = f->right, .up = f->up, .back = f->back, .focal = f->focal, .cx = f->cx, .cy = f->cy};
    c.eye = spl_madd(spl_madd(spl_scale(f->right, X), f->up, Y), f->back, f->front + gap);
    c.near = 0.25 * gap;
    return c;
}

spl_camera spl_camera_frame(spl_view view, const spl_box *box, int32_t width, int32_t height, double margin)
{
    spl_framing f = spl_framing_begin(view, width, height, margin);
    for (int i = 0; i < 8 && !spl_box_is_empty(box); i++)
        spl_framing_add(&f, spl_v3(i & 1 ? box->max.x : box->min.x, i & 2 ? box->max.y : box->min.y,
                                   i & 4 ? box->max.z : box->min.z));
    return spl_framing_camera(&f);
}
