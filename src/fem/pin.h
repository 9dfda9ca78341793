/* Soft constraints. */
#ifndef SPL_FEM_PIN_H
#define SPL_FEM_PIN_H

#include <stdint.h>

/* A spring from a vertex to a point. */
typedef struct spl_pin {
    int32_t vertex;
    double target[3];
    double stiffness; /* N/m */
} spl_pin;

#endif
