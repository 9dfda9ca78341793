#include "ranges.h"

#include "hints.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct choice {
    const supple_scene *scene;
    const cli_range_request *request;
    const supple_config *config; /* for its log */
    supple_range *ranges;
    int count;
} choice;

/* "A:B", "A:", ":B" or "A"; counts from 0. */
static bool parse_frames(const char *text, int *first, int *last)
{
    char *end;
    *first = 0;
    *last = INT_MAX;
    if (*text != ':') {
        long a = strtol(text, &end, 10);
        if (end == text || a < 0 || a >= INT_MAX) return false;
        *first = (int)a;
        if (*end == 0) {
            *last = *first;
            return true;
        }
        text = end;
    }
    if (*text++ != ':') return false;
    if (*text == 0) return true;
    long b = strtol(text, &end, 10);
    if (end == text || *end || b < *first || b >= INT_MAX) return false;
    *last = (int)b;
    return true;
}

/* What is after the last '|' of a clip's name. */
static const char *short_name(const supple_scene *scene, int32_t clip)
{
    const char *name = supple_scene_clip_name(scene, clip), *bar = strrchr(name, '|');
    return bar ? bar + 1 : name;
}

/* Whether somebody who typed `word` may have meant this clip: one is a piece of the other, or a few letters differ. */
static bool alike(const supple_scene *scene, int32_t clip, const char *word)
{
    const char *name = short_name(scene, clip);
    return *word && *name &&
           (strcasestr(name, word) || strcasestr(word, name) || (strlen(word) > 3 && cli_distance(name, word) <= 2));
}

/* Names of clips, all or those alike, with commas between; how many there are. The list ends in "..." if it is long. */
static int list_clips(const supple_scene *scene, const char *word, char *list, size_t size)
{
    int found = 0;
    size_t used = 0;
    list[0] = 0;
    for (int32_t i = 0; i < supple_scene_clip_count(scene); i++) {
        if (word && !alike(scene, i, word)) continue;
        const char *name = found++ ? ", " : "";
        if (used < size - 60)
            used += (size_t)snprintf(list + used, size - used, "%s%.40s", name, supple_scene_clip_name(scene, i));
        else if (used < size - 6)
            snprintf(list + used, size - used, ", ..."), used = size; /* and no more */
    }
    return found;
}

int cli_clip_error(const supple_scene *scene, const char *option, const char *name)
{
    char list[200];
    int same = 0;
    for (int32_t i = 0; i < supple_scene_clip_count(scene); i++) same += strcasecmp(short_name(scene, i), name) == 0;
    if (supple_scene_clip_count(scene) == 0)
        return cli_usage_error("%s %.60s: the file has no animation; without %s its rest pose is taken", option, name,
                               option);
    if (same > 1) {
        list_clips(scene, name, list, sizeof list);
        return cli_usage_error("%s %.60s: more than one clip is called so: %s", option, name, list);
    }
    if (list_clips(scene, name, list, sizeof list) > 0)
        return cli_usage_error("%s %.60s: no such clip; is it one of %s?", option, name, list);
    list_clips(scene, NULL, list, sizeof list);
    return cli_usage_error("%s %.60s: no such clip; there are %s (`supple info` lists them)", option, name, list);
}

/* Frames behind a clip's end are left out, and it is said. */
static void log_end(const choice *c, const char *name, int count)
{
    char line[200];
    snprintf(line, sizeof line, "note: --frames %.40s: %.60s ends at frame %d at %g fps", c->request->frames, name,
             count - 1, c->request->fps);
    c->config->log(NULL, SUPPLE_LOG_INFO, line);
}

static int add_range(choice *c, int32_t clip)
{
    const char *frames = c->request->frames;
    double fps = c->request->fps;
    int32_t count = supple_scene_frame_count(c->scene, clip, fps);
    const char *name = clip < 0 ? "the rest pose" : supple_scene_clip_name(c->scene, clip);
    if (count <= 0) return cli_usage_error("%.60s at %g fps: too many frames", name, fps);
    supple_range range = {clip, 0, count};
    if (frames) {
        int first, last;
        if (!parse_frames(frames, &first, &last))
            return cli_usage_error("--frames %.40s: takes A:B with 0 <= A <= B, for example 0:30", frames);
        if (first >= count)
            return cli_usage_error("--frames %.40s: %.60s has %d frame%s at %g fps, 0:%d", frames, name, count,
                                   count == 1 ? "" : "s", fps, count - 1);
        if (last >= count && last < INT_MAX) log_end(c, name, count);
        if (last >= count) last = count - 1;
        range.first_frame = first;
        range.frame_count = last - first + 1;
    }
    c->ranges[c->count++] = range;
    return 0;
}

static int add_named(choice *c, const char *name)
{
    int32_t clip = supple_scene_clip_find(c->scene, name);
    if (clip < 0) return cli_clip_error(c->scene, c->request->option, name);
    for (int r = 0; r < c->count; r++)
        if (c->ranges[r].clip == clip) return cli_usage_error("%s %.60s: is given twice", c->request->option, name);
    return add_range(c, clip);
}

static int add_all(choice *c)
{
    int code = 0;
    for (int32_t i = 0; i < supple_scene_clip_count(c->scene) && code == 0; i++) code = add_range(c, i);
    return code;
}

/* Nothing was named: the first clip, or the rest pose. */
static int add_default(choice *c)
{
    int32_t clips = supple_scene_clip_count(c->scene);
    char line[160];
    if (clips == 0) {
        c->config->log(NULL, SUPPLE_LOG_INFO, "no animation in the file: the rest pose is written");
        return add_range(c, -1);
    }
    if (clips > 1) {
        snprintf(line, sizeof line, "clip: %.60s, the first of %d (%s NAME or all for others)",
                 supple_scene_clip_name(c->scene, 0), (int)clips, c->request->option);
        c->config->log(NULL, SUPPLE_LOG_INFO, line);
    }
    return add_range(c, 0);
}

int cli_choose_ranges(const supple_scene *scene, const cli_range_request *request, const supple_config *config,
                      supple_range **ranges, int *count)
{
    choice c = {.scene = scene, .request = request, .config = config};
    int32_t clips = supple_scene_clip_count(scene);
    *count = 0;
    *ranges = c.ranges = calloc((size_t)clips + 1, sizeof *c.ranges);
    if (!c.ranges) return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the clips"});
    int code = 0;
    if (request->motion >= 0)
        code = add_range(&c, request->motion);
    else if (request->clip_count == 0)
        code = add_default(&c);
    else if (request->clip_count == 1 && clips > 0 && strcmp(request->clips[0], "all") == 0)
        code = add_all(&c);
    else
        for (int i = 0; i < request->clip_count && code == 0; i++) code = add_named(&c, request->clips[i]);
    *count = c.count;
    return code;
}
