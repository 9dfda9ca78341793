#include "scene/writers/ogawa.h"

#include "core/error.h"
#include "core/memory.h"

#include <errno.h>
#include <string.h>

static const uint64_t IS_DATA = (uint64_t)1 << 63;
enum { HEAD = 16, ROOT_AT = 8, FROZEN_AT = 5 };

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

void spl_ogawa_put(spl_ogawa_bytes *b, const void *data, size_t size)
{
    if (b->failed || size == 0) return;
    if (size > b->room - b->size) {
        size_t room = 2 * b->room + size + 64;
        uint8_t *grown = room > size ? spl_resize(b->allocator, b->data, room, 1) : NULL;
        if (!grown) {
            b->failed = true;
            return;
        }
        b->data = grown;
        b->room = room;
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void spl_ogawa_put_int(spl_ogawa_bytes *b, uint64_t value, int width)
{
    uint8_t text[8];
    for (int i = 0; i < width; i++) text[i] = (uint8_t)(value >> 8 * i);
    spl_ogawa_put(b, text, (size_t)width);
}

void spl_ogawa_put_f64(spl_ogawa_bytes *b, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    spl_ogawa_put_int(b, bits, 8);
}

void spl_ogawa_bytes_free(spl_ogawa_bytes *b)
{
    spl_free(b->allocator, b->data);
    b->data = NULL;
    b->size = b->room = 0;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static supple_result put(spl_ogawa *file, const void *bytes, size_t size, supple_error *error)
{
    supple_result result = spl_output_bytes(file->output, bytes, size, error);
    if (result == SUPPLE_OK) file->at += size;
    return result;
}

static supple_result put_u64(spl_ogawa *file, uint64_t value, supple_error *error)
{
    uint8_t text[8];
    for (int i = 0; i < 8; i++) text[i] = (uint8_t)(value >> 8 * i);
    return put(file, text, sizeof text, error);
}

supple_result spl_ogawa_begin(spl_ogawa *file, spl_output *output, supple_error *error)
{
    static const uint8_t head[HEAD] = {'O', 'g', 'a', 'w', 'a', 0, 0, 1};
    *file = (spl_ogawa){.output = output};
    return put(file, head, sizeof head, error);
}

supple_result spl_ogawa_end(spl_ogawa *file, spl_ogawa_child root, supple_error *error)
{
    static const uint8_t frozen = 0xff;
    FILE *stream = file->output->stream;
    supple_result result = fseeko(stream, ROOT_AT, SEEK_SET) == 0 ? put_u64(file, root, error) : SUPPLE_ERROR_OUTPUT;
    if (result == SUPPLE_OK && fseeko(stream, FROZEN_AT, SEEK_SET) == 0) return put(file, &frozen, 1, error);
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", file->output->path, strerror(errno));
}

spl_ogawa_child spl_ogawa_nothing(void)
{
    return IS_DATA;
}

supple_result spl_ogawa_data(spl_ogawa *file, const void *bytes, size_t size, spl_ogawa_child *out, supple_error *error)
{
    *out = size ? IS_DATA | file->at : IS_DATA;
    if (size == 0) return SUPPLE_OK;
    supple_result result = put_u64(file, size, error);
    return result == SUPPLE_OK ? put(file, bytes, size, error) : result;
}

supple_result spl_ogawa_sample(spl_ogawa *file, const uint8_t key[16], const void *bytes, size_t size,
                               spl_ogawa_child *out, supple_error *error)
{
    *out = IS_DATA | file->at;
    supple_result result = put_u64(file, 16 + (uint64_t)size, error);
    if (result == SUPPLE_OK) result = put(file, key, 16, error);
    return result == SUPPLE_OK ? put(file, bytes, size, error) : result;
}

supple_result spl_ogawa_group(spl_ogawa *file, const spl_ogawa_child *children, size_t count, spl_ogawa_child *out,
                              supple_error *error)
{
    *out = count ? file->at : 0;
    supple_result result = count ? put_u64(file, count, error) : SUPPLE_OK;
    for (size_t i = 0; i < count && result == SUPPLE_OK; i++) result = put_u64(file, children[i], error);
    return result;
}
