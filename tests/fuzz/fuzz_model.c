/* libFuzzer on models: the .supple reader, and the player of what it let through. `make fuzz` runs it.
 *
 * A model is a container of arrays (core/store.h) with a hash of each, of their table and of the header, in one layout
 * for given arrays: bytes changed at random never get past them. So the mutator takes the file apart, changes arrays,
 * rows, names, types or fields of the header, and puts it together again with hashes that are right. */
#include "core/store_layout.h"
#include "play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t max_size, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    play_exercise("fuzz.supple", data, size);
    return 0;
}

/* ---- a file in its parts ---------------------------------------------------------------------------------------- */

enum { MOST_SECTIONS = 64, MOST_BYTES = 1 << 17 };

typedef struct part {
    uint8_t name[SPL_STORE_NAME];
    uint32_t type, width;
    uint64_t count; /* what the table says; the bytes may be others */
    size_t bytes;
    uint8_t *data; /* room for MOST_BYTES */
} part;

typedef struct parts {
    uint8_t header[STORE_HEADER];
    int count;
    part part[MOST_SECTIONS];
} parts;

static size_t element_of(const part *p)
{
    size_t size = spl_store_type_size((spl_store_type)p->type) * p->width;
    return size && size < MOST_BYTES ? size : 1;
}

/* False if the bytes are not a store that was put together here. Nothing is allocated: `slot` is 0 or 1. */
static bool take_apart(const uint8_t *data, size_t size, int slot, parts *f)
{
    static uint8_t room[2][MOST_SECTIONS][MOST_BYTES];
    if (size < STORE_HEADER || memcmp(data, store_magic, sizeof store_magic) != 0) return false;
    uint64_t table = store_take(data + AT_TABLE, 8), count = store_take(data + AT_SECTIONS, 4);
    if (table > size || count == 0 || count > MOST_SECTIONS || size - table < count * STORE_SECTION) return false;
    memcpy(f->header, data, STORE_HEADER);
    f->count = (int)count;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *s = data + table + i * STORE_SECTION;
        uint64_t offset = store_take(s + AT_OFFSET, 8), bytes = store_take(s + AT_BYTES, 8);
        part *p = &f->part[i];
        if (offset > size || bytes > size - offset || bytes > MOST_BYTES) return false;
        memcpy(p->name, s + AT_NAME, SPL_STORE_NAME);
        p->type = (uint32_t)store_take(s + AT_TYPE, 4);
        p->width = (uint32_t)store_take(s + AT_WIDTH, 4);
        p->count = store_take(s + AT_COUNT, 8);
        p->bytes = (size_t)bytes;
        p->data = room[slot][i];
        memcpy(p->data, data + offset, p->bytes);
    }
    return true;
}

static void put_section(uint8_t *s, const part *p, uint64_t offset)
{
    memcpy(s + AT_NAME, p->name, SPL_STORE_NAME);
    store_put(s + AT_TYPE, p->type, 4);
    store_put(s + AT_WIDTH, p->width, 4);
    store_put(s + AT_COUNT, p->count, 8);
    store_put(s + AT_OFFSET, offset, 8);
    store_put(s + AT_BYTES, p->bytes, 8);
    store_put_key(s + AT_HASH, spl_digest_of(p->data, p->bytes));
}

/* The size of the file; 0 if it does not fit. */
static size_t put_together(const parts *f, uint8_t *out, size_t room)
{
    uint64_t end = STORE_HEADER;
    for (int i = 0; i < f->count; i++) end = store_aligned(end) + f->part[i].bytes;
    uint64_t table = store_aligned(end), size = table + (uint64_t)f->count * STORE_SECTION;
    if (size > room) return 0;
    memset(out, 0, (size_t)size);
    memcpy(out, f->header, STORE_HEADER);
    end = STORE_HEADER;
    for (int i = 0; i < f->count; i++) {
        uint64_t offset = store_aligned(end);
        memcpy(out + offset, f->part[i].data, f->part[i].bytes);
        put_section(out + table + (size_t)i * STORE_SECTION, &f->part[i], offset);
        end = offset + f->part[i].bytes;
    }
    store_put(out + AT_SECTIONS, (uint64_t)f->count, 4);
    store_put(out + AT_SIZE, size, 8);
    store_put(out + AT_TABLE, table, 8);
    store_put_key(out + AT_TABLE_HASH, spl_digest_of(out + table, (size_t)f->count * STORE_SECTION));
    store_put_key(out + AT_HEADER_HASH, spl_digest_of(out, AT_HEADER_HASH));
    return (size_t)size;
}

