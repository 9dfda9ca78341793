/* An atlas of a run: frames go to a temporary file with the places of the skin; then the atlas is made for as far as it
 * slid, and the frames come back for the scene that has it. */
#include "slide/atlas.h"

#include "core/error.h"
#include "core/memory.h"
#include "scene/document.h"
#include "sim/atlas_scene.h"
#include "sim/sim.h"
#include "slide/bake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <supple/tools.h>

enum { MAPS = 5, LIMIT = 8192 };

/* The maps that a material of glTF has. */
static const struct {
    const char *group, *key;
    spl_atlas_kind kind;
    const char *factor; /* of the kind's numbers, or NULL */
} map_name[MAPS] = {{"pbrMetallicRoughness", "baseColorTexture", SPL_ATLAS_COLOUR, "baseColorFactor"},
                    {"pbrMetallicRoughness", "metallicRoughnessTexture", SPL_ATLAS_VALUES, NULL},
                    {NULL, "normalTexture", SPL_ATLAS_NORMAL, NULL},
                    {NULL, "occlusionTexture", SPL_ATLAS_VALUES, NULL},
                    {NULL, "emissiveTexture", SPL_ATLAS_COLOUR, "emissiveFactor"}};

/* Of one kept place. */
typedef struct place_record {
    int32_t triangle;
    float bary[3];
} place_record;

struct supple_atlas {
    supple_allocator allocator;
    supple_config config;
    const supple_sim *sim;
    const supple_scene *scene; /* the simulation's */
    const spl_dermis *skin;
    const spl_slide_uv *uv;
    int32_t limit;
    spl_atlas_sheet *sheet;     /* by material */
    int32_t (*image)[MAPS];     /* by material: the document's image of each map, -1: none */
    spl_pixels (*pixels)[MAPS]; /* decoded */
    int32_t *texture;           /* by triangle of the net: its material */
    FILE *spool;
    int32_t frames, next;
    bool trust;
    double *reach;        /* by vertex of the net */
    place_record *record; /* of a frame */
    spl_place *place;
    float *position, *normal, *tangent, *stretch, *trusted, *corner_uv; /* of a frame, the simulation's order */
    float *row;                                                         /* the same in the new scene's: 13 a vertex */
    spl_atlas atlas;
    int32_t *key;      /* by corner: the node of the atlas that it shows; -1: none */
    float *own_uv;     /* of a frame: the stage's coordinates, or the file's gone on over seams */
    int32_t *net_of;   /* by triangle of the scene: the net's; -1 */
    supple_bake *bake; /* that looks through the atlas */
    int32_t *like;     /* by corner: another one of the same vertex that has a node; -1 */
    spl_atlas_part *part;
    supple_scene *made;
    int32_t *source; /* by vertex of the new scene: the simulation's */
    supple_slide_frame slide;
    supple_atlas_info info;
};

void supple_atlas_destroy(supple_atlas *t)
{
    if (!t) return;
    supple_allocator a = t->allocator;
    for (int32_t m = 0; t->pixels && m < t->scene->material_count; m++)
        for (int k = 0; k < MAPS; k++) spl_pixels_free(&t->pixels[m][k], &a);
    for (int32_t i = 0; t->part && i < t->sim->part_count; i++) {
        spl_free(&a, t->part[i].source);
        spl_free(&a, t->part[i].triangle);
        spl_free(&a, t->part[i].uv);
    }
    if (t->spool) fclose(t->spool);
    spl_atlas_release(&t->atlas);
    supple_scene_destroy(t->made);
    void *block[] = {t->sheet,    t->image,  t->pixels,  t->texture, t->reach,   t->record,    t->place,
                     t->position, t->normal, t->tangent, t->stretch, t->trusted, t->corner_uv, t->row,
                     t->key,      t->like,   t->part,    t->source,  t->own_uv,  t->net_of};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&a, block[i]);
    spl_free(&a, t);
}

/* ---- which materials slide ----------------------------------------------------------------------------------------
 */

static const json_t *material_of(const supple_scene *scene, int32_t m)
{
    return json_array_get(json_object_get(scene->document->json, "materials"), (size_t)m);
}

