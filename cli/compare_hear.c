#include "compare_hear.h"

#include "compare.h"
#include "progress.h"

#include <stdio.h>
#include <string.h>

/* Frames after which the time of the rest is foretold, and the share of the limit after which it is with fewer. */
enum { ENOUGH = 6 };
static const double WAIT = 0.3;

double cli_hear_frame_s(const cli_hearing *h)
{
    double passed = cli_compare_now() - h->start,
           done = h->frames > 1 ? (h->now_s - h->first_s) / (h->frames - 1) : h->first_s;
    double with_current = h->frames > 0 ? (passed - h->first_s) / h->frames : passed;
    return with_current > done ? with_current : done;
}

/* "CLIP  frame 3/60  1.2 frames/s  0:47 left" */
static void take_progress(cli_hearing *h)
{
    const char *at = NULL, *next = h->line;
    while ((next = strstr(next, "  frame "))) at = next++; /* the name of a clip may have the word in it */
    int done, total;
    if (at && sscanf(at, "  frame %d/%d", &done, &total) == 2 && done > 0) {
        if (done != h->done || total != h->total) {
            h->frames += done > h->done ? done - h->done : done; /* the next clip counts from 1 again */
            h->now_s = cli_compare_now() - h->start;
            if (h->first_s <= 0) h->first_s = h->now_s;
        }
        h->done = done;
        h->total = total;
    }
    char text[2 * CLI_HEAR_LINE];
    snprintf(text, sizeof text, "%s  %s", h->label, h->line);
    if (h->shown) cli_progress_line(text);
}

static void take_message(cli_hearing *h)
{
    static const char prefix[] = "supple: ", warning[] = "warning: ";
    const char *text = h->line;
    if (strncmp(text, prefix, sizeof prefix - 1) == 0) text += sizeof prefix - 1;
    if (strncmp(text, warning, sizeof warning - 1) != 0) {
        snprintf(h->last, sizeof h->last, "%s", text);
        return;
    }
    text += sizeof warning - 1;
    if (h->frames == 0) {
        if (h->setup_count < CLI_HEAR_WARNINGS) snprintf(h->setup_warning[h->setup_count++], CLI_HEAR_LINE, "%s", text);
        return;
    }
    size_t used = strlen(h->frame_warnings);
    snprintf(h->frame_warnings + used, sizeof h->frame_warnings - used, "%s%s", used ? "; " : "", text);
}

/* Progress ends in "\033[K" (erase to the end of the line), a message in a newline; both may follow a "\r". */
static void take(cli_hearing *h, char c)
{
    if (h->escape > 0 || c == '\033') {
        bool ended = h->escape >= 2 && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
        h->escape = ended ? 0 : h->escape + 1;
        if (!ended || c != 'K' || h->used == 0) return;
        h->line[h->used] = 0;
        take_progress(h);
        h->used = 0;
    } else if (c == '\n' || c == '\r') {
        h->line[h->used] = 0;
        if (c == '\n' && h->used > 0) take_message(h);
        h->used = 0;
    } else if (h->used < sizeof h->line - 1) {
        h->line[h->used++] = (unsigned char)c < ' ' || c == 127 ? '?' : c;
    }
}

/* Whether the rest cannot be done in time, once enough was seen to tell. */
static bool too_slow(const cli_hearing *h)
{
    double passed = cli_compare_now() - h->start;
    if (passed > h->limit_s) return true;
    bool enough = h->frames >= ENOUGH || (h->frames >= 2 && passed > WAIT * h->limit_s);
    return enough && h->now_s + (h->rows - h->frames) * cli_hear_frame_s(h) > h->limit_s;
}

bool cli_hear(void *hearing, const char *text, size_t size)
{
    cli_hearing *h = hearing;
    for (size_t i = 0; i < size; i++) take(h, text[i]);
    if (!h->over && h->limit_s > 0 && too_slow(h)) h->over = true;
    return !h->over;
}