/* ---- what is changed -------------------------------------------------------------------------------------------- */

static uint32_t next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static part *find(parts *f, const char *name)
{
    for (int i = 0; i < f->count; i++)
        if (strncmp((const char *)f->part[i].name, name, SPL_STORE_NAME) == 0) return &f->part[i];
    return NULL;
}

static void change_real(uint8_t *at, const uint8_t *other, unsigned *state)
{
    static const double odd[] = {0, -0.0, 1, -1, 5e-324, 1e-300, 1e-12, 1e12, 1e100, 1.7e308, -1.7e308, 1e-160, 1e160};
    double x, y;
    memcpy(&x, at, sizeof x);
    memcpy(&y, other, sizeof y);
    switch (next(state) % 6) {
    case 0:
        x = -x;
        break;
    case 1:
        x *= 1 + 1e-3 * (next(state) % 2000);
        break;
    case 2:
        x = ldexp(x, (int)(next(state) % 200) - 100);
        break;
    case 3:
        x = y;
        break;
    default:
        x = odd[next(state) % (sizeof odd / sizeof *odd)];
    }
    memcpy(at, &x, sizeof x);
}

static void change_whole(uint8_t *at, const uint8_t *other, unsigned *state)
{
    static const int32_t odd[] = {0, -1, 1, 2, INT32_MAX, INT32_MIN, 255, 512, 1024, 65536, 1 << 22, INT32_MAX / 8};
    int32_t x, y;
    memcpy(&x, at, sizeof x);
    memcpy(&y, other, sizeof y);
    uint32_t u = (uint32_t)x;
    switch (next(state) % 5) {
    case 0:
        u++;
        break;
    case 1:
        u--;
        break;
    case 2:
        u = (uint32_t)y;
        break;
    case 3:
        u = (uint32_t)(next(state) % 64);
        break;
    default:
        u = (uint32_t)odd[next(state) % (sizeof odd / sizeof *odd)];
    }
    memcpy(at, &u, sizeof u);
}

/* One number of an array. */
static void change_number(part *p, unsigned *state)
{
    size_t size = spl_store_type_size((spl_store_type)p->type);
    if (size == 0 || p->bytes < size) return;
    size_t n = p->bytes / size;
    uint8_t *at = p->data + size * (next(state) % n);
    const uint8_t *other = p->data + size * (next(state) % n);
    if (size == 8)
        change_real(at, other, state);
    else if (size == 4)
        change_whole(at, other, state);
    else
        *at = (uint8_t)next(state);
}

/* Row `at` is lost, or stands twice. */
static bool change_rows(part *p, uint64_t at, bool lose)
{
    size_t row = element_of(p), n = p->bytes / row;
    if (at >= n || (!lose && p->bytes + row > MOST_BYTES)) return false;
    uint8_t *here = p->data + at * row;
    size_t behind = p->bytes - (at + 1) * row;
    if (lose)
        memmove(here, here + row, behind);
    else
        memmove(here + row, here, behind + row);
    p->bytes = lose ? p->bytes - row : p->bytes + row;
    p->count = p->bytes / row;
    return true;
}

/* One domain's count of vertices (3) or cubature tets (4) follows; so does the last interface's of ties (2). */
static void change_count(parts *f, const char *table, int column, int by, unsigned *state)
{
    part *p = find(f, table);
    size_t row = p ? element_of(p) : 0;
    if (!p || p->bytes < row || row < 4 * (size_t)column + 4) return;
    uint8_t *at = p->data + row * (next(state) % (p->bytes / row)) + 4 * (size_t)column;
    store_put(at, store_take(at, 4) + (uint64_t)(int64_t)by, 4);
}

/* A row of all arrays that are as long, and begin alike: what belongs together stays together. */
static void change_group(parts *f, const part *p, unsigned *state)
{
    uint64_t count = p->count, at = count ? next(state) % count : 0;
    bool lose = next(state) % 2;
    const char *name = (const char *)p->name;
    if (strncmp(name, "cubature", 8) == 0) change_count(f, "domain", 4, lose ? -1 : 1, state);
    if (strcmp(name, "vertex") == 0 || strcmp(name, "rest") == 0) change_count(f, "domain", 3, lose ? -1 : 1, state);
    if (strncmp(name, "interface.a", 11) == 0) change_count(f, "interface", 2, lose ? -1 : 1, state);
    for (int i = 0; i < f->count; i++)
        if (f->part[i].count == count && f->part[i].width > 0) change_rows(&f->part[i], at, lose);
}