static const json_t *map_info(const json_t *material, int k)
{
    return json_object_get(map_name[k].group ? json_object_get(material, map_name[k].group) : material,
                           map_name[k].key);
}

/* The image of a map by the file's first set of coordinates; -1: none, -2: one that cannot be extended. */
static int32_t image_of(const supple_scene *scene, const json_t *info)
{
    const json_t *textures = json_object_get(scene->document->json, "textures");
    if (!json_is_object(info)) return -1;
    const json_t *texture = json_array_get(textures, (size_t)json_integer_value(json_object_get(info, "index")));
    const json_t *source = json_object_get(texture, "source");
    if (json_integer_value(json_object_get(info, "texCoord")) != 0) return -1; /* it does not slide at all */
    if (json_object_get(json_object_get(info, "extensions"), "KHR_texture_transform") || !json_is_integer(source))
        return -2;
    json_int_t image = json_integer_value(source);
    return image >= 0 && image < scene->image_count && scene->image[image].data ? (int32_t)image : -2;
}

static void skip(const supple_atlas *t, int32_t m, const char *why)
{
    spl_log(&t->config, SUPPLE_LOG_WARNING, "atlas: material %d '%.40s' keeps its texture, with teeth at seams: %s",
            (int)m, t->scene->material[m].name, why);
}

/* Decodes a material's maps; a material with one that cannot be keeps all of them. */
static supple_result read_maps(supple_atlas *t, int32_t m, supple_error *error)
{
    const json_t *material = material_of(t->scene, m);
    spl_atlas_sheet *sheet = &t->sheet[m];
    bool bad = false;
    for (int k = 0; k < MAPS; k++) {
        supple_error why = {0};
        t->image[m][k] = image_of(t->scene, map_info(material, k));
        if (t->image[m][k] < 0) {
            bad = bad || t->image[m][k] < -1;
            continue;
        }
        const spl_image *image = &t->scene->image[t->image[m][k]];
        supple_result r = spl_image_decode(image->data, image->size, &t->allocator, &t->pixels[m][k], &why);
        if (r == SUPPLE_ERROR_MEMORY) return spl_fail_memory(error, "a texture");
        bad = bad || r != SUPPLE_OK;
        const spl_pixels *p = &t->pixels[m][k];
        if (r == SUPPLE_OK && (int64_t)p->width * p->height > (int64_t)sheet->from[0] * sheet->from[1])
            sheet->from[0] = p->width, sheet->from[1] = p->height;
    }
    if (bad) skip(t, m, "it is transformed, or of a format that is not read");
    for (int k = 0; k < MAPS && bad; k++) {
        spl_pixels_free(&t->pixels[m][k], &t->allocator);
        t->pixels[m][k] = (spl_pixels){0};
    }
    if (bad) sheet->from[0] = sheet->from[1] = 0;
    return SUPPLE_OK;
}

/* Drops materials of a mesh that is drawn twice: one set of coordinates cannot serve both. */
static void check_parts(supple_atlas *t, const bool *slides)
{
    for (int32_t i = 0; i < t->sim->part_count; i++) {
        const spl_part *part = &t->sim->part[i];
        int32_t m = part->primitive->material, drawn = 0;
        if (m < 0 || t->sheet[m].from[0] == 0 || !part->primitive->uv) continue;
        for (int32_t k = 0; k < t->scene->instance_count; k++)
            drawn += t->scene->instance[k].mesh == t->scene->instance[part->instance].mesh;
        if (slides[i] && drawn > 1) {
            skip(t, m, "its mesh is drawn several times");
            t->sheet[m].from[0] = t->sheet[m].from[1] = 0;
        }
    }
}

/* The part that a corner of the scene's triangles belongs to begins at `first` of them. */
static supple_result find_textures(supple_atlas *t, supple_error *error)
{
    const spl_surface *f = &t->skin->net.surface;
    bool *slides = spl_new(&t->allocator, (size_t)t->sim->part_count, sizeof *slides);
    if (!slides) return spl_fail_memory(error, "the atlas");
    supple_result result = SUPPLE_OK;
    for (int32_t m = 0; m < t->scene->material_count && result == SUPPLE_OK; m++) result = read_maps(t, m, error);
    for (int32_t i = 0; i < f->triangle_count && result == SUPPLE_OK; i++) {
        int32_t corner = t->uv->first[i], part = 0;
        for (; corner >= 3 * t->sim->part[part].primitive->triangle_count; part++)
            corner -= 3 * t->sim->part[part].primitive->triangle_count;
        slides[part] = true;
        t->texture[i] = t->sim->part[part].primitive->uv ? t->sim->part[part].primitive->material : -1;
    }
    if (result == SUPPLE_OK) check_parts(t, slides);
    spl_free(&t->allocator, slides);
    return result;
}

