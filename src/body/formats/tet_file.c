#include "body/formats/tet_file.h"

#include "body/formats/formats.h"
#include "core/file.h"
#include "core/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const size_t FILE_LIMIT = (size_t)4 << 30;

typedef struct tet_format {
    const char *ending, *opening; /* how its files end in name and begin in content */
    bool binary;                  /* has a binary form */
    supple_result (*read)(spl_scan *s, spl_tets *out);
    void (*write)(FILE *f, const spl_tets *tets, const spl_tets_save_options *options);
} tet_format;

static const tet_format formats[] = {
    {".msh", "$MeshFormat", true, spl_msh_read, spl_msh_write},
    {".mesh", "MeshVersionFormatted", false, spl_medit_read, spl_medit_write},
    {".vtk", "# vtk", true, spl_vtk_read, spl_vtk_write},
};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

static const tet_format *format_by_ending(const char *path)
{
    size_t n = strlen(path);
    for (int i = 0; i < FORMAT_COUNT; i++) {
        size_t length = strlen(formats[i].ending);
        if (n > length && strcasecmp(path + n - length, formats[i].ending) == 0) return formats + i;
    }
    return NULL;
}

static const tet_format *format_by_content(const uint8_t *data, size_t size)
{
    for (int i = 0; i < FORMAT_COUNT; i++) {
        size_t length = strlen(formats[i].opening);
        if (size >= length && memcmp(data, formats[i].opening, length) == 0) return formats + i;
    }
    return NULL;
}

bool spl_tets_known_ending(const char *path)
{
    return format_by_ending(path) != NULL;
}

/* ---- loading ---------------------------------------------------------------------------------------------------- */

static void tell(const supple_config *config, const char *name, const spl_tets *tets, const spl_tets_report *report)
{
    if (report->reoriented)
        spl_log(config, SUPPLE_LOG_INFO, "%s: %d of %d tets were turned to positive volume", name,
                (int)report->reoriented, (int)tets->tet_count);
    if (report->unused_vertices)
        spl_log(config, SUPPLE_LOG_WARNING, "%s: %d vertices that no tet uses were dropped", name,
                (int)report->unused_vertices);
    if (report->component_count > 1)
        spl_log(config, SUPPLE_LOG_INFO, "%s: the tets are in %d separate pieces", name, (int)report->component_count);
}

static supple_result read_and_check(const tet_format *format, spl_scan *s, const supple_config *config, spl_tets *out,
                                    spl_tets_report *report)
{
    spl_tets_report own;
    if (!report) report = &own;
    supple_result result = format->read(s, out);
    if (!result) result = spl_tets_check(out, s->name, report, s->error);
    if (!result) result = spl_tets_find_surface(out, s->error);
    if (result)
        spl_tets_release(out);
    else
        tell(config, s->name, out, report);
    return result;
}

supple_result spl_tets_load_memory(const void *data, size_t size, const char *name, const supple_config *config,
                                   spl_tets *out, spl_tets_report *report, supple_error *error)
{
    *out = (spl_tets){0};
    if (report) *report = (spl_tets_report){0};
    const tet_format *format = format_by_content(data, size);
    if (!format) format = format_by_ending(name);
    if (!format)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "%s: not a tet mesh; .msh (Gmsh), .mesh (Medit) and .vtk can be read", name);
    spl_scan s = {.name = name, .begin = data, .at = data, .error = error, .memory = spl_allocator_of(config)};
    s.end = s.begin + size;
    s.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!s.c_locale) return spl_fail_memory(error, "a locale");
    supple_result result = read_and_check(format, &s, config, out, report);
    freelocale(s.c_locale);
    return result;
}

supple_result spl_tets_load(const char *path, const supple_config *config, spl_tets *out, spl_tets_report *report,
                            supple_error *error)
{
    *out = (spl_tets){0};
    supple_allocator a = spl_allocator_of(config);
    uint8_t *data;
    size_t size;
    supple_result result = spl_config_check(config, error);
    if (!result) result = spl_file_read(path, FILE_LIMIT, &a, &data, &size, error);
    if (result) return result;
    result = spl_tets_load_memory(data, size, path, config, out, report, error);
    spl_free(&a, data);
    return result;
}

/* ---- saving ----------------------------------------------------------------------------------------------------- */

spl_point_text spl_point_print(spl_vec3 p)
{
    spl_point_text out;
    const double value[3] = {p.x, p.y, p.z};
    char *at = out.text;
    for (int i = 0; i < 3; i++) {
        char *end = at + snprintf(at, 32, "%.15g", value[i]);
        if (strtod(at, NULL) != value[i]) end = at + snprintf(at, 32, "%.17g", value[i]);
        at = end;
        if (i < 2) *at++ = ' ';
    }
    *at = 0;
    return out;
}

static supple_result write_file(const tet_format *format, spl_output *output, const spl_tets *tets,
                                const spl_tets_save_options *options, supple_error *error)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) return spl_fail_memory(error, "a locale");
    locale_t before = uselocale(c_locale); /* of this thread only */
    format->write(output->stream, tets, options);
    uselocale(before);
    freelocale(c_locale);
    if (fflush(output->stream) == 0 && !ferror(output->stream)) return spl_output_commit(output, error);
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", output->path, strerror(errno));
}

supple_result spl_tets_save(const char *path, const spl_tets *tets, const spl_tets_save_options *options,
                            const supple_config *config, supple_error *error)
{
    static const spl_tets_save_options defaults = {0};
    if (!options) options = &defaults;
    supple_allocator a = spl_allocator_of(config);
    const tet_format *format = format_by_ending(path);
    supple_result result = spl_config_check(config, error);
    if (result) return result;
    if (!format) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: tets can be written as .msh, .mesh or .vtk", path);
    if (options->binary && !format->binary)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: %s files are text; .msh and .vtk can be binary", path,
                        format->ending);
    spl_output output;
    spl_output_sweep(path);
    result = spl_output_open(&output, path, &a, error);
    if (result) return result;
    result = write_file(format, &output, tets, options, error);
    spl_output_discard(&output);
    return result;
}
