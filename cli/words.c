#include "words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool grow(cli_words *w)
{
    if (w->count + 1 < w->room) return true;
    int room = w->room ? 2 * w->room : 16;
    char **larger = realloc(w->word, (size_t)room * sizeof *larger);
    if (!larger) return false;
    w->word = larger;
    w->room = room;
    return true;
}

void cli_words_add(cli_words *words, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) text = NULL; /* what it points to is undefined then */
    if (!text || !grow(words)) {
        words->failed = true;
        free(text);
        return;
    }
    words->word[words->count++] = text;
    words->word[words->count] = NULL;
}

bool cli_words_have(const cli_words *words, const char *word)
{
    for (int i = 0; i < words->count; i++)
        if (strcmp(words->word[i], word) == 0) return true;
    return false;
}

void cli_words_append(cli_words *words, const cli_words *more)
{
    for (int i = 0; i < more->count; i++) cli_words_add(words, "%s", more->word[i]);
    words->failed = words->failed || more->failed;
}

void cli_words_free(cli_words *words)
{
    for (int i = 0; i < words->count; i++) free(words->word[i]);
    free(words->word);
    *words = (cli_words){0};
}

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    return *word && strspn(word, plain) == strlen(word) && *word != '=';
}

static bool has_control(const char *word)
{
    for (; *word; word++)
        if (iscntrl((unsigned char)*word)) return true;
    return false;
}

/* "$(printf %b 'a\0012b')". What comes out of $() loses newlines at its end: callers name no clip or file that ends in
 * one (a path ends in ".glb", such a clip goes by its number). */
static void put_spelled(FILE *out, const char *word)
{
    fputs("\"$(printf %b '", out);
    for (const unsigned char *c = (const unsigned char *)word; *c; c++) {
        if (isalnum(*c) || strchr("_-+=:,./@", *c))
            putc(*c, out);
        else
            fprintf(out, "\\0%03o", *c);
    }
    fputs("')\"", out);
}

void cli_words_quote(FILE *out, const char *word)
{
    if (is_plain(word)) {
        fputs(word, out);
        return;
    }
    if (has_control(word)) {
        put_spelled(out, word);
        return;
    }
    putc('\'', out); /* within quotes only the quote itself means something: it becomes '\'' */
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    }
    putc('\'', out);
}

void cli_words_line(FILE *out, const cli_words *words)
{
    for (int i = 0; i < words->count; i++) {
        if (i) putc(' ', out);
        cli_words_quote(out, words->word[i]);
    }
    putc('\n', out);
}