/* ---- creation -----------------------------------------------------------------------------------------------------
 */

static bool allocate(supple_atlas *t)
{
    const supple_allocator *a = &t->allocator;
    size_t n = (size_t)t->scene->vertex_count, v = (size_t)t->skin->net.surface.vertex_count;
    size_t m = (size_t)t->scene->material_count, c = 3 * (size_t)t->scene->triangle_count;
    t->sheet = spl_new(a, m, sizeof *t->sheet);
    t->image = spl_new(a, m, sizeof *t->image);
    t->pixels = spl_new(a, m, sizeof *t->pixels);
    t->texture = spl_new(a, (size_t)t->skin->net.surface.triangle_count, sizeof *t->texture);
    t->reach = spl_new(a, v, sizeof *t->reach);
    t->record = spl_new(a, v, sizeof *t->record);
    t->place = spl_new(a, v, sizeof *t->place);
    t->position = spl_new(a, n, 3 * sizeof *t->position);
    t->normal = spl_new(a, n, 3 * sizeof *t->normal);
    t->tangent = spl_new(a, n, 4 * sizeof *t->tangent);
    t->stretch = spl_new(a, n, sizeof *t->stretch);
    t->trusted = spl_new(a, n, sizeof *t->trusted);
    t->corner_uv = spl_new(a, c, 2 * sizeof *t->corner_uv);
    t->own_uv = spl_new(a, c, 2 * sizeof *t->own_uv);
    t->net_of = spl_new(a, c / 3, sizeof *t->net_of);
    t->key = spl_new(a, c, sizeof *t->key);
    t->like = spl_new(a, c, sizeof *t->like);
    t->part = spl_new(a, (size_t)t->sim->part_count, sizeof *t->part);
    return t->sheet && t->image && t->pixels && t->texture && t->reach && t->record && t->place && t->position &&
           t->normal && t->tangent && t->stretch && t->trusted && t->corner_uv && t->key && t->like && t->part &&
           t->own_uv && t->net_of;
}

static bool any_sheet(const supple_atlas *t)
{
    for (int32_t i = 0; i < t->skin->net.surface.triangle_count; i++)
        if (t->texture[i] >= 0 && t->sheet[t->texture[i]].from[0] > 0) return true;
    return false;
}

supple_result supple_atlas_create(const supple_sim *sim, int32_t limit, const supple_config *config, supple_atlas **out,
                                  supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    *out = NULL;
    if (!sim->skin) return SUPPLE_OK;
    supple_atlas *t = spl_new(&a, 1, sizeof *t);
    if (!t) return spl_fail_memory(error, "the atlas");
    t->allocator = a;
    t->config = config ? *config : supple_config_default();
    t->sim = sim;
    t->scene = sim->scene;
    t->skin = spl_slide_skin(sim->skin);
    t->uv = spl_slide_texture(sim->skin);
    t->limit = limit > 0 ? limit : LIMIT;
    supple_result result = allocate(t) ? find_textures(t, error) : spl_fail_memory(error, "the atlas");
    bool used = result == SUPPLE_OK && any_sheet(t);
    if (used && !(t->spool = tmpfile()))
        result =
            spl_fail(error, SUPPLE_ERROR_OUTPUT, "a temporary file for the frames cannot be made: %s", strerror(errno));
    if (used && result == SUPPLE_OK)
        *out = t;
    else
        supple_atlas_destroy(t);
    return result;
}

/* ---- frames in ----------------------------------------------------------------------------------------------------
 */

static supple_result spool_failed(supple_error *error)
{
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "the frames' temporary file: %s",
                    errno ? strerror(errno) : "cut short");
}