/* A vertex that is 4^k times as heavy, its rows of the basis 2^-k: still orthonormal, but another body. */
static void change_mass(parts *f, unsigned *state)
{
    const part *domain = find(f, "domain"), *mass = find(f, "mass"), *basis = find(f, "basis");
    if (!domain || !mass || !basis || domain->bytes < 20 || mass->bytes < 8) return;
    size_t vertices = (size_t)store_take(domain->data + 12, 4), rank = (size_t)store_take(domain->data + 4, 4);
    if (vertices == 0 || vertices > mass->bytes / 8 || rank == 0 || rank > basis->bytes / 24 / vertices) return;
    size_t v = next(state) % vertices;
    int k = (int)(next(state) % 400) - 200;
    double sign = next(state) % 2 ? -1 : 1, x;
    memcpy(&x, mass->data + 8 * v, sizeof x);
    x = ldexp(x, 2 * k);
    memcpy(mass->data + 8 * v, &x, sizeof x);
    for (size_t i = 3 * v * rank; i < 3 * (v + 1) * rank; i++) {
        memcpy(&x, basis->data + 8 * i, sizeof x);
        x = sign * ldexp(x, -k);
        memcpy(basis->data + 8 * i, &x, sizeof x);
    }
}

/* What the table says of an array. */
static void change_entry(parts *f, part *p, unsigned *state)
{
    switch (next(state) % 5) {
    case 0:
        p->type = next(state) % 7;
        break;
    case 1:
        p->width = next(state) % 2 ? next(state) % 20 : UINT32_MAX;
        break;
    case 2:
        p->count += next(state) % 2 ? 1 : UINT64_MAX;
        break;
    case 3:
        memcpy(p->name, f->part[next(state) % (uint32_t)f->count].name, SPL_STORE_NAME);
        break;
    default:
        LLVMFuzzerMutate(p->name, SPL_STORE_NAME, SPL_STORE_NAME);
    }
}

static void change_header(parts *f, unsigned *state)
{
    static const uint8_t at[] = {AT_VERSION, AT_KEY, AT_CONTENT_VERSION, AT_KIND, AT_ZERO};
    f->header[at[next(state) % sizeof at]] ^= (uint8_t)(1u << next(state) % 8);
}

/* Any bytes in place of an array's. */
static void change_bytes(part *p)
{
    size_t row = element_of(p);
    p->bytes = LLVMFuzzerMutate(p->data, p->bytes, MOST_BYTES) / row * row;
    p->count = p->bytes / row;
}

static void change(parts *f, unsigned *state)
{
    part *p = &f->part[next(state) % (uint32_t)f->count];
    uint32_t dice = next(state) % 32;
    if (dice < 16)
        change_number(p, state);
    else if (dice < 21)
        change_group(f, p, state);
    else if (dice < 24)
        change_mass(f, state);
    else if (dice < 28)
        change_bytes(p);
    else if (dice < 30)
        change_rows(p, p->count ? next(state) % p->count : 0, next(state) % 2);
    else if (dice < 31)
        change_entry(f, p, state);
    else
        change_header(f, state);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static parts f;
    unsigned state = seed;
    size_t total = 0;
    if (next(&state) % 32 && take_apart(data, size, 0, &f)) {
        for (uint32_t i = 1 + next(&state) % 3; i > 0; i--) change(&f, &state);
        total = put_together(&f, data, max_size);
    }
    return total ? total : LLVMFuzzerMutate(data, size, max_size);
}

/* The first file with arrays of the second: that of one name, or all that begin like it. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t max_size, unsigned seed)
{
    static parts f, g;
    unsigned state = seed;
    if (!take_apart(one, one_size, 0, &f) || !take_apart(two, two_size, 1, &g)) return 0;
    char begins[SPL_STORE_NAME + 1] = {0};
    memcpy(begins, f.part[next(&state) % (uint32_t)f.count].name, SPL_STORE_NAME);
    if (next(&state) % 2) begins[4] = 0;
    for (int i = 0; i < f.count; i++) {
        const part *from = find(&g, (const char *)f.part[i].name);
        if (from && strncmp((const char *)f.part[i].name, begins, strlen(begins)) == 0) f.part[i] = *from;
    }
    return put_together(&f, out, max_size);
}
