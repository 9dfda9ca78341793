/* The registry: one line a method. */
#include "methods/method.h"

#include <string.h>

static const spl_method *const methods[] = {&spl_method_linear,     &spl_method_dualquat, &spl_method_mixed,
                                            &spl_method_projective, &spl_method_steklov,  &spl_method_subspace,
                                            &spl_method_reference,  &spl_method_none};

int32_t spl_method_count(void)
{
    return (int32_t)(sizeof methods / sizeof *methods);
}

const spl_method *spl_method_at(int32_t index)
{
    return index >= 0 && index < spl_method_count() ? methods[index] : NULL;
}

const spl_method *spl_method_find(const char *name)
{
    for (int32_t i = 0; name && i < spl_method_count(); i++)
        if (strcmp(methods[i]->name, name) == 0) return methods[i];
    return NULL;
}

int32_t supple_method_count(void)
{
    return spl_method_count();
}

const char *supple_method_name(int32_t index)
{
    const spl_method *method = spl_method_at(index);
    return method ? method->name : NULL;
}

const char *supple_method_summary(int32_t index)
{
    const spl_method *method = spl_method_at(index);
    return method ? method->summary : NULL;
}
