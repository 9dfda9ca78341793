/* What `skin` takes by itself is advised, unless it came out worse than the file's own skinning: one rule for both.
 * What the numbers alone would advise is told beside it; without a choice of `skin` it is the advice.
 *
 * The numbers are asked by a short list of rules. Each has a number that should be small and a limit up to which it is
 * as good as the best; the rules are asked in order, and each leaves only the methods within its limit. `reference`
 * takes no part: it is what the others are measured against. */
#include "compare_advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 32 };

typedef struct choice {
    const cli_advice_case *asked;
    bool left[MOST]; /* by the rules so far */
    int best;
    cli_advice *out;
} choice;

static double worse(const cli_summary *s)
{
    return s->worse;
}

static double penetration(const cli_summary *s)
{
    return s->penetration;
}

static double volume_lost(const cli_summary *s)
{
    return 1 - s->joint_volume;
}

static double error_mean(const cli_summary *s)
{
    return s->error_mean;
}

static double error_max(const cli_summary *s)
{
    return s->error_max;
}

static double frame_time(const cli_summary *s)
{
    return s->ms_median;
}

/* What is always good enough. A millimetre of penetration is less than the skin's own thickness; a tenth of a joint's
 * volume is hard to see; a hundredth of the diagonal is what contact alone may move a surface from a reference that has
 * none; and a method that keeps up with the clip is quick enough. */
static double fine_worse(const cli_advice_case *a)
{
    (void)a;
    return 0;
}

static double fine_penetration(const cli_advice_case *a)
{
    (void)a;
    return 0.001;
}

static double fine_volume(const cli_advice_case *a)
{
    (void)a;
    return 0.1;
}

static double fine_error(const cli_advice_case *a)
{
    return 0.01 * a->size_m;
}

/* Where nothing touches, `reference` is right everywhere, and its largest distance counts too. */
static double fine_error_max(const cli_advice_case *a)
{
    for (int i = 0; i < a->method_count; i++)
        if (a->method[i].penetration > fine_penetration(a)) return INFINITY;
    return 0.01 * a->size_m;
}

static double fine_time(const cli_advice_case *a)
{
    return a->frame_ms;
}

static const struct rule {
    double (*value)(const cli_summary *s);
    double (*fine)(const cli_advice_case *asked);
    double factor; /* times the least value is as good as the least */
} rules[] = {
    {worse, fine_worse, 1},      {penetration, fine_penetration, 2}, {volume_lost, fine_volume, 1.5},
    {error_mean, fine_error, 2}, {error_max, fine_error_max, 2},     {frame_time, fine_time, 1},
};
enum { RULES = sizeof rules / sizeof *rules };

/* Those that have no number lose to those that have one. */
static void apply(choice *c, const struct rule *rule)
{
    const cli_summary *m = c->asked->method;
    double least = NAN, fine = rule->fine(c->asked);
    for (int i = 0; i < c->asked->method_count; i++)
        if (c->left[i]) least = fmin(least, rule->value(&m[i]));
    if (!isfinite(least)) return;
    double limit = fmax(fine, rule->factor * least);
    for (int i = 0; i < c->asked->method_count; i++) c->left[i] = c->left[i] && rule->value(&m[i]) <= limit;
}

/* The method that the rules leave of those whose frames take no more than `most` milliseconds; -1: there is none. */
static int choose(choice *c, double most)
{
    const cli_advice_case *a = c->asked;
    int best = -1;
    for (int i = 0; i < a->method_count; i++)
        c->left[i] =
            a->method[i].ran && strcmp(a->method[i].name, "reference") != 0 && !(a->method[i].ms_median > most);
    for (int r = 0; r < RULES; r++) apply(c, &rules[r]);
    for (int i = 0; i < a->method_count; i++) {
        if (!c->left[i]) continue;
        if (best < 0 || a->method[i].ms_median < a->method[best].ms_median) best = i;
    }
    return best;
}

