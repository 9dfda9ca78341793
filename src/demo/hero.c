/* The hero: a person of 1.75 m in a shirt, shorts and shoes. */
#include "demo/hero.h"

#include "core/error.h"
#include "demo/demo.h"

static void add_skeleton(spl_rigged *rigged)
{
    static const struct {
        const char *name;
        int32_t parent;
    } joint[SPL_HERO_JOINTS] = {
        {"hips", -1},
        {"spine", SPL_HERO_HIPS},
        {"chest", SPL_HERO_SPINE},
        {"neck", SPL_HERO_CHEST},
        {"head", SPL_HERO_NECK},
        {"shoulder.L", SPL_HERO_CHEST},
        {"upper_arm.L", SPL_HERO_SHOULDER},
        {"forearm.L", SPL_HERO_UPPER_ARM},
        {"hand.L", SPL_HERO_FOREARM},
        {"fingers.L", SPL_HERO_HAND},
        {"thumb.L", SPL_HERO_HAND},
        {"thigh.L", SPL_HERO_HIPS},
        {"shin.L", SPL_HERO_THIGH},
        {"foot.L", SPL_HERO_SHIN},
        {"toes.L", SPL_HERO_FOOT},
        {"shoulder.R", SPL_HERO_CHEST},
        {"upper_arm.R", SPL_HERO_SHOULDER + SPL_HERO_SIDE},
        {"forearm.R", SPL_HERO_UPPER_ARM + SPL_HERO_SIDE},
        {"hand.R", SPL_HERO_FOREARM + SPL_HERO_SIDE},
        {"fingers.R", SPL_HERO_HAND + SPL_HERO_SIDE},
        {"thumb.R", SPL_HERO_HAND + SPL_HERO_SIDE},
        {"thigh.R", SPL_HERO_HIPS},
        {"shin.R", SPL_HERO_THIGH + SPL_HERO_SIDE},
        {"foot.R", SPL_HERO_SHIN + SPL_HERO_SIDE},
        {"toes.R", SPL_HERO_FOOT + SPL_HERO_SIDE},
    };
    for (int32_t j = 0; j < SPL_HERO_JOINTS; j++)
        spl_rigged_add_joint(rigged, joint[j].name, joint[j].parent, spl_hero_joint(j));
}

static supple_result dress(spl_rigged *rigged, spl_shape *shape, double detail, supple_error *error)
{
    int32_t skin = spl_rigged_add_material(rigged, "skin", 1, 1, 1);
    if (!spl_hero_weights(shape, detail)) return spl_fail_memory(error, "skin weights");
    supple_result result = spl_hero_texture(shape, rigged->pool, &rigged->material[skin], error);
    if (result != SUPPLE_OK) return result;
    return spl_shape_finish(shape, rigged, "hero", skin, error);
}

supple_result spl_demo_hero(spl_rigged *rigged, double detail, supple_error *error)
{
    spl_shape shape;
    add_skeleton(rigged);
    supple_result result = spl_hero_surface(rigged, detail, &shape, error);
    if (result != SUPPLE_OK) return result;
    result = dress(rigged, &shape, detail, error);
    spl_shape_release(&shape);
    if (result == SUPPLE_OK && !spl_hero_clips(rigged)) result = spl_fail_memory(error, "a clip");
    return result;
}
