#include "convert.h"

#include <assimp/metadata.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void import_warn(import_state *s, const char *format, ...)
{
    enum { MOST = 50 };
    char line[240];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (json_array_size(s->warnings) < MOST) glb_append(s->warnings, glb_text(line));
}

/* A number of the scene's metadata; NAN if it is absent. */
static double meta(const struct aiScene *scene, const char *key)
{
    const struct aiMetadata *m = scene->mMetaData;
    for (unsigned i = 0; m && i < m->mNumProperties; i++) {
        if (strcmp(m->mKeys[i].data, key) != 0) continue;
        const struct aiMetadataEntry *e = &m->mValues[i];
        if (e->mType == AI_INT32) return (double)*(const int32_t *)e->mData;
        if (e->mType == AI_FLOAT) return (double)*(const float *)e->mData;
        if (e->mType == AI_DOUBLE) return *(const double *)e->mData;
    }
    return (double)NAN;
}

/* FBX says centimetres a unit and an axis; of Collada the reader of our own knows both. */
static void write_space(import_state *s, json_t *supple)
{
    double unit = s->collada ? s->points.unit : meta(s->scene, "UnitScaleFactor") * 0.01;
    double up = s->collada ? s->points.up : meta(s->scene, "UpAxis");
    if (!(unit >= 1e-6 && unit <= 1e6)) unit = s->collada ? 1 : 0.01;
    glb_set(supple, "unit", json_real(unit));
    glb_set(supple, "up", json_string(up == 0 ? "X" : up == 2 ? "Z" : "Y"));
    if (s->collada || s->scene->mNumAnimations == 0) return;
    double fps = spl_rate_fps(&s->points.rate);
    glb_set(supple, "fps", json_real(fps > 0 ? fps : import_guess_fps(s)));
}

void import_convert(import_state *s)
{
    glb_begin(&s->out);
    s->warnings = json_array();
    import_list_nodes(s);
    import_write_materials(s);
    int32_t *mesh = import_new((size_t)s->node_count, sizeof *mesh);
    int32_t *skin = import_new((size_t)s->node_count, sizeof *skin);
    for (int32_t i = 0; i < s->node_count; i++) {
        mesh[i] = skin[i] = -1;
        if (s->node[i].ai->mNumMeshes > 0) mesh[i] = import_write_mesh(s, i, &skin[i]);
    }
    import_write_nodes(s, mesh, skin);
    import_write_motion(s);
    json_t *supple = json_object();
    write_space(s, supple);
    glb_set(supple, "sandbox", json_boolean(s->shut));
    if (json_array_size(s->warnings) > 0)
        glb_set(supple, "warnings", s->warnings);
    else
        json_decref(s->warnings);
    glb_set(s->out.root, "asset",
            json_pack("{s:s,s:s,s:{s:o}}", "version", "2.0", "generator", "supple-import", "extras", "supple", supple));
    free(mesh);
    free(skin);
}