/* What `skin` would take, if it ran and is nowhere worse; -1 if not. */
static int choice_of_skin(const cli_advice_case *a)
{
    for (int i = 0; a->chosen && i < a->method_count; i++)
        if (a->method[i].ran && strcmp(a->method[i].name, a->chosen) == 0) return a->method[i].worse > 0 ? -1 : i;
    return -1;
}

/* ---- words ---- */

static void __attribute__((format(printf, 2, 3))) give(choice *c, const char *format, ...)
{
    if (c->out->reason_count == CLI_ADVICE_REASONS) return;
    va_list args;
    va_start(args, format);
    vsnprintf(c->out->reason[c->out->reason_count++], CLI_ADVICE_TEXT, format, args);
    va_end(args);
}

typedef struct words {
    char text[48];
} words;

static words length_of(double metres)
{
    words w;
    double mm = 1000 * metres;
    if (mm < 0.05)
        snprintf(w.text, sizeof w.text, "less than 0.1 mm");
    else
        snprintf(w.text, sizeof w.text, mm < 10 ? "%.1f mm" : "%.0f mm", mm);
    return w;
}

static words time_of(double ms)
{
    words w;
    if (ms >= 10000)
        snprintf(w.text, sizeof w.text, "%.0f s", ms / 1000);
    else if (ms >= 1000)
        snprintf(w.text, sizeof w.text, "%.1f s", ms / 1000);
    else
        snprintf(w.text, sizeof w.text, ms < 0.1 ? "%.2f ms" : ms < 10 ? "%.1f ms" : "%.0f ms", ms);
    return w;
}

/* The other method with the largest (or smallest) value; NULL where none has one. */
static const cli_summary *other(const choice *c, double (*value)(const cli_summary *), bool largest)
{
    const cli_summary *found = NULL;
    for (int i = 0; i < c->asked->method_count; i++) {
        const cli_summary *s = &c->asked->method[i];
        if (i == c->best || !s->ran || strcmp(s->name, "reference") == 0 || !isfinite(value(s))) continue;
        if (!found || (largest ? value(s) > value(found) : value(s) < value(found))) found = s;
    }
    return found;
}

static const cli_summary *reference_of(const choice *c)
{
    for (int i = 0; i < c->asked->method_count; i++)
        if (c->asked->method[i].ran && strcmp(c->asked->method[i].name, "reference") == 0) return &c->asked->method[i];
    return NULL;
}

/* Whose choice it is, and what the numbers alone would say. */
static void say_choice(choice *c, const cli_summary *s, const cli_summary *first)
{
    if (c->asked->chosen && strcmp(s->name, c->asked->chosen) == 0) {
        if (first == s)
            give(c, "It is what `skin` takes by itself, and first by the numbers below.");
        else
            give(c,
                 "It is what `skin` takes by itself; by the numbers alone `%s` would be first: %s of penetration, %s a "
                 "frame.",
                 first->name, length_of(isfinite(first->penetration) ? first->penetration : 0).text,
                 time_of(first->ms_median).text);
    } else if (c->asked->chosen)
        give(c, "`skin` takes `%s` by itself, which did not run here or is worse than the file's own skinning.",
             c->asked->chosen);
    if (s->worse > 0)
        give(c, "In %.0f frames it is worse than the file's own skinning.", s->worse);
    else if (s->trust < 1)
        give(c, "It is nowhere worse than the file's own skinning; %.0f%% of its flesh is trusted in full.",
             floor(100 * s->trust));
    else if (s->trust == 1)
        give(c, "It is nowhere worse than the file's own skinning, with all of its flesh.");
}