/* All of a frame, to the spool or back. */
static bool pass(supple_atlas *t, int32_t head[2], bool back)
{
    size_t n = (size_t)t->scene->vertex_count, v = (size_t)t->skin->net.surface.vertex_count;
    size_t c = 6 * (size_t)t->scene->triangle_count;
    struct {
        void *data;
        size_t count, size;
    } row[] = {{head, 2, sizeof *head},           {t->position, 3 * n, sizeof(float)},
               {t->normal, 3 * n, sizeof(float)}, {t->tangent, 4 * n, sizeof(float)},
               {t->stretch, n, sizeof(float)},    {t->trusted, t->trust ? n : 0, sizeof(float)},
               {t->corner_uv, c, sizeof(float)},  {t->record, v, sizeof *t->record}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        size_t done = back ? fread(row[i].data, row[i].size, row[i].count, t->spool)
                           : fwrite(row[i].data, row[i].size, row[i].count, t->spool);
        if (done != row[i].count) return false;
    }
    return true;
}

supple_result supple_atlas_add(supple_atlas *t, const supple_frame *frame, supple_error *error)
{
    size_t n = (size_t)t->scene->vertex_count;
    const spl_surface *f = &t->skin->net.surface;
    int32_t head[2] = {frame->range, frame->index};
    if (!frame->slide || frame->slide->corners != 3 * (size_t)t->scene->triangle_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "atlas: a frame without its skin");
    memcpy(t->position, frame->position, 3 * n * sizeof(float));
    memcpy(t->normal, frame->normal, 3 * n * sizeof(float));
    memcpy(t->tangent, frame->tangent, 4 * n * sizeof(float));
    for (size_t v = 0; v < n; v++) t->stretch[v] = frame->slide->stretch ? frame->slide->stretch[v] : 1;
    if (t->frames == 0) t->trust = frame->trust != NULL;
    if (t->trust && frame->trust) memcpy(t->trusted, frame->trust, n * sizeof(float));
    memcpy(t->corner_uv, frame->slide->corner_uv, 2 * frame->slide->corners * sizeof(float));
    for (int32_t v = 0; v < f->vertex_count; v++) {
        const spl_place *p = &t->skin->place[v];
        t->record[v] = (place_record){p->triangle, {(float)p->bary[0], (float)p->bary[1], (float)p->bary[2]}};
        t->reach[v] = fmax(t->reach[v], spl_norm(spl_sub(t->skin->Y[v], f->position[v])));
    }
    t->frames++;
    return pass(t, head, false) ? SUPPLE_OK : spool_failed(error);
}

/* ---- the atlas ----------------------------------------------------------------------------------------------------
 */

/* Which node of the atlas each corner shows. */
static void find_keys(supple_atlas *t)
{
    for (int32_t c = 0; c < 3 * t->scene->triangle_count; c++) t->key[c] = t->like[c] = t->net_of[c / 3] = -1;
    for (int32_t i = 0; i < t->skin->net.surface.triangle_count; i++)
        if (t->atlas.patch_of[i] >= 0) t->net_of[t->uv->first[i] / 3] = i;
    for (int32_t i = 0; i < t->atlas.patch_count; i++) {
        const spl_patch *p = &t->atlas.patch[i];
        for (int32_t k = 0; k < 3 * p->home_count; k++) {
            int32_t home = p->cell[k / 3], turned = t->uv->flipped[home] && k % 3 ? 3 - k % 3 : k % 3;
            t->key[t->uv->first[home] + turned] = t->atlas.first_node[i] + p->node[k];
        }
    }
}

