/* Materials: base colour and its texture. Images stay files where they can be found beside the input. */
#include "convert.h"

#include <assimp/material.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A path below the input's folder at which there is a file: as the file says it, else its last part, else that in the
 * folders people use. Paths of other machines, with backslashes, are usual. */
static bool find_image(const import_state *s, const char *named, char *out, size_t size)
{
    static const char *const forms[] = {"%s", "textures/%s", "Textures/%s", "tex/%s"};
    char folder[PATH_MAX], path[2 * PATH_MAX], copy[PATH_MAX];
    if (strlen(s->path) >= sizeof folder || strlen(named) >= sizeof copy) return false;
    strcpy(folder, s->path);
    strcpy(copy, named);
    for (char *c = copy; *c; c++)
        if (*c == '\\') *c = '/';
    const char *slash = strrchr(copy, '/'), *last = slash ? slash + 1 : copy;
    const char *directory = dirname(folder);
    bool relative = copy[0] != '/' && !strstr(copy, "..") && !strchr(copy, ':');
    for (int i = relative ? -1 : 0; i < (int)(sizeof forms / sizeof *forms); i++) {
        if (i < 0)
            snprintf(out, size, "%s", copy);
        else
            snprintf(out, size, forms[i], last);
        snprintf(path, sizeof path, "%s/%s", directory, out);
        if (*last && access(path, R_OK) == 0) return true;
    }
    return false;
}

/* A URI of a relative path. */
static json_t *uri_of(const char *path)
{
    char *uri = import_new(3 * strlen(path) + 1, 1), *out = uri;
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~/", c);
        out += plain ? sprintf(out, "%c", c) : sprintf(out, "%%%02X", c);
    }
    json_t *text = json_string(uri);
    free(uri);
    return text;
}

/* An image in the input itself: "*3" by number, or by its file name. */
static const struct aiTexture *embedded(const struct aiScene *scene, const char *named)
{
    const struct aiTexture *found = NULL;
    char *end;
    if (named[0] == '*') {
        unsigned long index = strtoul(named + 1, &end, 10);
        if (index < scene->mNumTextures) found = scene->mTextures[index];
    }
    for (unsigned i = 0; i < scene->mNumTextures && !found; i++)
        if (scene->mTextures[i]->mFilename.length && strcmp(scene->mTextures[i]->mFilename.data, named) == 0)
            found = scene->mTextures[i];
    return found && found->mHeight == 0 && found->mWidth > 0 ? found : NULL; /* height 0: a PNG or JPEG as stored */
}

static json_t *make_image(import_state *s, const char *named)
{
    const struct aiTexture *texture = embedded(s->scene, named);
    char path[PATH_MAX];
    if (texture) {
        const uint8_t *bytes = (const uint8_t *)texture->pcData;
        bool png = texture->mWidth > 4 && memcmp(bytes, "\x89PNG", 4) == 0;
        bool jpeg = texture->mWidth > 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
        if (png || jpeg)
            return json_pack("{s:i,s:s}", "bufferView", glb_view(&s->out, bytes, texture->mWidth), "mimeType",
                             png ? "image/png" : "image/jpeg");
    }
    if (find_image(s, named, path, sizeof path)) return json_pack("{s:o}", "uri", uri_of(path));
    import_warn(s, "the image '%.80s' was not found beside the file; its material shows a flat colour", named);
    return NULL;
}

/* The texture of a material's colour, -1 for none. Materials share images by name. */
static int32_t write_texture(import_state *s, const struct aiMaterial *m, json_t *names)
{
    struct aiString path;
    if (aiGetMaterialTexture(m, aiTextureType_BASE_COLOR, 0, &path, NULL, NULL, NULL, NULL, NULL, NULL) != AI_SUCCESS &&
        aiGetMaterialTexture(m, aiTextureType_DIFFUSE, 0, &path, NULL, NULL, NULL, NULL, NULL, NULL) != AI_SUCCESS)
        return -1;
    const json_t *known = json_object_get(names, path.data);
    if (known) return (int32_t)json_integer_value(known);
    json_t *image = make_image(s, path.data), *images = glb_list(&s->out, "images"),
           *list = glb_list(&s->out, "textures");
    int32_t texture = -1;
    if (image) {
        glb_append(images, image);
        glb_append(list, json_pack("{s:i}", "source", (int)json_array_size(images) - 1));
        texture = (int32_t)json_array_size(list) - 1;
    }
    json_object_set_new(names, path.data, json_integer(texture)); /* not UTF-8: found again each time */
    return texture;
}

/* FBX exporters write an opacity of 0 for what is opaque; such a material is taken as opaque. */
static void read_color(const struct aiMaterial *m, double color[4])
{
    struct aiColor4D c = {0.8f, 0.8f, 0.8f, 1};
    ai_real opacity = 1;
    if (aiGetMaterialColor(m, AI_MATKEY_BASE_COLOR, &c) != AI_SUCCESS)
        aiGetMaterialColor(m, AI_MATKEY_COLOR_DIFFUSE, &c);
    aiGetMaterialFloatArray(m, AI_MATKEY_OPACITY, &opacity, NULL);
    const double read[4] = {(double)c.r, (double)c.g, (double)c.b, (double)opacity};
    for (int k = 0; k < 4; k++) color[k] = read[k] >= 0 ? fmin(read[k], 1) : 0;
    if (!(color[3] > 0)) color[3] = 1;
}

void import_write_materials(import_state *s)
{
    json_t *names = json_object(), *list = glb_list(&s->out, "materials");
    s->material = import_new(s->scene->mNumMaterials, sizeof *s->material);
    for (unsigned i = 0; i < s->scene->mNumMaterials; i++) {
        const struct aiMaterial *m = s->scene->mMaterials[i];
        struct aiString name = {0};
        double c[4];
        aiGetMaterialString(m, AI_MATKEY_NAME, &name);
        int32_t texture = write_texture(s, m, names);
        read_color(m, c);
        if (texture >= 0) c[0] = c[1] = c[2] = 1; /* the texture stands in the colour's place */
        json_t *look = json_pack("{s:[f,f,f,f],s:f,s:f}", "baseColorFactor", c[0], c[1], c[2], c[3], "metallicFactor",
                                 0.0, "roughnessFactor", 0.8);
        if (texture >= 0) glb_set(look, "baseColorTexture", json_pack("{s:i}", "index", texture));
        json_t *material =
            json_pack("{s:o,s:o,s:b}", "name", glb_text(name.data), "pbrMetallicRoughness", look, "doubleSided", 1);
        if (c[3] < 1) glb_set(material, "alphaMode", json_string("BLEND"));
        glb_append(list, material);
        s->material[i] = (int32_t)i;
    }
    json_decref(names);
}
