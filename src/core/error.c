#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG_COOKIE = 0x5u << 24 | 0x0c0f19, MAX_THREADS = 256 };

supple_config supple_config_default(void)
{
    return (supple_config){.cookie = CONFIG_COOKIE};
}

const char *supple_version(void)
{
    return SUPPLE_VERSION;
}

const char *supple_result_name(supple_result result)
{
    switch (result) {
    case SUPPLE_OK:
        return "ok";
    case SUPPLE_ERROR_ARGUMENT:
        return "wrong argument";
    case SUPPLE_ERROR_INPUT:
        return "bad input";
    case SUPPLE_ERROR_OUTPUT:
        return "output failed";
    case SUPPLE_ERROR_SOLVE:
        return "solve failed";
    case SUPPLE_ERROR_MEMORY:
        return "out of memory";
    case SUPPLE_ERROR_CANCELLED:
        return "cancelled";
    }
    return "unknown result";
}

/* Length of the valid UTF-8 sequence of a printable character at `s`, 0 if there is none. */
static size_t printable_length(const unsigned char *s)
{
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f;
    size_t n = s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0;
    uint32_t code = n ? s[0] & (0xffu >> (n + 1)) : 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    bool overlong = (n == 3 && code < 0x800) || (n == 4 && code < 0x10000);
    bool surrogate = code >= 0xd800 && code < 0xe000;
    bool c1_control = code < 0xa0;
    bool direction =
        (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069); /* can fake a terminal line */
    return overlong || surrogate || c1_control || direction || code > 0x10ffff ? 0 : n;
}

void spl_sanitise(char *text)
{
    unsigned char *s = (unsigned char *)text;
    while (*s) {
        size_t n = printable_length(s);
        if (n == 0) *s = '?';
        s += n ? n : 1;
    }
}

supple_result spl_fail(supple_error *error, supple_result code, const char *format, ...)
{
    if (!error) return code;
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    spl_sanitise(error->message);
    error->code = code;
    return code;
}

supple_result spl_fail_memory(supple_error *error, const char *what)
{
    return spl_fail(error, SUPPLE_ERROR_MEMORY, "out of memory for %s", what);
}

static void log_line(const supple_config *config, supple_log_level level, const char *format, va_list args)
{
    char line[512];
    vsnprintf(line, sizeof line, format, args);
    spl_sanitise(line);
    config->log(config->log_user, level, line);
}

void spl_log(const supple_config *config, supple_log_level level, const char *format, ...)
{
    if (!config || !config->log) return;
    va_list args;
    va_start(args, format);
    log_line(config, level, format, args);
    va_end(args);
}

void spl_log_verbose(const supple_config *config, supple_log_level level, const char *format, ...)
{
    if (!config || !config->log || !config->verbose) return;
    va_list args;
    va_start(args, format);
    log_line(config, level, format, args);
    va_end(args);
}

supple_result spl_progress(const supple_config *config, const char *stage, double fraction, supple_error *error)
{
    if (!config || !config->progress || config->progress(config->progress_user, stage, fraction)) return SUPPLE_OK;
    return *stage ? spl_fail(error, SUPPLE_ERROR_CANCELLED, "cancelled during %s", stage)
                  : spl_fail(error, SUPPLE_ERROR_CANCELLED, "cancelled");
}

supple_result spl_config_check(const supple_config *config, supple_error *error)
{
    if (!config) return SUPPLE_OK;
    if (config->cookie != CONFIG_COOKIE)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "config: start from supple_config_default()");
    if (config->thread_count < 0 || config->thread_count > MAX_THREADS)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "config: %d threads asked for; 0 (one per core) to %d are possible", (int)config->thread_count,
                        MAX_THREADS);
    const supple_allocator *a = &config->allocator;
    if ((a->allocate || a->reallocate || a->release) && !(a->allocate && a->reallocate && a->release))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "config: give all three functions of the allocator, or none");
    if (config->tasks.run && config->tasks.thread_count < 1)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "config: tasks.thread_count must be at least 1");
    return SUPPLE_OK;
}
