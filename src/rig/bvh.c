#include "rig/bvh.h"

#include "core/memory.h"
#include "core/scan.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_LENGTH = 255, MESSAGE_NAME = 80 };

/* What is read, and the joint whose braces are open. */
typedef struct reader {
    spl_scan scan;
    spl_bvh *bvh;
    int32_t capacity;
    int32_t open; /* -1 outside */
    int32_t depth;
} reader;

/* ---- words ------------------------------------------------------------------------------------------------------ */

/* Takes a keyword if it comes next, in any case; what follows it need not be a blank ("Frames:30", "Hips{"). */
static bool take(spl_scan *s, const char *word)
{
    size_t n = strlen(word);
    if (!spl_scan_blank(s) || (size_t)(s->end - s->at) < n || strncasecmp((const char *)s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

static supple_result expected(spl_scan *s, const char *what)
{
    if (!spl_scan_blank(s)) return spl_scan_fail(s, "the file ends where %s should stand", what);
    int n = 0;
    while (n < 30 && s->at + n < s->end && s->at[n] > ' ') n++;
    return spl_scan_fail(s, "'%.*s' stands where %s should", n, (const char *)s->at, what);
}

static supple_result require(spl_scan *s, const char *word)
{
    return take(s, word) ? SUPPLE_OK : expected(s, word);
}

/* A name is the rest of the line, up to a brace: some programs put blanks into names. */
static supple_result read_name(reader *r, char **out)
{
    spl_scan *s = &r->scan;
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t')) s->at++;
    const uint8_t *first = s->at;
    while (s->at < s->end && *s->at != '\n' && *s->at != '\r' && *s->at != '{' && *s->at) s->at++;
    size_t n = (size_t)(s->at - first);
    while (n > 0 && first[n - 1] <= ' ') n--;
    if (n == 0) return spl_scan_fail(s, "a joint without a name");
    if (n > NAME_LENGTH) return spl_scan_fail(s, "a joint's name is longer than %d bytes", NAME_LENGTH);
    *out = spl_strndup(&r->bvh->allocator, (const char *)first, n);
    return *out ? SUPPLE_OK : spl_fail_memory(s->error, "a joint's name");
}

static supple_result read_vector(spl_scan *s, spl_vec3 *out)
{
    supple_result result = spl_scan_real(s, &out->x);
    if (result == SUPPLE_OK) result = spl_scan_real(s, &out->y);
    if (result == SUPPLE_OK) result = spl_scan_real(s, &out->z);
    if (result == SUPPLE_OK && !(spl_norm(*out) < 1e9)) result = spl_scan_fail(s, "an OFFSET of more than 1e9");
    return result;
}

/* ---- the hierarchy ---------------------------------------------------------------------------------------------- */

static supple_result open_joint(reader *r)
{
    spl_bvh *bvh = r->bvh;
    spl_scan *s = &r->scan;
    if (bvh->joint_count == SPL_BVH_JOINTS) return spl_scan_fail(s, "more than %d joints", SPL_BVH_JOINTS);
    if (r->depth == SPL_BVH_DEPTH) return spl_scan_fail(s, "joints nested more than %d deep", SPL_BVH_DEPTH);
    if (bvh->joint_count == r->capacity) {
        int32_t wanted = r->capacity ? 2 * r->capacity : 32;
        spl_bvh_joint *grown = spl_resize(&bvh->allocator, bvh->joint, (size_t)wanted, sizeof *grown);
        if (!grown) return spl_fail_memory(s->error, "the joints");
        bvh->joint = grown;
        r->capacity = wanted;
    }
    bvh->joint[bvh->joint_count] = (spl_bvh_joint){.parent = r->open};
    supple_result result = read_name(r, &bvh->joint[bvh->joint_count].name);
    if (result != SUPPLE_OK) return result;
    r->open = bvh->joint_count++;
    r->depth++;
    return require(s, "{");
}

static supple_result read_channels(reader *r)
{
    static const char *const names[6] = {"Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation"};
    spl_scan *s = &r->scan;
    spl_bvh_joint *joint = &r->bvh->joint[r->open];
    int64_t count;
    if (joint->channel_count) return spl_scan_fail(s, "'%.60s' has CHANNELS twice", joint->name);
    supple_result result = spl_scan_integer(s, &count);
    if (result != SUPPLE_OK) return result;
    if (count < 0 || count > SPL_BVH_CHANNELS)
        return spl_scan_fail(s, "CHANNELS takes 0 to %d, not %lld", SPL_BVH_CHANNELS, (long long)count);
    joint->first_channel = r->bvh->channel_count;
    for (int32_t i = 0; i < count; i++) {
        uint8_t kind = 0;
        while (kind < 6 && !take(s, names[kind])) kind++;
        if (kind == 6) {
            char what[80];
            snprintf(what, sizeof what, "channel %d of %d (Xposition to Zrotation)", i + 1, (int)count);
            return expected(s, what);
        }
        joint->channel[joint->channel_count++] = kind;
    }
    r->bvh->channel_count += joint->channel_count;
    return SUPPLE_OK;
}

static supple_result read_end_site(reader *r)
{
    spl_scan *s = &r->scan;
    spl_vec3 end;
    supple_result result = require(s, "Site");
    const uint8_t *brace = s->at; /* a few files name their end sites; nobody needs the names */
    while (brace < s->end && *brace != '{' && *brace != '\n') brace++;
    if (brace < s->end && *brace == '\n') s->at = brace;
    if (brace < s->end && *brace == '{') s->at = brace;
    if (result == SUPPLE_OK) result = require(s, "{");
    if (result == SUPPLE_OK) result = require(s, "OFFSET");
    if (result == SUPPLE_OK) result = read_vector(s, &end);
    if (result == SUPPLE_OK && take(s, "CHANNELS")) result = require(s, "0");
    if (result == SUPPLE_OK) result = require(s, "}");
    if (result != SUPPLE_OK) return result;
    spl_bvh_joint *joint = &r->bvh->joint[r->open];
    joint->end = end; /* the last one counts where there are several */
    joint->has_end = true;
    return SUPPLE_OK;
}

/* One statement inside a joint's braces. */
static supple_result read_statement(reader *r)
{
    spl_scan *s = &r->scan;
    if (take(s, "OFFSET")) return read_vector(s, &r->bvh->joint[r->open].offset);
    if (take(s, "CHANNELS")) return read_channels(r);
    if (take(s, "JOINT")) return open_joint(r);
    if (take(s, "End")) return read_end_site(r);
    if (take(s, "}")) {
        r->open = r->bvh->joint[r->open].parent;
        r->depth--;
        return SUPPLE_OK;
    }
    return expected(s, "OFFSET, CHANNELS, JOINT, End Site or }");
}

static supple_result read_hierarchy(reader *r)
{
    spl_scan *s = &r->scan;
    supple_result result = require(s, "HIERARCHY");
    while (result == SUPPLE_OK) {
        if (r->open >= 0)
            result = read_statement(r);
        else if (take(s, "ROOT"))
            result = open_joint(r);
        else
            break;
    }
    if (result == SUPPLE_OK) result = require(s, "MOTION");
    if (result == SUPPLE_OK && r->bvh->joint_count == 0) result = spl_scan_fail(s, "no joints");
    if (result == SUPPLE_OK && r->bvh->channel_count == 0) result = spl_scan_fail(s, "no joint has a channel");
    return result;
}

/* ---- the motion ------------------------------------------------------------------------------------------------- */

/* Whether the line ends here, but for blanks. */
static bool at_line_end(spl_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t')) s->at++;
    return s->at == s->end || *s->at == '\n' || *s->at == '\r';
}

/* One frame is one line: a row of the wrong length is found where it stands, not at the end of the file. */
static supple_result read_row(reader *r, double *out)
{
    spl_scan *s = &r->scan;
    int32_t count = r->bvh->channel_count;
    for (int32_t i = 0; i < count; i++) {
        if (i > 0 && at_line_end(s) && s->at < s->end)
            return spl_scan_fail(s, "the row has %d numbers, the joints have %d channels", (int)i, (int)count);
        supple_result result = spl_scan_real(s, &out[i]);
        if (result != SUPPLE_OK) return result;
        if (!(fabs(out[i]) < 1e9)) return spl_scan_fail(s, "%g is too large", out[i]);
    }
    if (!at_line_end(s) && *s->at != '#')
        return spl_scan_fail(s, "the row has more numbers than the joints have channels (%d)", (int)count);
    return SUPPLE_OK;
}

static supple_result read_motion_head(reader *r)
{
    spl_scan *s = &r->scan;
    int64_t frames;
    supple_result result = require(s, "Frames");
    if (result == SUPPLE_OK) result = require(s, ":");
    if (result == SUPPLE_OK) result = spl_scan_integer(s, &frames);
    if (result == SUPPLE_OK && (frames < 1 || frames > SPL_BVH_FRAMES))
        result = spl_scan_fail(s, "Frames takes 1 to %d, not %lld", SPL_BVH_FRAMES, (long long)frames);
    if (result == SUPPLE_OK) result = require(s, "Frame");
    if (result == SUPPLE_OK) result = require(s, "Time");
    if (result == SUPPLE_OK) result = require(s, ":");
    if (result == SUPPLE_OK) result = spl_scan_real(s, &r->bvh->frame_time);
    if (result != SUPPLE_OK) return result;
    if (!(r->bvh->frame_time >= 1e-4 && r->bvh->frame_time <= 1000))
        return spl_scan_fail(s, "a Frame Time of %g seconds; it must lie between 0.0001 and 1000", r->bvh->frame_time);
    r->bvh->frame_count = (int32_t)frames;
    /* A number and its blank are two bytes at least. */
    return spl_scan_check_count(s, frames, 2 * (size_t)r->bvh->channel_count, "frames");
}

/* Position channels that are zero throughout, below a root, are not meant to put a joint onto its parent. */
static void find_still(spl_bvh *bvh)
{
    for (int32_t j = 0; j < bvh->joint_count; j++) {
        spl_bvh_joint *joint = &bvh->joint[j];
        joint->still = joint->parent >= 0;
        for (int32_t f = 0; f < bvh->frame_count && joint->still; f++) {
            const double *row = bvh->value + (size_t)f * (size_t)bvh->channel_count + joint->first_channel;
            for (int32_t c = 0; c < joint->channel_count; c++)
                if (joint->channel[c] < 3 && row[c] != 0) joint->still = false;
        }
    }
}

static supple_result read_motion(reader *r)
{
    spl_bvh *bvh = r->bvh;
    supple_result result = read_motion_head(r);
    if (result != SUPPLE_OK) return result;
    size_t width = (size_t)bvh->channel_count, count;
    if (spl_mul((size_t)bvh->frame_count, width, &count))
        bvh->value = spl_new(&bvh->allocator, count, sizeof *bvh->value);
    if (!bvh->value) return spl_fail_memory(r->scan.error, "the motion");
    for (int32_t f = 0; f < bvh->frame_count && result == SUPPLE_OK; f++)
        result = read_row(r, bvh->value + (size_t)f * width);
    if (result != SUPPLE_OK) return result;
    bvh->has_more = spl_scan_blank(&r->scan);
    find_still(bvh);
    return SUPPLE_OK;
}

supple_result spl_bvh_parse(const void *text, size_t size, const char *name, const supple_allocator *a, spl_bvh *out,
                            supple_error *error)
{
    size_t length = strlen(name), skip = length > MESSAGE_NAME ? length - MESSAGE_NAME : 0;
    const uint8_t *begin = text;
    reader r = {.bvh = out, .open = -1};
    *out = (spl_bvh){.allocator = *a};
    r.scan = (spl_scan){.name = name + skip, /* a long path's end says more than its beginning */
                        .begin = begin,
                        .at = begin,
                        .end = begin + size,
                        .error = error,
                        .hash_comments = true};
    if (size > SPL_BVH_LARGEST) return spl_scan_fail(&r.scan, "larger than %d MB", SPL_BVH_LARGEST >> 20);
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) r.scan.at += 3; /* a byte order mark */
    r.scan.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!r.scan.c_locale) return spl_fail_memory(error, "a locale");
    supple_result result = read_hierarchy(&r);
    if (result == SUPPLE_OK) result = read_motion(&r);
    freelocale(r.scan.c_locale);
    if (result != SUPPLE_OK) spl_bvh_release(out);
    return result;
}

void spl_bvh_release(spl_bvh *bvh)
{
    for (int32_t j = 0; j < bvh->joint_count; j++) spl_free(&bvh->allocator, bvh->joint[j].name);
    if (bvh->allocator.release) {
        spl_free(&bvh->allocator, bvh->joint);
        spl_free(&bvh->allocator, bvh->value);
    }
    *bvh = (spl_bvh){0};
}

/* ---- poses ------------------------------------------------------------------------------------------------------ */

static void local_pose(const spl_bvh_joint *joint, const double *row, spl_quat *rotation, spl_vec3 *place)
{
    const double radians = 3.14159265358979323846 / 180;
    double p[3] = {joint->offset.x, joint->offset.y, joint->offset.z};
    *rotation = spl_quat_identity();
    for (int32_t c = 0; row && c < joint->channel_count; c++) {
        int kind = joint->channel[c];
        double value = row[joint->first_channel + c];
        if (kind < 3) {
            if (!joint->still) p[kind] = value;
            continue;
        }
        spl_vec3 axis = spl_v3(kind == 3, kind == 4, kind == 5);
        *rotation = spl_quat_mul(*rotation, spl_quat_axis_angle(axis, fmod(value, 360) * radians));
    }
    *place = spl_v3(p[0], p[1], p[2]);
}

void spl_bvh_pose(const spl_bvh *bvh, int32_t frame, spl_quat *rotation, spl_vec3 *position)
{
    const double *row = frame < 0 ? NULL : bvh->value + (size_t)frame * (size_t)bvh->channel_count;
    for (int32_t j = 0; j < bvh->joint_count; j++) {
        const spl_bvh_joint *joint = &bvh->joint[j];
        spl_quat local;
        spl_vec3 place;
        local_pose(joint, row, &local, &place);
        int32_t parent = joint->parent;
        rotation[j] = parent < 0 ? local : spl_quat_normalise(spl_quat_mul(rotation[parent], local));
        if (!position) continue;
        position[j] = parent < 0 ? place : spl_add(position[parent], spl_quat_rotate(rotation[parent], place));
    }
}
