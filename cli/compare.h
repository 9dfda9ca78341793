/* `supple compare`: every method on the same clips, as a page and as JSON. The parts of its work, in their order:
 * children that run the methods (compare_run.c), what their frames say (compare_frames.c), pictures (compare_views.c),
 * words (compare_advice.c), and the report (compare_report.c, compare_page.c, compare_plain.c). */
#ifndef SUPPLE_CLI_COMPARE_H
#define SUPPLE_CLI_COMPARE_H

#include "cli.h"
#include "compare_advice.h"
#include "compare_blobs.h"

#include <jansson.h>

enum { CLI_COMPARE_METHODS = 16, CLI_COMPARE_PATH = 4096, CLI_COMPARE_NOTE = 800, CLI_COMPARE_NOTES = 16 };

/* The frames of one clip that a child wrote: a .npy file of float32, frames x points x 3. */
typedef struct cli_frames {
    int file; /* -1: none */
    int64_t offset;
    int32_t rows, points;
} cli_frames;

typedef struct cli_compare_method {
    const char *name, *summary;
    int32_t index; /* as supple_method_name has it */
    bool ran;
    char note[CLI_COMPARE_NOTE];    /* why it did not run, or what to know; "" for nothing */
    json_t *metrics;                /* what --metrics of its run says, with an entry for every frame */
    int32_t stride;                 /* it ran on frames whose number is a multiple of this */
    cli_frames *frames;             /* one a clip */
    json_t *positions;              /* of the page; NULL without one */
    double *error_mean, *error_max; /* one a frame of all clips, metres; NAN where there is none. NULL: no reference */
} cli_compare_method;

typedef struct cli_compare {
    const cli_arguments *arguments;
    const char *input, *output;                                   /* output NULL: no page */
    char tool[CLI_COMPARE_PATH], template_path[CLI_COMPARE_PATH]; /* no template: "" */
    char folder[1024];                                            /* where the children write; "" while there is none */
    bool json, shown;                                             /* to stdout; progress on stderr */
    supple_config config;
    supple_scene *scene;
    supple_report *report;
    int32_t motion; /* the clip of --motion, or -1 */
    double fps, reference_s, page_mb, start;
    double metre, size_m; /* metres a unit of the file, and the character's diagonal in the solver */
    supple_range *ranges;
    int range_count, frame_total;
    cli_compare_method method[CLI_COMPARE_METHODS];
    int method_count;
    char notes[CLI_COMPARE_NOTES][CLI_COMPARE_NOTE]; /* on the report as a whole */
    int note_count;
    cli_blobs blobs;
    json_t *views, *mesh; /* of the page; NULL without one */
} cli_compare;

/* Seconds since some moment. */
double cli_compare_now(void);

/* Adds a line about the report as a whole; what does not fit is left out. */
void cli_compare_tell(cli_compare *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds to a note, after "; " where there is something already. */
void cli_compare_note(cli_compare_method *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* cli_fail, but silent on Ctrl-C, which is told once at the end. */
int cli_compare_fail(const supple_error *error);

/* The method that others are measured against, if it ran; else NULL. */
const cli_compare_method *cli_compare_reference(const cli_compare *c);

/* ---- compare_run.c ---- */

/* Runs every method in a child of its own. Methods that fail have a note. Returns 0, the exit code of the first failure
 * where no method ran, or 130 once Ctrl-C was pressed; with a message. */
int cli_compare_run(cli_compare *c);

/* Whether a method takes a setting, "KEY=VALUE"; the body's are taken by all. */
bool cli_compare_takes(int32_t method, const char *setting);

/* ---- compare_frames.c ---- */

/* Opens a child's frames; false if that is no such array of so many rows. */
bool cli_frames_open(cli_frames *frames, const char *path, int32_t rows);
void cli_frames_close(cli_frames *frames);

/* Reads frame `index` of a clip's range, 3 floats a point in cache order; false where the method did not run it. */
bool cli_compare_frame(const cli_compare *c, const cli_compare_method *m, int range, int32_t index, float *out);

/* Fills the errors of all methods against the reference. Returns 0 or an exit code after a message. */
int cli_compare_errors(cli_compare *c);

/* ---- compare_views.c, compare_mesh.c ---- */

/* Draws all pictures into blobs and lists them in `views`. Returns 0 or an exit code after a message, as all here. */
int cli_compare_views(cli_compare *c);

/* The player's mesh into blobs and `mesh`, with or without textures. */
int cli_compare_mesh(cli_compare *c, const supple_display *display, bool textures);

/* Its vertices in every `thin`-th frame of every method into blobs and the methods' `positions`. */
int cli_compare_positions(cli_compare *c, const supple_display *display, int32_t thin);

/* ---- compare_report.c ---- */

/* A method's row of the table. */
void cli_compare_summarise(const cli_compare *c, const cli_compare_method *m, cli_summary *s);

/* A name or message as JSON. It may be no UTF-8, or cut within a character: such bytes become '?'. */
json_t *cli_compare_string(const char *text);

/* The report as JSON; NULL without memory. `blobs` says whether it refers to blobs. */
json_t *cli_compare_json(const cli_compare *c, bool blobs);

/* The page: blobs, pictures and the report set into the template. Returns 0 or an exit code after a message. */
int cli_compare_page(cli_compare *c);

/* The page without a template: pictures and tables, no player. The same. */
int cli_compare_plain(cli_compare *c);

/* Tells that the page does not fit into its limit; the exit code. */
int cli_compare_too_large(const cli_compare *c);

/* What the measured numbers recommend; false if no method ran that could be. */
bool cli_compare_advice(const cli_compare *c, cli_advice *advice);

/* JSON as text in which no '<' occurs, to be freed; NULL without memory. */
char *cli_compare_text(const json_t *report);

#endif