/* Gives the vertices of a primitive one copy for each node that their corners show. */
static bool split_part(supple_atlas *t, const spl_primitive *p, int32_t corner, spl_atlas_part *out)
{
    const supple_allocator *a = &t->allocator;
    int32_t n = 3 * p->triangle_count, room = p->vertex_count + n;
    int32_t *shows = spl_new(a, (size_t)room, sizeof *shows), *next = spl_new(a, (size_t)room, sizeof *next);
    int32_t *who = spl_new(a, (size_t)room, sizeof *who);
    out->source = spl_new(a, (size_t)room, sizeof *out->source);
    out->triangle = spl_new(a, (size_t)n, sizeof *out->triangle);
    out->uv = spl_new(a, (size_t)room, 2 * sizeof *out->uv);
    bool ok = shows && next && who && out->source && out->triangle && out->uv;
    if (ok) out->vertex_count = p->vertex_count;
    for (int32_t v = 0; ok && v < room; v++) {
        shows[v] = next[v] = who[v] = -1;
        out->source[v] = v;
    }
    for (int pass_ = 0; ok && pass_ < 2; pass_++) /* corners without a node go along with one of their vertex */
        for (int32_t c = 0; c < n; c++) {
            int32_t v = p->triangle[c], key = t->key[corner + c];
            if ((key < 0) != (pass_ == 1)) continue;
            while (pass_ == 0 && shows[v] >= 0 && shows[v] != key && next[v] >= 0) v = next[v];
            if (pass_ == 0 && shows[v] >= 0 && shows[v] != key) {
                int32_t added = out->vertex_count++;
                out->source[added] = p->triangle[c];
                v = next[v] = added;
            }
            if (pass_ == 0 && shows[v] < 0) shows[v] = key, who[v] = corner + c;
            out->triangle[c] = v;
            if (pass_ == 1) t->like[corner + c] = who[v];
        }
    if (ok) memcpy(out->uv, p->uv, 2 * (size_t)p->vertex_count * sizeof *out->uv);
    for (int32_t c = 0; ok && c < n; c++) {
        int32_t from = t->key[corner + c] >= 0 ? corner + c : t->like[corner + c];
        if (from >= 0) memcpy(out->uv + 2 * out->triangle[c], t->corner_uv + 2 * from, 2 * sizeof *out->uv);
    }
    spl_free(a, shows);
    spl_free(a, next);
    spl_free(a, who);
    return ok;
}

/* The parts with a sheet; `corner_uv` holds the coordinates at rest. */
static supple_result split_parts(supple_atlas *t, supple_error *error)
{
    int32_t corner = 0;
    for (int32_t i = 0; i < t->sim->part_count; i++) {
        const spl_primitive *p = t->sim->part[i].primitive;
        bool drawn = p->uv && p->material >= 0 && t->sheet[p->material].from[0] > 0, shown = false;
        for (int32_t c = 0; drawn && !shown && c < 3 * p->triangle_count; c++) shown = t->key[corner + c] >= 0;
        if (shown && !split_part(t, p, corner, &t->part[i])) return spl_fail_memory(error, "the atlas");
        if (shown) t->info.added += t->part[i].vertex_count - p->vertex_count;
        corner += 3 * p->triangle_count;
    }
    return SUPPLE_OK;
}

static void read_factors(const json_t *material, int k, float out[4])
{
    const json_t *owner = map_name[k].group ? json_object_get(material, map_name[k].group) : material;
    for (size_t c = 0; c < 4; c++) {
        const json_t *value = map_name[k].factor ? json_array_get(json_object_get(owner, map_name[k].factor), c) : NULL;
        bool dark = k == 4 && c < 3; /* emission is none unless it is said */
        out[c] = json_is_number(value) ? (float)json_number_value(value) : dark ? 0 : 1;
    }
    if (k != 1) return;
    const json_t *rough = json_object_get(owner, "roughnessFactor"), *metal = json_object_get(owner, "metallicFactor");
    if (json_is_number(rough)) out[1] = (float)json_number_value(rough);
    if (json_is_number(metal)) out[2] = (float)json_number_value(metal);
}

static supple_result paint_map(supple_atlas *t, int32_t m, int k, spl_atlas_map *maps, spl_atlas_image *out,
                               supple_error *error)
{
    spl_pixels picture = {0};
    for (int32_t i = 0; i < t->scene->material_count; i++) {
        maps[i] = (spl_atlas_map){.pixels = t->pixels[i][k].rgba ? &t->pixels[i][k] : NULL};
        read_factors(material_of(t->scene, i), k, maps[i].factor);
    }
    *out =
        (spl_atlas_image){.material = m, .group = map_name[k].group, .key = map_name[k].key, .image = t->image[m][k]};
    supple_result result = spl_atlas_paint(&t->atlas, m, map_name[k].kind, maps, t->sim->pool, &picture, error);
    if (result != SUPPLE_OK) return result;
    if (picture.width > t->info.width) t->info.width = picture.width, t->info.height = picture.height;
    result = spl_image_encode_png(&picture, &t->allocator, &out->data, &out->size, error);
    spl_pixels_free(&picture, &t->allocator);
    t->info.images += result == SUPPLE_OK;
    return result;
}

