/* Patches side by side: the largest first, each at the first place, row by row, where none of its blocks of texels is
 * taken. A block is taken by a patch that has a texel in it or beside it, so that there are gutters. */
#include "core/memory.h"
#include "slide/atlas.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 8, GUTTER = 4 };

typedef struct shape {
    int32_t patch, area;
    int64_t width, height; /* blocks */
    uint8_t *taken;        /* width x height */
} shape;

static int by_area(const void *a, const void *b)
{
    const shape *s = a, *t = b;
    return s->area != t->area ? (s->area < t->area ? 1 : -1) : (s->patch > t->patch) - (s->patch < t->patch);
}

static void take(shape *s, int64_t x, int64_t y)
{
    for (int64_t j = (y - GUTTER) / BLOCK; j <= (y + GUTTER) / BLOCK && j < s->height; j++)
        for (int64_t i = (x - GUTTER) / BLOCK; i <= (x + GUTTER) / BLOCK && i < s->width; i++)
            s->taken[j * s->width + i] = 1;
}

/* The blocks of a patch; its box lies a block inside of them. */
static bool make_shape(const spl_atlas *t, int32_t patch, shape *s)
{
    const spl_patch *p = &t->patch[patch];
    *s = (shape){.patch = patch, .width = (p->size[0] - 1) / BLOCK + 3, .height = (p->size[1] - 1) / BLOCK + 3};
    s->taken = spl_new(&t->allocator, (size_t)(s->width * s->height), 1);
    int32_t *texel = spl_new(&t->allocator, (size_t)(p->size[0] * p->size[1]), sizeof *texel);
    if (s->taken && texel) {
        spl_patch_cover(&t->source, p, texel);
        take(s, BLOCK + p->size[0] / 2, BLOCK + p->size[1] / 2); /* also where no centre is covered */
        for (int64_t i = 0; i < p->size[0] * p->size[1]; i++)
            if (texel[i] >= 0) take(s, BLOCK + i % p->size[0], BLOCK + i / p->size[0]);
        for (int64_t i = 0; i < s->width * s->height; i++) s->area += s->taken[i];
    }
    spl_free(&t->allocator, texel);
    return s->taken && texel;
}

typedef struct floor_plan {
    int64_t width, height, room; /* blocks; height: in use */
    uint8_t *taken;
} floor_plan;

static bool fits(const floor_plan *f, const shape *s, int64_t x, int64_t y)
{
    for (int64_t j = 0; j < s->height && y + j < f->height; j++)
        for (int64_t i = 0; i < s->width; i++)
            if (s->taken[j * s->width + i] && f->taken[(y + j) * f->width + x + i]) return false;
    return true;
}

static bool put(floor_plan *f, const shape *s, spl_patch *p, const supple_allocator *a)
{
    int64_t x = 0, y = 0;
    while (!fits(f, s, x, y))
        if (++x + s->width > f->width) x = 0, y++;
    if (y + s->height > f->room) {
        int64_t room = 2 * (y + s->height);
        uint8_t *grown = spl_resize(a, f->taken, (size_t)(room * f->width), 1);
        if (!grown) return false;
        memset(grown + f->room * f->width, 0, (size_t)((room - f->room) * f->width));
        f->taken = grown;
        f->room = room;
    }
    for (int64_t i = 0; i < s->width * s->height; i++)
        if (s->taken[i]) f->taken[(y + i / s->width) * f->width + x + i % s->width] = 1;
    f->height = y + s->height > f->height ? y + s->height : f->height;
    p->place[0] = (x + 1) * BLOCK;
    p->place[1] = (y + 1) * BLOCK;
    return true;
}

static bool put_all(spl_atlas *t, spl_atlas_sheet *sheet, shape *shapes)
{
    floor_plan f = {0};
    int64_t area = 0, widest = 0;
    bool ok = true;
    for (int32_t i = 0; i < sheet->count; i++) {
        area += shapes[i].area;
        widest = shapes[i].width > widest ? shapes[i].width : widest;
    }
    f.width = (int64_t)ceil(sqrt(1.15 * (double)area));
    f.width = f.width > widest ? f.width : widest;
    qsort(shapes, (size_t)sheet->count, sizeof *shapes, by_area);
    for (int32_t i = 0; i < sheet->count && ok; i++)
        ok = put(&f, &shapes[i], &t->patch[shapes[i].patch], &t->allocator);
    sheet->size[0] = f.width * BLOCK;
    sheet->size[1] = f.height * BLOCK;
    spl_free(&t->allocator, f.taken);
    return ok;
}

bool spl_atlas_pack(spl_atlas *t, spl_atlas_sheet *sheet)
{
    if (sheet->count == 0) return true;
    shape *shapes = spl_new(&t->allocator, (size_t)sheet->count, sizeof *shapes);
    bool ok = shapes != NULL;
    for (int32_t i = 0; ok && i < sheet->count; i++) ok = make_shape(t, sheet->first + i, &shapes[i]);
    if (ok) ok = put_all(t, sheet, shapes);
    for (int32_t i = 0; shapes && i < sheet->count; i++) spl_free(&t->allocator, shapes[i].taken);
    spl_free(&t->allocator, shapes);
    return ok;
}
