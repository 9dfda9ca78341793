/* The JSON files that people write, read from any bytes. Shared by the fuzzer and by the test that replays its corpus.
 */
#ifndef SPL_TESTS_FUZZ_SETTINGS_H
#define SPL_TESTS_FUZZ_SETTINGS_H

#include "body/force_file.h"
#include "body/material.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

static inline void settings_require(bool condition)
{
    if (!condition) abort();
}

/* What was accepted is within the bounds that the solver relies on. */
static inline void settings_check_tissue(const spl_tissue *t)
{
    settings_require(t->young > 0 && isfinite(t->young) && t->poisson > -1 && t->poisson < 0.5);
    settings_require(t->mu > 0 && isfinite(t->mu) && isfinite(t->lambda) && 3 * t->lambda + 2 * t->mu > 0);
    settings_require(t->density > 0 && isfinite(t->density));
}

static inline bool settings_material(const void *data, size_t size, const supple_allocator *a)
{
    supple_error error = {0};
    spl_material_set set;
    supple_result result = spl_material_set_parse(data, size, "fuzz.json", a, &set, &error);
    if (result) { /* a refusal comes with a reason, in one line, and leaves nothing */
        settings_require(error.code == result && error.message[0] && !strchr(error.message, '\n') && !set.region);
        return false;
    }
    settings_check_tissue(&set.base);
    settings_require(set.blend >= 0 && isfinite(set.blend));
    for (int32_t i = 0; i < set.region_count; i++) {
        const spl_material_region *r = &set.region[i];
        settings_check_tissue(&r->tissue);
        settings_require(r->label && (r->has_stiffness || r->has_density) && r->selector.depth > 0);
    }
    spl_material_set_release(&set);
    return true;
}

static inline bool settings_forces(const void *data, size_t size, const supple_allocator *a)
{
    supple_error error = {0};
    spl_force_file file;
    supple_result result = spl_force_file_parse(data, size, "fuzz.json", a, &file, &error);
    if (result) {
        settings_require(error.code == result && error.message[0] && !strchr(error.message, '\n') && !file.force);
        return false;
    }
    for (int32_t i = 0; i < file.force_count; i++) {
        const spl_force *f = &file.force[i];
        settings_require(f->label && spl_v3_finite(f->newton) &&
                         (f->vertex != NULL) + (f->radius > 0) + (f->joint != NULL) == 1);
        for (int32_t k = -2; k < 40; k++) {
            double s = spl_force_strength(f, k);
            settings_require(s >= 0 && s <= 1);
        }
    }
    spl_force_file_release(&file);
    return true;
}

#endif