static supple_result make_scene(supple_atlas *t, supple_error *error)
{
    size_t n = (size_t)t->scene->material_count;
    spl_atlas_map *maps = spl_new(&t->allocator, n, sizeof *maps);
    spl_atlas_image *images = spl_new(&t->allocator, n * MAPS, sizeof *images);
    supple_result result = maps && images ? SUPPLE_OK : spl_fail_memory(error, "the atlas' images");
    int32_t count = 0;
    for (int32_t m = 0; m < t->scene->material_count && result == SUPPLE_OK; m++) {
        if (t->atlas.sheet[m].count == 0) continue;
        t->info.materials++;
        for (int k = 0; k < MAPS && result == SUPPLE_OK; k++)
            if (t->pixels[m][k].rgba) result = paint_map(t, m, k, maps, &images[count++], error);
    }
    if (result == SUPPLE_OK)
        result = spl_atlas_scene_make(t->scene, t->part, images, count, &t->config, &t->made, error);
    for (int32_t i = 0; images && i < count; i++) spl_free(&t->allocator, images[i].data);
    spl_free(&t->allocator, maps);
    spl_free(&t->allocator, images);
    return result;
}

/* Which vertices of the simulation the new scene's are, and room for a frame of them. */
static supple_result map_vertices(supple_atlas *t, supple_error *error)
{
    size_t n = (size_t)t->made->vertex_count, at = 0;
    t->source = spl_new(&t->allocator, n, sizeof *t->source);
    t->row = spl_new(&t->allocator, n, 13 * sizeof *t->row);
    if (!t->source || !t->row) return spl_fail_memory(error, "the atlas");
    for (int32_t i = 0; i < t->sim->part_count; i++) {
        const spl_part *part = &t->sim->part[i];
        int32_t count = t->part[i].vertex_count ? t->part[i].vertex_count : part->primitive->vertex_count;
        for (int32_t v = 0; v < count && at < n; v++)
            t->source[at++] = part->first_vertex + (t->part[i].vertex_count ? t->part[i].source[v] : v);
    }
    return at == n ? SUPPLE_OK : spl_fail(error, SUPPLE_ERROR_INPUT, "the atlas' scene does not fit the character");
}

static void tell(supple_atlas *t)
{
    const spl_net *net = &t->skin->net;
    supple_atlas_info *i = &t->info;
    i->patches = t->atlas.patch_count;
    i->scale = 1;
    for (int32_t v = 0; v < net->surface.vertex_count; v++) i->reach = fmax(i->reach, t->reach[v]);
    for (int32_t m = 0; m < t->scene->material_count; m++) {
        i->clashes += t->atlas.sheet[m].clashes;
        if (t->atlas.sheet[m].count) i->scale = fmin(i->scale, t->atlas.sheet[m].scale);
    }
    spl_log(&t->config, SUPPLE_LOG_INFO,
            "atlas: skin slides up to %.3g mm; %d piece%s of the texture, extended as far, in %d image%s of at most "
            "%d x %d",
            1e3 * i->reach, i->patches, i->patches == 1 ? "" : "s", i->images, i->images == 1 ? "" : "s", i->width,
            i->height);
    if (i->scale < 1)
        spl_log(&t->config, SUPPLE_LOG_WARNING,
                "atlas: the limit of %d texels a side is hit: textures are %.2g of their size "
                "(--set slide.atlas=TEXELS allows more)",
                t->limit, i->scale);
    if (i->clashes)
        spl_log(&t->config, SUPPLE_LOG_INFO, "atlas: %d triangles could not be extended without lying on themselves",
                i->clashes);
}

