#include "compare_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char REPLACED[] = "\xef\xbf\xbd", DASH[] = "\xe2\x80\x93", MINUS[] = "\xe2\x88\x92",
                  THIN[] = "\xe2\x80\xaf";

/* ---- numbers ---- */

cli_html_show cli_html_show_named(const char *name)
{
    static const char *const names[] = {"short", "grouped", "duration", "percent", "thousandths"};
    for (int i = 0; name && i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(name, names[i]) == 0) return (cli_html_show)i;
    return CLI_HTML_SHORT;
}

static void put_short(char *out, double x, const char *unit)
{
    double size = fabs(x);
    if (size > 0 && size < 0.001)
        snprintf(out, CLI_HTML_NUMBER, "%s%s0.001%s", x > 0 ? "<" : ">", x > 0 ? "" : MINUS, unit);
    else
        snprintf(out, CLI_HTML_NUMBER, size >= 1e6 ? "%.1e%s" : size >= 99.95 ? "%.0f%s" : "%.3g%s", x, unit);
}

static void put_grouped(char *out, double x)
{
    char digits[CLI_HTML_NUMBER];
    size_t count = (size_t)snprintf(digits, sizeof digits, "%.0f", fabs(x) < 1e12 ? x : 0), used = 0;
    for (size_t i = 0; i < count; i++) {
        out[used++] = digits[i];
        if ((count - i) % 3 == 1 && i + 1 < count && digits[i] != '-') {
            memcpy(out + used, THIN, 3);
            used += 3;
        }
    }
    out[used] = 0;
}

static void put_duration(char *out, double ms)
{
    if (ms >= 120e3)
        put_short(out, ms / 60e3, " min");
    else if (ms >= 1000)
        put_short(out, ms / 1000, " s");
    else
        put_short(out, ms, " ms");
}

const char *cli_html_number(char out[CLI_HTML_NUMBER], cli_html_show show, double value)
{
    if (!isfinite(value))
        snprintf(out, CLI_HTML_NUMBER, "%s", DASH);
    else if (show == CLI_HTML_GROUPED)
        put_grouped(out, value);
    else if (show == CLI_HTML_DURATION)
        put_duration(out, value);
    else
        put_short(out, value * (show == CLI_HTML_PERCENT ? 100 : show == CLI_HTML_THOUSANDTHS ? 1000 : 1), "");
    return out;
}

/* ---- texts ---- */

/* Bytes of a character that a text from a file may not bring: U+0000 to 1F and 7F to 9F, U+200E, 200F, 202A to 202E and
 * 2066 to 2069. 0: none. */
static int unwanted(const char *text)
{
    const unsigned char *t = (const unsigned char *)text;
    if (t[0] < 0x20 || t[0] == 0x7f) return 1;
    if (t[0] == 0xc2 && t[1] >= 0x80 && t[1] <= 0x9f) return 2;
    if (t[0] != 0xe2) return 0;
    if (t[1] == 0x80 && (t[2] == 0x8e || t[2] == 0x8f || (t[2] >= 0xaa && t[2] <= 0xae))) return 3;
    return t[1] == 0x81 && t[2] >= 0xa6 && t[2] <= 0xa9 ? 3 : 0;
}

static const char *entity(char c)
{
    return c == '&'    ? "&amp;"
           : c == '<'  ? "&lt;"
           : c == '>'  ? "&gt;"
           : c == '"'  ? "&quot;"
           : c == '\'' ? "&#39;"
                       : NULL;
}

static void put_span(FILE *out, const char *text, const char *end)
{
    while (text < end) {
        const char *escaped = entity(*text);
        int bytes = unwanted(text);
        if (escaped || bytes)
            fputs(escaped ? escaped : REPLACED, out);
        else
            putc(*text, out);
        text += bytes ? bytes : 1;
    }
}

void cli_html_text(FILE *out, const char *text)
{
    put_span(out, text, text + strlen(text));
}

void cli_html_sentence(FILE *out, const char *text)
{
    for (const char *open, *close; (open = strchr(text, '`')) && (close = strchr(open + 1, '`')); text = close + 1) {
        put_span(out, text, open);
        fputs("<code>", out);
        put_span(out, open + 1, close);
        fputs("</code>", out);
    }
    cli_html_text(out, text);
}
