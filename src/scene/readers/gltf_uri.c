/* URIs: data URIs, and files below the input's own folder. A file from a stranger must not make us read anything else,
 * so there are no schemes, no absolute paths, no "..", and no links that lead outside. */
#include "core/file.h"
#include "scene/readers/gltf_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Replaces %XX by its byte. Returns the number of bytes, or SIZE_MAX on a broken escape. `out` holds strlen(text). */
static size_t percent_decode(const char *text, uint8_t *out)
{
    size_t n = 0;
    for (; *text; text++) {
        int byte = (unsigned char)*text;
        if (*text == '%') {
            int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
            if (low < 0) return SIZE_MAX;
            byte = high << 4 | low;
            text += 2;
        }
        out[n++] = (uint8_t)byte;
    }
    return n;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Padding may be absent. Returns the number of bytes, or SIZE_MAX on anything that is not base64. `out` holds
 * 3/4 strlen(text) + 3. */
static size_t base64_decode(const char *text, uint8_t *out)
{
    size_t length = strlen(text), n = 0;
    if (length % 4 == 0)
        for (int pad = 0; pad < 2 && length > 0 && text[length - 1] == '='; pad++) length--;
    if (length % 4 == 1) return SIZE_MAX;
    uint32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0) return SIZE_MAX;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 0) continue;
        out[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4))); /* 12, 18, 24 bits read: drop 4, 2, 0 */
    }
    return n;
}

static bool read_data_uri(spl_gltf *g, const char *uri, const char *kind, int32_t at, spl_buffer *out)
{
    const char *comma = strchr(uri, ',');
    if (!comma) return spl_gltf_fail(g, "%s %d: its data URI has no comma; is the file complete?", kind, at);
    static const char mark[] = ";base64";
    size_t head = (size_t)(comma - uri);
    bool base64 = head >= sizeof mark - 1 && memcmp(comma - (sizeof mark - 1), mark, sizeof mark - 1) == 0;
    uint8_t *bytes = spl_new(g->a, strlen(comma + 1) + 4, 1);
    if (!bytes) return spl_gltf_fail_memory(g, "a data URI");
    size_t size = base64 ? base64_decode(comma + 1, bytes) : percent_decode(comma + 1, bytes);
    if (size == SIZE_MAX) {
        spl_free(g->a, bytes);
        return spl_gltf_fail(g, "%s %d: its data URI is not valid base64; is the file complete?", kind, at);
    }
    *out = (spl_buffer){bytes, size};
    return true;
}

static bool has_scheme(const char *uri)
{
    size_t n = strspn(uri, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return n > 0 && uri[n] == ':';
}

/* Whether a decoded path stays below its folder by its spelling alone. */
static bool descends(const char *path)
{
    if (path[0] == '/' || path[0] == '\0') return false;
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        size_t n = strcspn(part, "/");
        if (n == 2 && part[0] == '.' && part[1] == '.') return false;
    }
    return true;
}

/* The resolved path of a file URI, in `out`. */
static bool locate(spl_gltf *g, const char *uri, const char *kind, int32_t at, char out[PATH_MAX])
{
    if (has_scheme(uri))
        return spl_gltf_fail(g, "%s %d: '%.60s' is not a file; only data URIs and files beside the input are read",
                             kind, at, uri);
    if (!g->folder[0])
        return spl_gltf_fail(g, "%s %d: '%.60s' is another file, but the input is in memory; use a .glb", kind, at,
                             uri);
    char path[PATH_MAX], joined[2 * PATH_MAX + 2];
    size_t n = strlen(uri) < sizeof path ? percent_decode(uri, (uint8_t *)path) : SIZE_MAX;
    if (n >= sizeof path || memchr(path, '\0', n))
        return spl_gltf_fail(g, "%s %d: '%.60s' is not a valid URI", kind, at, uri);
    path[n] = '\0';
    if (!descends(path))
        return spl_gltf_fail(g, "%s %d: '%.60s' is outside the input's folder; move it there", kind, at, uri);
    snprintf(joined, sizeof joined, "%s/%s", g->folder, path);
    if (!realpath(joined, out))
        return spl_gltf_fail(g, "%s %d: the file '%.60s' is missing beside the input", kind, at, uri);
    size_t folder = strlen(g->folder);
    bool at_root = folder == 1;
    if (strncmp(out, g->folder, folder) != 0 || (!at_root && out[folder] != '/'))
        return spl_gltf_fail(g, "%s %d: '%.60s' is a link that leads outside the input's folder", kind, at, uri);
    return true;
}

static bool remember_file(spl_gltf *g, const char *path)
{
    supple_scene *scene = g->scene;
    char **grown = spl_resize(g->a, scene->file, (size_t)scene->file_count + 1, sizeof *grown);
    if (!grown) return spl_gltf_fail_memory(g, "file names");
    scene->file = grown;
    char *copy = spl_strdup(g->a, path);
    if (!copy) return spl_gltf_fail_memory(g, "file names");
    scene->file[scene->file_count++] = copy;
    return true;
}

bool spl_gltf_uri(spl_gltf *g, const char *uri, const char *kind, int32_t at, spl_buffer *out)
{
    *out = (spl_buffer){0};
    if (strncmp(uri, "data:", 5) == 0) return read_data_uri(g, uri, kind, at, out);
    char path[PATH_MAX];
    if (!locate(g, uri, kind, at, path) || !remember_file(g, path)) return false;
    size_t room = g->input_size < SPL_GLTF_MAX_INPUT ? SPL_GLTF_MAX_INPUT - g->input_size : 0;
    supple_error reason;
    supple_result result = spl_file_read(path, room, g->a, &out->data, &out->size, &reason);
    if (result == SUPPLE_ERROR_MEMORY) return spl_gltf_fail_memory(g, "a file");
    if (result)
        return spl_gltf_fail(g, "%s %d: '%.60s' is not a readable file, or all input is above %zu MB", kind, at, uri,
                             SPL_GLTF_MAX_INPUT >> 20);
    g->input_size += out->size;
    return true;
}
