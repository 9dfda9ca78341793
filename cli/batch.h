/* `supple batch`: characters x clips x methods as jobs, each a `supple skin` of its own. The parts of its work, in
 * their order: which jobs (batch_plan.c, batch_jobs.c), what is there of them already (batch_record.c), the runs
 * (batch_run.c, batch_memory.c), and the report (batch_report.c, batch_page.c, batch_picture.c). */
#ifndef SUPPLE_CLI_BATCH_H
#define SUPPLE_CLI_BATCH_H

#include "cli.h"
#include "words.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

enum { CLI_BATCH_PATH = 4096, CLI_BATCH_NAME = 128, CLI_BATCH_KEY = 33, CLI_BATCH_LINE = 800, CLI_BATCH_TOLD = 8 };

typedef enum cli_batch_state {
    CLI_BATCH_WAITING,
    CLI_BATCH_RUNNING,
    CLI_BATCH_DONE,
    CLI_BATCH_FAILED,
} cli_batch_state;

/* What the entry of a list, or a character of a folder, asks for: jobs, once clips and methods are known. */
typedef struct cli_batch_entry {
    char *character; /* a whole path, or demo:NAME */
    char *name;      /* or NULL: made of character, clip and method */
    int number;      /* in its list, from 1; 0: of no list */
    cli_words clips, methods, endings, options;
} cli_batch_entry;

typedef struct cli_batch_job {
    char *character, *clip,
        *clip_name;     /* clip: as `skin` takes it, NULL: none is named; clip_name: as the file has it */
    const char *method; /* of `names` */
    char name[CLI_BATCH_NAME], key[CLI_BATCH_KEY];
    char *wanted; /* a name that was asked for, or NULL */
    int number;   /* of the entry it came from */
    cli_words endings, options;
    int32_t vertices; /* -1: not known */
    cli_batch_state state;
    bool resumed;   /* it was there when the batch began */
    json_t *record; /* of what was done, or of how it failed; NULL: neither */
    /* while it runs */
    pid_t pid;
    int pipe_end;
    double start, need_mb; /* seconds; what it was let in with */
    bool late;             /* it took too long, and was told to stop */
    double told_at;        /* when it was told to stop; 0: not yet */
    char line[CLI_BATCH_LINE], last[CLI_BATCH_LINE], told[CLI_BATCH_TOLD][CLI_BATCH_LINE]; /* what it said */
    size_t line_length;
    int told_count;
} cli_batch_job;

/* A character's file, looked into once. */
typedef struct cli_batch_character {
    char *path;
    bool loaded;
    int32_t vertices;
    cli_words clips, names; /* as `skin` takes them; as the file has them */
} cli_batch_character;

typedef struct cli_batch {
    const cli_arguments *arguments;
    supple_config config;
    char tool[CLI_BATCH_PATH], folder[CLI_BATCH_PATH]; /* where jobs go, a whole path */
    bool made_folder;                                  /* it was not there */
    cli_batch_job *job;
    int job_count, job_room;
    cli_batch_character *character;
    int character_count;
    cli_words methods;    /* names that jobs point to */
    json_t *contents;     /* hashes of files that were read, by path */
    int at_once, threads; /* jobs; threads of each, 0: as many as there are cores */
    double memory_mb;     /* that jobs may take together; 0: what is free */
    double limit_s, start;
    bool shown, pictures, single; /* progress; a sheet for the report; --job */
    bool no_memory;
} cli_batch;

double cli_batch_now(void);
int cli_batch_memory_error(void);

/* ---- batch_plan.c ---- */

/* The options that go to `skin` as they are: the first and the last + 1 of the verb's table. */
void cli_batch_passed(int *first, int *last);

/* Where the options of a command line, or of a list's entry, are wrong: what to say, with the option's name in it. NULL
 * where they are not. `value` is NULL for a switch. */
const char *cli_batch_wrong(const char *option, const char *value, char *room, size_t size);

/* A path made whole; demo:NAME as it is. To be freed; NULL without memory. */
char *cli_batch_whole(const char *folder, const char *path);

/* Whether an option's value is a file, which then is read. */
bool cli_batch_is_file(const char *option, const char *value);

/* Adds an entry's jobs. 0, or an exit code after a message. */
int cli_batch_expand(cli_batch *b, const cli_batch_entry *entry);

/* Every character of a folder, or the one that is named. The entry is the command line's, without a character. */
int cli_batch_folder(cli_batch *b, const char *path, cli_batch_entry *entry);

/* Gives every job a name that nothing else has, and its key. */
int cli_batch_name(cli_batch *b);

/* A name as a file may have it, on any system; false if it had to be changed. */
bool cli_batch_safe(const char *text, char out[CLI_BATCH_NAME]);

void cli_batch_entry_free(cli_batch_entry *entry);

/* ---- batch_jobs.c ---- */

/* A list of jobs. Options of the command line (in `asked`) go before its own. */
int cli_batch_jobs(cli_batch *b, const char *path, const cli_batch_entry *asked);

/* ---- batch_record.c ---- */

/* What decides about a job's bytes, as 32 hexadecimal digits: version, arguments and the contents of all files. */
void cli_batch_make_key(cli_batch *b, cli_batch_job *job);

/* Looks for what is there of a job: its state, and its record. */
void cli_batch_look(const cli_batch *b, cli_batch_job *job);

/* Makes the job's folder and clears it of what an earlier run of other arguments left. 0 or an exit code. */
int cli_batch_clear(const cli_batch *b, cli_batch_job *job, char *reason, size_t size);

/* Keeps what a run came to. `code` 0: done, with the files that are there; else how it failed. */
void cli_batch_keep(const cli_batch *b, cli_batch_job *job, int code, double processor_s, double peak_mb);

/* A file of a job: "" and its name is the folder. False if the path is too long. */
bool cli_batch_path(const cli_batch *b, const cli_batch_job *job, const char *name, char out[CLI_BATCH_PATH]);

/* ---- batch_memory.c ---- */

/* What a job will take at most, in MB: what like ones took, else by its size. */
double cli_batch_need(const cli_batch *b, const cli_batch_job *job);

/* By its size alone: vertices (-1: not known) and, where they are more than usual, tetrahedra. */
double cli_batch_estimate(const char *method, int32_t vertices, double tets);

/* What is free for jobs now, in MB, less what those that run have yet to take. */
double cli_batch_free(const cli_batch *b);

/* The first that waits and fits, of `count`; where none runs, the first that waits. -1: none. */
int cli_batch_pick(const double *need_mb, const bool *waits, int count, double free_mb, int running);

/* ---- batch_run.c ---- */

/* The words of a job's `supple skin`. */
bool cli_batch_command(const cli_batch *b, const cli_batch_job *job, cli_words *out);

/* The words of a line that does the job by itself: `supple batch ... --job NAME`. */
void cli_batch_line(const cli_batch *b, const cli_batch_job *job, cli_words *out);

/* Runs what waits. False where it was interrupted. */
bool cli_batch_run(cli_batch *b);

/* ---- batch_report.c, batch_page.c, batch_picture.c ---- */

/* A run's worst values, of what --metrics wrote; NULL if that cannot be read. */
json_t *cli_batch_summary(const char *metrics);

/* Both reports. 0 or an exit code after a message. */
int cli_batch_report(cli_batch *b);

/* The page of a report, to be freed; NULL without memory. */
char *cli_batch_page(const cli_batch *b, const json_t *report, cli_batch_job *const *order, size_t *size);

/* A contact sheet made small, as a PNG to be freed; NULL where it is none. */
void *cli_batch_picture(const char *path, size_t *size);

#endif
