/* What a VRM file (0.x: the extension VRM; 1.0: VRMC_vrm) says about morph targets: its expressions (a smile, a blink)
 * name them by number. In a baked document the targets are frames or components, so these lists are emptied. All else
 * of a VRM, bones and springs by the numbers of their nodes too, holds as it is: bake_prune.c keeps all nodes. */
#include "scene/writers/bake.h"

/* 0.x: {"blendShapeMaster": {"blendShapeGroups": [{"binds": [{"mesh", "index", "weight"}]}]}} */
static int32_t empty_groups(spl_bake *b, const json_t *vrm)
{
    json_t *groups = json_object_get(json_object_get(vrm, "blendShapeMaster"), "blendShapeGroups"), *group;
    int32_t count = 0;
    size_t i;
    json_array_foreach(groups, i, group)
    {
        if (json_array_size(json_object_get(group, "binds")) == 0) continue;
        spl_bake_set(b, group, "binds", json_array());
        count++;
    }
    return count;
}

/* 1.0: {"expressions": {"preset": {"happy": {"morphTargetBinds": [{"node", "index", "weight"}]}}, "custom": ...}} */
static int32_t empty_expressions(const json_t *vrm)
{
    static const char *const kinds[] = {"preset", "custom"};
    int32_t count = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        json_t *list = json_object_get(json_object_get(vrm, "expressions"), kinds[k]), *expression;
        const char *name;
        json_object_foreach(list, name, expression)
        {
            count += json_object_del(expression, "morphTargetBinds") == 0;
        }
    }
    return count;
}

bool spl_bake_is_vrm(const spl_bake *b)
{
    const json_t *extensions = json_object_get(b->root, "extensions");
    return json_object_get(extensions, "VRM") || json_object_get(extensions, "VRMC_vrm");
}

int32_t spl_bake_expressions(spl_bake *b)
{
    const json_t *extensions = json_object_get(b->root, "extensions");
    return empty_groups(b, json_object_get(extensions, "VRM")) +
           empty_expressions(json_object_get(extensions, "VRMC_vrm"));
}
