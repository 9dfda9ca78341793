#include "sim/parameters.h"

#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

/* The index of a word in "a|b|c", -1 if it is none of them. */
static int choice_index(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (int index = 0;; index++) {
        size_t n = strcspn(choices, "|");
        if (n == length && n > 0 && strncmp(choices, word, n) == 0) return index;
        if (!choices[n]) return -1;
        choices += n + 1;
    }
}

static supple_result parse_value(const spl_parameter *p, const char *text, double *value, supple_error *error)
{
    if (p->choices) {
        int index = choice_index(p->choices, text);
        if (index < 0)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s=%.40s: takes one of %s", p->name, text, p->choices);
        *value = index;
        return SUPPLE_OK;
    }
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= p->min && *value <= p->max))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s=%.40s: takes a number from %g to %g", p->name, text, p->min,
                        p->max);
    return SUPPLE_OK;
}

/* Finds a setting in a table; -1 if it is not there. */
static int32_t find_parameter(const spl_parameter *table, int32_t count, const char *key)
{
    for (int32_t i = 0; i < count; i++)
        if (strcmp(table[i].name, key) == 0) return i;
    return -1;
}

/* What all methods that move a body understand; it shapes the body's set-up, so it is read first. */
supple_result spl_sim_set_common(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    for (int32_t i = 0; i < SPL_FLESH_PARAMETERS; i++) sim->common[i] = spl_flesh_parameter[i].value;
    for (int32_t i = 0; i < sc->setting_count && result == SUPPLE_OK; i++) {
        int32_t at = find_parameter(spl_flesh_parameter, SPL_FLESH_PARAMETERS, sc->settings[i].key);
        if (at >= 0) result = parse_value(&spl_flesh_parameter[at], sc->settings[i].value, &sim->common[at], error);
    }
    return result;
}

/* Of the sliding skin, with "slide." before it or, where no method has that, without. */
static int32_t find_slide_parameter(const char *key)
{
    for (int32_t i = 0; i < SPL_SLIDE_PARAMETERS; i++) {
        const char *name = spl_slide_parameter[i].name;
        if (strcmp(name, key) == 0 || strcmp(strchr(name, '.') + 1, key) == 0) return i;
    }
    return -1;
}

static supple_result set_parameter(supple_sim *sim, const supple_setting *setting, bool slide, supple_error *error)
{
    const spl_method *m = sim->method;
    int32_t at = find_parameter(m->parameter, m->parameter_count, setting->key);
    if (at >= 0) return parse_value(&m->parameter[at], setting->value, &sim->parameter[at], error);
    if (sim->wanted) { /* checked, and of no use without flesh */
        double unused;
        m = sim->wanted;
        at = find_parameter(m->parameter, m->parameter_count, setting->key);
        if (at >= 0) return parse_value(&m->parameter[at], setting->value, &unused, error);
    }
    if (m->output == SPL_OUTPUT_BODY && find_parameter(spl_flesh_parameter, SPL_FLESH_PARAMETERS, setting->key) >= 0)
        return SUPPLE_OK;
    at = find_slide_parameter(setting->key);
    if (at >= 0 && slide)
        return parse_value(&spl_slide_parameter[at], setting->value, &sim->slide_parameter[at], error);
    if (at >= 0) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%.40s: is of skin that slides: --slide", setting->key);
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "method %s has no parameter '%.40s'; `supple skin --help` lists them",
                    m->name, setting->key);
}

double spl_sim_peek(const spl_method *method, const supple_sim_config *sc, const char *name)
{
    int32_t at = find_parameter(method->parameter, method->parameter_count, name);
    double value = at >= 0 ? method->parameter[at].value : 0;
    for (int32_t i = 0; at >= 0 && i < sc->setting_count; i++)
        if (strcmp(sc->settings[i].key, name) == 0 &&
            parse_value(&method->parameter[at], sc->settings[i].value, &value, NULL) != SUPPLE_OK)
            value = 0;
    return value;
}

supple_result spl_sim_set_parameters(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    const spl_method *m = sim->method;
    sim->parameter = spl_new(&sim->allocator, (size_t)m->parameter_count, sizeof *sim->parameter);
    if (!sim->parameter) return spl_fail_memory(error, "the parameters");
    for (int32_t i = 0; i < m->parameter_count; i++) sim->parameter[i] = m->parameter[i].value;
    for (int32_t i = 0; i < SPL_SLIDE_PARAMETERS; i++) sim->slide_parameter[i] = spl_slide_parameter[i].value;
    for (int pass = 0; pass < 2; pass++) { /* what is said beside a preset counts, wherever it stands */
        spl_slide_preset((int)sim->slide_parameter[SPL_SLIDE_PRESET], sim->slide_parameter);
        for (int32_t i = 0; i < sc->setting_count; i++) {
            supple_result result = set_parameter(sim, &sc->settings[i], sc->slide, error);
            if (result != SUPPLE_OK) return result;
        }
    }
    return SUPPLE_OK;
}
/* ---- parameters, for --help and the docs ---- */

static const spl_parameter *parameter_at(int32_t method, int32_t index)
{
    const spl_method *m = spl_method_at(method);
    if (!m || index < 0) return NULL;
    if (index < m->parameter_count) return &m->parameter[index];
    index -= m->parameter_count;
    return m->output == SPL_OUTPUT_BODY && index < SPL_FLESH_PARAMETERS ? &spl_flesh_parameter[index] : NULL;
}

bool supple_method_parameter(int32_t method, int32_t index, supple_parameter *out)
{
    const spl_parameter *p = parameter_at(method, index);
    if (!p) return false;
    *out = (supple_parameter){p->name, p->unit, p->help, p->choices, p->value, p->min, p->max};
    return true;
}

bool supple_slide_parameter(int32_t index, supple_parameter *out)
{
    if (index < 0 || index >= SPL_SLIDE_PARAMETERS) return false;
    const spl_parameter *p = &spl_slide_parameter[index];
    *out = (supple_parameter){p->name, p->unit, p->help, p->choices, p->value, p->min, p->max};
    return true;
}
