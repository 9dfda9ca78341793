#include "demo/demo.h"

#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"

#include <string.h>
#include <supple/tools.h>

typedef struct entry {
    const char *name, *summary;
    spl_demo_fn *make;
    double detail_min; /* below, parts come off */
    double detail_max; /* bounds memory and time: a few million vertices, a few seconds */
} entry;

static const entry entries[] = {
    {"hero", "a person; clips walk (a loop), reach, twist", spl_demo_hero, 0.4, 3},
    {"arm", "an upper arm and a forearm; clips bend (0 to 150 degrees in 50 frames), twist", spl_demo_arm, 0.25, 16},
    {"beam", "a square bar of five bones; clips bend, twist", spl_demo_beam, 0.25, 16},
    {"cylinder", "a round bar of four bones; clips twist (170 degrees), bend", spl_demo_cylinder, 0.25, 16},
    {"torus", "a ring of eight bones; clips shake, squash", spl_demo_torus, 0.25, 16},
    {"sack", "a flour sack on a spine; clips hop, lean", spl_demo_sack, 0.25, 4},
    {"turtle", "a soft body in a hard shell, two materials; clip walk (a loop)", spl_demo_turtle, 0.25, 4},
};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

int32_t supple_demo_count(void)
{
    return ENTRY_COUNT;
}

const char *supple_demo_name(int32_t index)
{
    return index >= 0 && index < ENTRY_COUNT ? entries[index].name : NULL;
}

const char *supple_demo_summary(int32_t index)
{
    return index >= 0 && index < ENTRY_COUNT ? entries[index].summary : NULL;
}

static supple_result unknown(const char *name, supple_error *error)
{
    char list[128] = "";
    for (int i = 0; i < ENTRY_COUNT; i++) {
        strcat(list, i ? ", " : "");
        strcat(list, entries[i].name);
    }
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "no built-in character is called \"%.60s\"; there are %s", name,
                    list);
}

supple_result spl_demo_build(const char *name, double detail, const supple_config *config, spl_rigged *rigged,
                             supple_error *error)
{
    *rigged = (spl_rigged){.allocator = spl_allocator_of(config)};
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    const entry *found = NULL;
    for (int i = 0; name && i < ENTRY_COUNT; i++)
        if (strcmp(name, entries[i].name) == 0) found = &entries[i];
    if (!found) return unknown(name ? name : "", error);
    if (!(detail >= found->detail_min && detail <= found->detail_max))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: a detail of %g is outside %g to %g", found->name, detail,
                        found->detail_min, found->detail_max);
    rigged->name = found->name;
    result = spl_pool_create(config, &rigged->pool, error);
    if (result == SUPPLE_OK) result = found->make(rigged, detail, error);
    spl_pool_destroy(rigged->pool);
    rigged->pool = NULL;
    return result;
}

supple_result supple_demo_make(const char *name, double detail, const supple_config *config, void **glb, size_t *size,
                               supple_error *error)
{
    spl_rigged rigged;
    uint8_t *bytes = NULL;
    *glb = NULL;
    *size = 0;
    supple_result result = spl_demo_build(name, detail, config, &rigged, error);
    if (result == SUPPLE_OK) result = spl_rigged_write(&rigged, &bytes, size, error);
    spl_rigged_release(&rigged);
    *glb = bytes;
    return result;
}

void supple_bytes_free(void *bytes, const supple_config *config)
{
    supple_allocator a = spl_allocator_of(config);
    spl_free(&a, bytes);
}

supple_result supple_bytes_write(const char *path, const void *bytes, size_t size, supple_error *error)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_output output;
    spl_output_sweep(path);
    supple_result result = spl_output_open(&output, path, &a, error);
    if (result == SUPPLE_OK) result = spl_output_bytes(&output, bytes, size, error);
    if (result == SUPPLE_OK) return spl_output_commit(&output, error);
    spl_output_discard(&output);
    return result;
}
