#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/store_layout.h"

#include <errno.h>

enum { CHUNK = 1 << 16 }; /* bytes turned round at a time on big-endian machines */

struct spl_store_writer {
    supple_allocator allocator;
    spl_output output;
    spl_store_id id;
    char kind[SPL_STORE_KIND];
    uint8_t *table; /* STORE_SECTION bytes each */
    uint32_t section_count, section_room;
    uint64_t size; /* bytes written so far */
    supple_error failure;
};

size_t spl_store_type_size(spl_store_type type)
{
    static const uint8_t sizes[] = {0, 1, 4, 8, 4, 8};
    return type >= SPL_STORE_U8 && type <= SPL_STORE_F64 ? sizes[type] : 0;
}

void spl_store_turn(void *data, size_t count, size_t width)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) return;
    uint8_t *p = data;
    for (size_t i = 0; i < count; i++, p += width)
        for (size_t k = 0; k < width / 2; k++) {
            uint8_t byte = p[k];
            p[k] = p[width - 1 - k];
            p[width - 1 - k] = byte;
        }
}

/* Remembers the first failure. */
static supple_result failed(spl_store_writer *w, supple_result result, const supple_error *reason, supple_error *error)
{
    if (result && !w->failure.code) w->failure = *reason;
    if (result && error) *error = *reason;
    return result;
}

static supple_result put(spl_store_writer *w, const void *data, size_t size, supple_error *error)
{
    w->size += size;
    return spl_output_bytes(&w->output, data, size, error);
}

static supple_result put_padding(spl_store_writer *w, supple_error *error)
{
    static const uint8_t zeros[STORE_ALIGN] = {0};
    return put(w, zeros, (size_t)(store_aligned(w->size) - w->size), error);
}

supple_result spl_store_create(const char *path, const spl_store_id *id, const supple_config *config,
                               spl_store_writer **out, supple_error *error)
{
    static const uint8_t zeros[STORE_HEADER] = {0};
    supple_allocator a = spl_allocator_of(config);
    *out = NULL;
    char kind[SPL_STORE_KIND] = {0};
    strncpy(kind, id->kind, sizeof kind - 1);
    if (strlen(id->kind) >= sizeof kind || !store_good_name((const uint8_t *)kind, sizeof kind))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "'%s' cannot be the kind of a store", id->kind);
    spl_store_writer *w = spl_new(&a, 1, sizeof *w);
    if (!w) return spl_fail_memory(error, "a store");
    w->allocator = a;
    w->id = *id;
    memcpy(w->kind, kind, sizeof kind);
    supple_result result = spl_output_open(&w->output, path, &a, error);
    if (!result) result = put(w, zeros, sizeof zeros, error); /* the header is known at the end */
    if (result)
        spl_store_discard(w);
    else
        *out = w;
    return result;
}

static supple_result check_section(const spl_store_writer *w, const uint8_t name[SPL_STORE_NAME], supple_error *error)
{
    if (!store_good_name(name, SPL_STORE_NAME))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "'%s' cannot be the name of a section", (const char *)name);
    if (w->section_count >= SPL_STORE_SECTIONS)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "more than %d sections in a store", SPL_STORE_SECTIONS);
    for (uint32_t i = 0; i < w->section_count; i++)
        if (memcmp(w->table + (size_t)i * STORE_SECTION, name, SPL_STORE_NAME) == 0)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a second section '%s'", (const char *)name);
    return SUPPLE_OK;
}

/* Room for one more entry; NULL if memory is out. */
static uint8_t *next_section(spl_store_writer *w)
{
    if (w->section_count == w->section_room) {
        uint32_t room = w->section_room ? 2 * w->section_room : 16;
        uint8_t *grown = spl_resize(&w->allocator, w->table, room, STORE_SECTION);
        if (!grown) return NULL;
        w->table = grown;
        w->section_room = room;
    }
    uint8_t *entry = w->table + (size_t)w->section_count * STORE_SECTION;
    memset(entry, 0, STORE_SECTION);
    return entry;
}