static void say_penetration(choice *c, const cli_summary *s)
{
    const cli_summary *worst = other(c, penetration, true), *reference = reference_of(c);
    if (!isfinite(s->penetration)) return;
    if (worst && worst->penetration > fmax(2 * s->penetration, 0.001))
        give(c, "`%s` leaves %s of penetration where `%s` has %s.", s->name, length_of(s->penetration).text,
             worst->name, length_of(worst->penetration).text);
    else if (s->penetration > 0.001)
        give(c, "`%s` leaves %s of penetration; no method that ran leaves less than half of it.", s->name,
             length_of(s->penetration).text);
    else if (reference && reference->penetration > 0.001)
        give(c, "`%s` leaves %s of penetration; `reference`, which has no contact, %s.", s->name,
             length_of(s->penetration).text, length_of(reference->penetration).text);
    else
        give(c, "No flesh enters other flesh by more than a millimetre, with any method that was measured.");
}

static void say_volume(choice *c, const cli_summary *s)
{
    const cli_summary *worst = other(c, volume_lost, true), *best = other(c, volume_lost, false);
    char less[80] = "", more[80] = "";
    if (!isfinite(s->joint_volume)) return;
    if (worst && worst->joint_volume < s->joint_volume - 0.02)
        snprintf(less, sizeof less, ", that of `%s` %.0f%%", worst->name, 100 * worst->joint_volume);
    if (best && best->joint_volume > s->joint_volume + 0.02)
        snprintf(more, sizeof more, ", that of `%s` %.0f%%", best->name, 100 * best->joint_volume);
    give(c, "Its worst joint keeps %.0f%% of its volume%s%s.", 100 * s->joint_volume, less, more);
}

static double inverted(const cli_summary *s)
{
    return s->inverted;
}

static void say_inverted(choice *c, const cli_summary *s)
{
    const cli_summary *worst = other(c, inverted, true);
    if (!isfinite(s->inverted)) return;
    if (s->inverted <= 0 && worst && worst->inverted > 0)
        give(c, "None of its tetrahedra turns inside out; with `%s` up to %.0f do.", worst->name, worst->inverted);
    else if (worst && worst->inverted > s->inverted)
        give(c, "Up to %.0f of its tetrahedra turn inside out, with `%s` %.0f.", s->inverted, worst->name,
             worst->inverted);
    else if (s->inverted > 0)
        give(c, "Up to %.0f of its tetrahedra turn inside out; with no other method do more.", s->inverted);
}

static void say_error(choice *c, const cli_summary *s)
{
    const cli_summary *nearest = other(c, error_mean, false);
    if (!isfinite(s->error_mean)) return;
    if (nearest && nearest->error_mean < s->error_mean)
        give(c, "Its surface is %s from `reference` on average, %s at most; `%s` is nearer, with %s.",
             length_of(s->error_mean).text, length_of(s->error_max).text, nearest->name,
             length_of(nearest->error_mean).text);
    else
        give(c, "Its surface is %s from `reference` on average, %s at most: nearer than any other.",
             length_of(s->error_mean).text, length_of(s->error_max).text);
}

static void say_time(choice *c, const cli_summary *s)
{
    double frame = c->asked->frame_ms;
    if (!isfinite(s->ms_median)) return;
    if (s->ms_median <= frame) {
        give(c, "A frame takes %s and lasts %s: real time here.", time_of(s->ms_median).text, time_of(frame).text);
        return;
    }
    give(c, "A frame takes %s and lasts %s: %.1f times too slow for real time here.", time_of(s->ms_median).text,
         time_of(frame).text, s->ms_median / frame);
    int keeps_up = choose(c, frame);
    if (keeps_up >= 0)
        give(c, "Where it must be real time: `%s`, %s a frame.", c->asked->method[keeps_up].name,
             time_of(c->asked->method[keeps_up].ms_median).text);
}