supple_result supple_atlas_finish(supple_atlas *t, supple_error *error)
{
    const spl_net *net = &t->skin->net;
    supple_result result = spl_atlas_make(net, t->uv, t->sheet, t->scene->material_count, t->texture, t->reach,
                                          t->limit, &t->config, &t->atlas, error);
    if (result != SUPPLE_OK) return result;
    find_keys(t);
    for (int32_t v = 0; v < net->surface.vertex_count; v++) t->place[v] = spl_net_vertex(net, v);
    spl_atlas_follow(&t->atlas, t->place, t->corner_uv); /* glued */
    result = split_parts(t, error);
    if (result == SUPPLE_OK) result = make_scene(t, error);
    if (result == SUPPLE_OK) result = map_vertices(t, error);
    if (result == SUPPLE_OK) tell(t);
    if (result == SUPPLE_OK && (fflush(t->spool) != 0 || fseek(t->spool, 0, SEEK_SET) != 0))
        result = spool_failed(error);
    spl_atlas_begin(&t->atlas);
    return result;
}

/* ---- frames out ---------------------------------------------------------------------------------------------------
 */

static void spread_rows(const supple_atlas *t, const float *from, size_t width, float *to)
{
    for (size_t v = 0; v < (size_t)t->made->vertex_count; v++)
        memcpy(to + width * v, from + width * (size_t)t->source[v], width * sizeof *to);
}

bool supple_atlas_next(supple_atlas *t, supple_frame *out, supple_error *error)
{
    size_t n = (size_t)t->made->vertex_count;
    int32_t head[2];
    if (error) *error = (supple_error){0};
    if (t->next == t->frames) return false;
    if (!pass(t, head, true)) return spool_failed(error), false;
    if (head[1] == 0) spl_atlas_begin(&t->atlas);
    for (int32_t v = 0; v < t->skin->net.surface.vertex_count; v++) {
        const place_record *r = &t->record[v];
        t->place[v] = (spl_place){r->triangle, {(double)r->bary[0], (double)r->bary[1], (double)r->bary[2]}};
    }
    memcpy(t->own_uv, t->corner_uv, 6 * (size_t)t->scene->triangle_count * sizeof(float));
    t->info.beyond += spl_atlas_follow(&t->atlas, t->place, t->corner_uv);
    spl_atlas_extend(&t->atlas, t->corner_uv, t->own_uv);
    for (int32_t c = 0; c < 3 * t->scene->triangle_count; c++)
        if (t->like[c] >= 0) memcpy(t->corner_uv + 2 * c, t->corner_uv + 2 * t->like[c], 2 * sizeof(float));
    spread_rows(t, t->position, 3, t->row);
    spread_rows(t, t->normal, 3, t->row + 3 * n);
    spread_rows(t, t->tangent, 4, t->row + 6 * n);
    spread_rows(t, t->stretch, 1, t->row + 10 * n);
    if (t->trust) spread_rows(t, t->trusted, 1, t->row + 11 * n);
    t->slide = (supple_slide_frame){t->corner_uv, t->row + 10 * n, 3 * (size_t)t->scene->triangle_count, n};
    *out = (supple_frame){.range = head[0], .index = head[1], .position = t->row, .normal = t->row + 3 * n};
    out->tangent = t->row + 6 * n;
    out->slide = &t->slide;
    out->trust = t->trust ? t->row + 11 * n : NULL;
    if (++t->next == t->frames && t->info.beyond)
        spl_log(
            &t->config, SUPPLE_LOG_WARNING,
            "atlas: in %d frames %d corners slid farther than the texture was extended, and are drawn as it goes on",
            t->frames, t->info.beyond);
    return true;
}

supple_result supple_atlas_bake(supple_atlas *t, supple_bake *bake, const char *clip, int32_t number,
                                supple_error *error)
{
    supple_slide_frame slide = {t->own_uv, t->stretch, 3 * (size_t)t->scene->triangle_count,
                                (size_t)t->scene->vertex_count};
    supple_frame frame = {.position = t->position, .normal = t->normal, .tangent = t->tangent, .slide = &slide};
    supple_result result = SUPPLE_OK;
    if (t->bake != bake) result = spl_bake_through(bake, &t->atlas, t->net_of, t->corner_uv, error);
    if (result != SUPPLE_OK) return result;
    t->bake = bake;
    return supple_bake_frame(bake, &frame, clip, number, error);
}

const supple_scene *supple_atlas_scene(const supple_atlas *t)
{
    return t->made;
}

const supple_atlas_info *supple_atlas_get_info(const supple_atlas *t)
{
    return &t->info;
}