/* Writes the numbers little-endian and hashes them as written. */
static supple_result put_numbers(spl_store_writer *w, const void *data, uint64_t size, size_t width, spl_digest *hash,
                                 supple_error *error)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        spl_digest_bytes(hash, data, (size_t)size);
        return put(w, data, (size_t)size, error);
    }
    uint8_t chunk[CHUNK];
    supple_result result = SUPPLE_OK;
    for (uint64_t done = 0; !result && done < size;) {
        size_t n = size - done < CHUNK ? (size_t)(size - done) : CHUNK;
        memcpy(chunk, (const uint8_t *)data + done, n);
        spl_store_turn(chunk, n / width, width);
        spl_digest_bytes(hash, chunk, n);
        result = put(w, chunk, n, error);
        done += n;
    }
    return result;
}

static supple_result add(spl_store_writer *w, const char *name, spl_store_type type, uint32_t width, size_t count,
                         const void *data, supple_error *error)
{
    uint8_t padded[SPL_STORE_NAME] = {0};
    uint64_t size;
    strncpy((char *)padded, name, sizeof padded - 1);
    supple_result result = check_section(w, padded, error);
    if (result) return result;
    if (strlen(name) >= sizeof padded || !store_array_size(type, width, count, &size))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "section '%s': a wrong name, type or size", name);
    uint8_t *entry = next_section(w);
    if (!entry) return spl_fail_memory(error, "the table of a store");
    result = put_padding(w, error);
    uint64_t offset = w->size;
    spl_digest hash = spl_digest_begin();
    if (!result && size) result = put_numbers(w, data, size, spl_store_type_size(type), &hash, error);
    memcpy(entry + AT_NAME, padded, sizeof padded);
    store_put(entry + AT_TYPE, (uint64_t)type, 4);
    store_put(entry + AT_WIDTH, width, 4);
    store_put(entry + AT_COUNT, count, 8);
    store_put(entry + AT_OFFSET, offset, 8);
    store_put(entry + AT_BYTES, size, 8);
    store_put_key(entry + AT_HASH, spl_digest_end(&hash));
    w->section_count++;
    return result;
}

supple_result spl_store_add(spl_store_writer *writer, const char *name, spl_store_type type, uint32_t width,
                            size_t count, const void *data, supple_error *error)
{
    supple_error reason = writer->failure;
    supple_result result = reason.code;
    if (!result) result = add(writer, name, type, width, count, data, &reason);
    return failed(writer, result, &reason, error);
}

static void fill_header(const spl_store_writer *w, uint64_t table, uint8_t header[STORE_HEADER])
{
    size_t table_size = (size_t)w->section_count * STORE_SECTION;
    memcpy(header + AT_MAGIC, store_magic, sizeof store_magic);
    store_put(header + AT_VERSION, STORE_VERSION, 4);
    store_put(header + AT_SECTIONS, w->section_count, 4);
    store_put(header + AT_SIZE, w->size, 8);
    store_put(header + AT_TABLE, table, 8);
    store_put_key(header + AT_KEY, w->id.key);
    store_put(header + AT_CONTENT_VERSION, w->id.version, 4);
    memcpy(header + AT_KIND, w->kind, sizeof w->kind);
    store_put_key(header + AT_TABLE_HASH, spl_digest_of(w->table, table_size));
    store_put_key(header + AT_HEADER_HASH, spl_digest_of(header, AT_HEADER_HASH));
}

static supple_result complete(spl_store_writer *w, supple_error *error)
{
    uint8_t header[STORE_HEADER] = {0};
    supple_result result = put_padding(w, error);
    uint64_t table = w->size;
    if (!result && w->section_count) result = put(w, w->table, (size_t)w->section_count * STORE_SECTION, error);
    if (result) return result;
    fill_header(w, table, header);
    if (fseeko(w->output.stream, 0, SEEK_SET) != 0)
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", w->output.path, strerror(errno));
    result = spl_output_bytes(&w->output, header, sizeof header, error);
    return result ? result : spl_output_commit(&w->output, error);
}

supple_result spl_store_commit(spl_store_writer *writer, supple_error *error)
{
    supple_error reason = writer->failure;
    supple_result result = reason.code;
    if (!result) result = complete(writer, &reason);
    failed(writer, result, &reason, error);
    spl_store_discard(writer);
    return result;
}

void spl_store_discard(spl_store_writer *writer)
{
    if (!writer) return;
    supple_allocator a = writer->allocator;
    spl_output_discard(&writer->output);
    spl_free(&a, writer->table);
    spl_free(&a, writer);
}
