#include "man.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the last change to the words below that no table drives. */
#define MAN_DATE "2026-11-16"

char *cli_notes(const cli_verb *verb)
{
    if (!verb->notes) return NULL;
    FILE *file = tmpfile(); /* notes() prints on stdout, which is put aside meanwhile */
    char *text = NULL;
    fflush(stdout);
    int kept = file ? dup(STDOUT_FILENO) : -1;
    if (kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0) {
        verb->notes();
        fflush(stdout);
        dup2(kept, STDOUT_FILENO);
        long size = lseek(fileno(file), 0, SEEK_END);
        text = size > 0 ? calloc((size_t)size + 1, 1) : NULL;
        if (text && pread(fileno(file), text, (size_t)size, 0) != size) text[0] = 0;
    }
    if (kept >= 0) close(kept);
    if (file) fclose(file);
    return text;
}

/* Text as roff takes it: backslashes, hyphens of options, and what would begin a request. */
static void put_text(const char *text, size_t length)
{
    if (length && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
    for (size_t i = 0; i < length; i++) {
        bool option = text[i] == '-' && (i == 0 || !isalnum((unsigned char)text[i - 1]));
        if (text[i] == '\\')
            fputs("\\e", stdout);
        else if (option)
            fputs("\\-", stdout);
        else if (text[i] == '^' || text[i] == '~') /* else set as accents */
            fputs(text[i] == '^' ? "\\(ha" : "\\(ti", stdout);
        else if (text[i] == '`')
            fputs("\\(ga", stdout);
        else
            putchar(text[i]);
    }
}

static void put_line(const char *text)
{
    put_text(text, strlen(text));
    putchar('\n');
}

/* A tagged paragraph: the first `bold` characters of the tag in bold, the rest of it as it is. */
static void put_item(const char *tag, size_t length, size_t bold, const char *text)
{
    printf(".TP\n\\fB");
    put_text(tag, bold);
    printf("\\fR");
    put_text(tag + bold, length - bold);
    putchar('\n');
    put_line(text);
}

static void put_options(const cli_verb *verb)
{
    for (int i = 0; i < verb->option_count; i++) {
        const cli_option *o = &verb->options[i];
        char tag[96];
        int length =
            snprintf(tag, sizeof tag, "%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        put_item(tag, (size_t)length, strlen(o->name), o->help);
    }
}

/* Where the tag of a line in two columns ends: at two blanks, or, in an indented line, at the first one; 0 if nowhere.
 */
static size_t tag_length(const char *line, bool indented)
{
    const char *gap = strstr(line, "  ");
    if (!gap && indented) gap = strchr(line, ' ');
    return gap ? (size_t)(gap - line) : 0;
}

/* One line of what a verb prints below its options: by its indentation an item, an item of an item, or prose. */
static void put_note(const char *line, int *level)
{
    int indent = (int)strspn(line, " "), wanted = indent >= 4 ? 1 : 0;
    const char *text = line + indent;
    size_t tag = *text ? tag_length(text, indent > 0) : 0;
    if (*text && wanted != *level) {
        puts(wanted ? ".RS" : ".RE");
        *level = wanted;
    }
    if (!*text) return;
    if (tag)
        put_item(text, tag, tag, text + tag + strspn(text + tag, " "));
    else if (indent == 0 && text[strlen(text) - 1] == ':') {
        printf(".PP\n\\fI");
        put_text(text, strlen(text));
        puts("\\fR");
    } else
        put_line(text);
}

static void put_notes(const cli_verb *verb)
{
    char *notes = cli_notes(verb), *rest = notes;
    int level = 0;
    bool begun = false, blank = true;
    for (char *line; notes && (line = strsep(&rest, "\n"));) {
        size_t length = strlen(line);
        bool prose = length && *line != ' ' && !strstr(line, "  ") && line[length - 1] != ':';
        if (prose && blank) puts(".PP");
        blank = length == 0;
        begun = begun || length > 0;
        if (begun) put_note(line, &level);
    }
    if (level) puts(".RE");
    free(notes);
}

static void put_verb(const cli_verb *verb)
{
    char title[32];
    snprintf(title, sizeof title, "supple %s", verb->name);
    printf(".SS %s\n.B %s\n", title, title);
    put_line(verb->usage);
    printf(".PP\n%c", toupper((unsigned char)verb->summary[0]));
    put_text(verb->summary + 1, strlen(verb->summary + 1));
    puts(".");
    put_options(verb);
    put_notes(verb);
}

static const char head[] = ".SH NAME\nsupple \\- physics\\-based skinning for rigged characters\n.SH SYNOPSIS\n";
static const char description[] =
    ".SH DESCRIPTION\n"
    "Supple takes a rigged, animated character and gives it flesh: volume that is kept, joints that fold without\n"
    "collapsing, contact that is resolved, tissue that swings, skin that slides. The character comes back as a file\n"
    "that viewers play, or as a cache for other programs.\n"
    ".PP\nA value follows its option after a blank or after an equals sign. Words after \\fB\\-\\-\\fR are no "
    "options.\n"
    ".SH VERBS\n";
static const char tail[] =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\ndone\n"
    ".TP\n.B 1\nbench \\-\\-compare with \\-\\-fail only: something is slower\n"
    ".TP\n.B 2\nwrong command line\n"
    ".TP\n.B 3\nbad input file\n"
    ".TP\n.B 4\nan output that cannot be written\n"
    ".TP\n.B 5\na solve that failed, or memory that ran out\n"
    ".TP\n.B 130\nstopped by Ctrl\\-C; unfinished files are removed\n"
    ".PP\nEvery failure is one line on standard error. Files appear whole or not at all.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B SUPPLE_CACHE\nthe folder of the cache; else \\fI$XDG_CACHE_HOME/supple\\fR, else \\fI~/.cache/supple\\fR\n"
    ".TP\n.B SUPPLE_IMPORT\nthe program that reads FBX and Collada, where it does not lie beside the library\n"
    ".SH EXAMPLES\n"
    ".nf\n"
    "supple skin demo:hero \\-o hero.glb \\-o hero.png\n"
    "supple info my.glb\n"
    "supple skin my.glb \\-\\-clip Walk \\-\\-method projective \\-\\-dynamics on \\-o walk.glb\n"
    ".fi\n";

int cli_print_man(const cli_verb *const *verbs, int count)
{
    printf(".TH SUPPLE 1 " MAN_DATE " \"Supple %s\" \"User Commands\"\n.nh\n.ad l\n%s", supple_version(), head);
    for (int i = 0; i < count; i++) {
        printf("%s.B supple %s\n", i ? ".br\n" : "", verbs[i]->name);
        put_line(verbs[i]->usage);
    }
    fputs(description, stdout);
    for (int i = 0; i < count; i++) put_verb(verbs[i]);
    fputs(tail, stdout);
    return 0;
}
