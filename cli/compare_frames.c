/* The frames that the children left, and how far each is from the reference. */
#include "compare.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_at(int file, void *out, size_t size, int64_t offset)
{
    char *to = out;
    while (size > 0) {
        ssize_t got = pread(file, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        offset += got;
        size -= (size_t)got;
    }
    return true;
}

/* Version 1.0 of the format, as the tool writes it: magic, two bytes of version, two of the header's length, a
 * dictionary of Python. */
static bool read_header(cli_frames *f, int32_t rows)
{
    char text[1024];
    uint8_t start[10];
    if (!read_at(f->file, start, sizeof start, 0) || memcmp(start, "\x93NUMPY\x01", 7) != 0) return false;
    size_t length = (size_t)start[8] | (size_t)start[9] << 8;
    if (length >= sizeof text || !read_at(f->file, text, length, sizeof start)) return false;
    text[length] = 0;
    const char *shape = strstr(text, "'shape': (");
    if (!strstr(text, "'<f4'") || !strstr(text, "'fortran_order': False") || !shape) return false;
    if (sscanf(shape, "'shape': (%d, %d, 3", &f->rows, &f->points) != 2) return false;
    f->offset = (int64_t)(sizeof start + length);
    struct stat st;
    int64_t size = f->offset + 12 * (int64_t)f->rows * f->points;
    return f->rows == rows && f->points >= 0 && fstat(f->file, &st) == 0 && st.st_size == size;
}

bool cli_frames_open(cli_frames *frames, const char *path, int32_t rows)
{
    frames->file = open(path, O_RDONLY | O_CLOEXEC);
    if (frames->file >= 0 && read_header(frames, rows)) return true;
    cli_frames_close(frames);
    return false;
}

void cli_frames_close(cli_frames *frames)
{
    if (frames->file >= 0) close(frames->file);
    frames->file = -1;
}

bool cli_compare_frame(const cli_compare *c, const cli_compare_method *m, int range, int32_t index, float *out)
{
    const supple_range *r = &c->ranges[range];
    int32_t number = r->first_frame + index;
    if (!m->ran || number % m->stride != 0) return false;
    const cli_frames *f = &m->frames[range];
    int32_t row = number / m->stride - (r->first_frame + m->stride - 1) / m->stride;
    size_t size = 3 * (size_t)f->points * sizeof *out;
    return row >= 0 && row < f->rows && read_at(f->file, out, size, f->offset + (int64_t)row * (int64_t)size);
}

static void measure(const float *a, const float *b, size_t points, double metre, double *mean, double *largest)
{
    double sum = 0, most = 0;
    for (size_t i = 0; i < 3 * points; i += 3) {
        double x = (double)a[i] - (double)b[i], y = (double)a[i + 1] - (double)b[i + 1],
               z = (double)a[i + 2] - (double)b[i + 2], d = sqrt(x * x + y * y + z * z);
        sum += d;
        most = fmax(most, d);
    }
    *mean = points ? sum / (double)points * metre : 0;
    *largest = most * metre;
}

static void measure_method(const cli_compare *c, const cli_compare_method *reference, cli_compare_method *m, float *a,
                           float *b)
{
    int at = 0;
    for (int r = 0; r < c->range_count; r++)
        for (int32_t k = 0; k < c->ranges[r].frame_count; k++, at++) {
            m->error_mean[at] = m->error_max[at] = NAN;
            if (cli_compare_frame(c, reference, r, k, a) && cli_compare_frame(c, m, r, k, b))
                measure(a, b, (size_t)m->frames[r].points, c->metre, &m->error_mean[at], &m->error_max[at]);
        }
}

int cli_compare_errors(cli_compare *c)
{
    const cli_compare_method *reference = cli_compare_reference(c);
    if (!reference) return 0;
    size_t points = (size_t)reference->frames[0].points;
    float *a = calloc(points + 1, 3 * sizeof *a), *b = calloc(points + 1, 3 * sizeof *b);
    bool room = a && b;
    for (int i = 0; i < c->method_count && room; i++) {
        cli_compare_method *m = &c->method[i];
        if (!m->ran || (size_t)m->frames[0].points != points) continue;
        m->error_mean = calloc((size_t)c->frame_total, sizeof *m->error_mean);
        m->error_max = calloc((size_t)c->frame_total, sizeof *m->error_max);
        room = m->error_mean && m->error_max;
        if (room) measure_method(c, reference, m, a, b);
    }
    free(a);
    free(b);
    return room ? 0 : cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the frames"});
}