/* The quickest that keeps flesh apart as well and lost by another rule. */
static void say_quicker(choice *c, const cli_summary *s)
{
    const cli_summary *quick = NULL;
    double limit = fmax(fine_penetration(c->asked), 2 * s->penetration);
    for (int i = 0; i < c->asked->method_count; i++) {
        const cli_summary *m = &c->asked->method[i];
        if (i == c->best || !m->ran || !(m->penetration <= limit) || !(m->ms_median < s->ms_median)) continue;
        if (!quick || m->ms_median < quick->ms_median) quick = m;
    }
    if (!quick || !(volume_lost(quick) > volume_lost(s))) return;
    give(c, "`%s` is quicker, %s a frame, with %s of penetration; its worst joint keeps %.0f%% of its volume.",
         quick->name, time_of(quick->ms_median).text, length_of(quick->penetration).text, 100 * quick->joint_volume);
}

/* Plain skinning needs no flesh: it has some here because its numbers are measured on it. */
static void say_setup(choice *c, const cli_summary *s)
{
    bool measured = strcmp(s->name, "linear") == 0 && isfinite(s->body_ms);
    give(c, "It needs %s to set up, once, and %.0f MB of memory%s.", time_of(s->setup_ms).text, s->peak_mb,
         measured ? ", with the flesh that it is measured on; alone less" : "");
}

/* What was asked for and what came of it. */
static void say_asked(choice *c, const cli_summary *s)
{
    if (c->asked->dynamics) give(c, "Dynamics were asked for, and `%s` has them.", s->name);
    for (int i = 0; c->asked->model && i < c->asked->method_count; i++) {
        const cli_summary *m = &c->asked->method[i];
        if (i == c->best || !m->ran || strcmp(m->name, "subspace") != 0) continue;
        give(c, "The trained model plays a frame in %s, with %s of penetration.", time_of(m->ms_median).text,
             length_of(isfinite(m->penetration) ? m->penetration : 0).text);
    }
}

static void summarise(choice *c, const cli_summary *s)
{
    const cli_summary *deepest = other(c, penetration, true), *thinnest = other(c, volume_lost, true);
    const cli_summary *farthest = other(c, error_max, true);
    char *out = c->out->summary;
    words time = time_of(s->ms_median);
    if (deepest && isfinite(s->penetration) && deepest->penetration > fmax(2 * s->penetration, 0.001))
        snprintf(out, CLI_ADVICE_TEXT, "Use `%s`: %s of penetration where `%s` has %s, at %s a frame.", s->name,
                 length_of(s->penetration).text, deepest->name, length_of(deepest->penetration).text, time.text);
    else if (thinnest && isfinite(s->joint_volume) && thinnest->joint_volume < s->joint_volume - 0.05)
        snprintf(out, CLI_ADVICE_TEXT,
                 "Use `%s`: joints keep %.0f%% of their volume where `%s` keeps %.0f%%, at %s a frame.", s->name,
                 100 * s->joint_volume, thinnest->name, 100 * thinnest->joint_volume, time.text);
    else if (farthest && farthest->error_max > fmax(2 * s->error_max, fine_error_max(c->asked)))
        snprintf(out, CLI_ADVICE_TEXT, "Use `%s`: within %s of `reference` where `%s` is %s off, at %s a frame.",
                 s->name, length_of(s->error_max).text, farthest->name, length_of(farthest->error_max).text, time.text);
    else
        snprintf(out, CLI_ADVICE_TEXT, "Use `%s`: the others do little better here, and a frame takes %s.", s->name,
                 time.text);
}

bool cli_advise(const cli_advice_case *asked, cli_advice *out)
{
    choice c = {.asked = asked, .out = out};
    *out = (cli_advice){0};
    if (asked->method_count > MOST) return false;
    int first = choose(&c, INFINITY), chosen = choice_of_skin(asked);
    if (first < 0) return false;
    c.best = chosen >= 0 ? chosen : first;
    const cli_summary *s = &asked->method[c.best];
    out->method = s->name;
    summarise(&c, s);
    say_choice(&c, s, &asked->method[first]);
    say_penetration(&c, s);
    say_volume(&c, s);
    say_inverted(&c, s);
    say_error(&c, s);
    say_time(&c, s);
    say_quicker(&c, s);
    say_setup(&c, s);
    say_asked(&c, s);
    return true;
}
