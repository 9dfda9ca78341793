#include "fem/law.h"

#include <string.h>

static const spl_law *const LAWS[] = {&spl_law_arap,  &spl_law_corot,           &spl_law_exrotated,
                                      &spl_law_mixed, &spl_law_neohookean,      &spl_law_log,
                                      &spl_law_stvk,  &spl_law_mixed_neohookean};

int32_t spl_law_count(void)
{
    return (int32_t)(sizeof LAWS / sizeof *LAWS);
}

const spl_law *spl_law_at(int32_t index)
{
    return index >= 0 && index < spl_law_count() ? LAWS[index] : NULL;
}

const spl_law *spl_law_find(const char *name)
{
    for (int32_t i = 0; i < spl_law_count(); i++)
        if (!strcmp(LAWS[i]->name, name)) return LAWS[i];
    return NULL;
}

void spl_lame(double young, double poisson, double *mu, double *lambda)
{
    *mu = young / (2 * (1 + poisson));
    *lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
}
