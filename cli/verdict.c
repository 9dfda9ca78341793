#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was worse of a part. */
typedef struct part_verdict {
    int frames;         /* in which it was */
    int first, last;    /* of those */
    const char *reason; /* of the first; NULL: never */
    const char *clip;
} part_verdict;

struct cli_verdict {
    const supple_sim *sim;
    int frames, worse; /* that were measured; that were worse */
    double trust;      /* the least of all frames */
    int32_t part_count;
    part_verdict part[]; /* by part */
};

/* ---- --amount ---- */

int cli_amounts(const cli_arguments *arguments, supple_part_amount *room, supple_sim_config *sc)
{
    static char names[CLI_MAX_VALUES][128];
    const char *text;
    sc->amounts = room;
    for (int i = 0; (text = cli_get(arguments, "--amount", i)); i++) {
        const char *equals = strrchr(text, '=');
        size_t length = equals ? (size_t)(equals - text) : 0;
        double amount;
        if (strcmp(text, "color") == 0) {
            sc->amount_by_color = true;
            continue;
        }
        if (!cli_number(equals ? equals + 1 : text, 0, 1, &amount) || (equals && length == 0) ||
            length >= sizeof names[i])
            return cli_usage_error("--amount %.80s: takes X, PART=X (X from 0 to 1) or color", text);
        if (!equals) {
            sc->amount = amount;
            continue;
        }
        snprintf(names[i], sizeof names[i], "%.*s", (int)length, text);
        room[sc->amount_count++] = (supple_part_amount){names[i], amount};
    }
    return 0;
}

/* ---- the verdict ---- */

cli_verdict *cli_verdict_new(const supple_sim *sim)
{
    int32_t parts = supple_sim_part_count(sim);
    cli_verdict *v = calloc(1, sizeof *v + (size_t)parts * sizeof *v->part);
    if (!v) return NULL;
    v->sim = sim;
    v->trust = 1;
    v->part_count = parts;
    return v;
}

void cli_verdict_free(cli_verdict *v)
{
    free(v);
}

/* The part that has most of what the whole exceeds its bound by. */
static int32_t worst_part(const cli_verdict *v, const supple_sim *sim, const char *reason)
{
    int32_t worst = 0;
    double most = -1;
    for (int32_t i = 0; i < v->part_count; i++) {
        supple_harm h;
        if (!supple_sim_part_harm(sim, i, &h)) continue;
        double amount = strcmp(reason, "torn") == 0        ? h.torn
                        : strcmp(reason, "stretched") == 0 ? h.stretched
                        : strcmp(reason, "folded") == 0    ? h.folded
                        : strcmp(reason, "lost") == 0      ? h.lost
                        : strcmp(reason, "cracked") == 0   ? h.cracks
                                                           : h.far;
        if (amount > most) {
            most = amount;
            worst = i;
        }
    }
    return worst;
}

void cli_verdict_frame(cli_verdict *v, const supple_sim *sim, const char *clip, int frame)
{
    const supple_stats *s = supple_sim_stats(sim);
    if (s->harm.torn < 0) return;
    v->frames++;
    if (s->trust < v->trust) v->trust = s->trust;
    const char *reason = supple_sim_worse(sim);
    if (!reason) return;
    v->worse++;
    int32_t at = worst_part(v, sim, reason);
    if (at >= v->part_count) return;
    part_verdict *p = &v->part[at];
    if (!p->reason) *p = (part_verdict){.first = frame, .reason = reason, .clip = clip};
    p->last = frame;
    p->frames++;
}

bool cli_verdict_tell(const cli_verdict *v, const supple_config *config)
{
    char line[400], trust[80] = "";
    if (v->frames == 0) return true;
    if (v->trust < 1) snprintf(trust, sizeof trust, "; %.0f%% of its flesh is trusted in full", floor(v->trust * 100));
    if (v->worse == 0) {
        snprintf(line, sizeof line, "nowhere worse than the file's own skinning%s", trust);
        config->log(NULL, SUPPLE_LOG_INFO, line);
        return true;
    }
    size_t used = (size_t)snprintf(line, sizeof line,
                                   "worse than the file's own skinning in %d of %d frames:", v->worse, v->frames);
    for (int32_t i = 0, said = 0; i < v->part_count && said < 3 && used < sizeof line - 120; i++) {
        const part_verdict *p = &v->part[i];
        if (!p->reason) continue;
        used +=
            (size_t)snprintf(line + used, sizeof line - used, "%s %.40s is %s (%s, frame%s %d", said++ ? ";" : "",
                             supple_sim_part_name(v->sim, i), p->reason, p->clip, p->frames > 1 ? "s" : "", p->first);
        if (p->frames > 1) used += (size_t)snprintf(line + used, sizeof line - used, " to %d", p->last);
        used += (size_t)snprintf(line + used, sizeof line - used, ")");
    }
    snprintf(line + used, sizeof line - used, "%s", trust);
    config->log(NULL, SUPPLE_LOG_WARNING, line);
    return false;
}
