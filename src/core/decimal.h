/* Floats as text: the fewest digits that give the same float back, whatever the locale. */
#ifndef SPL_CORE_DECIMAL_H
#define SPL_CORE_DECIMAL_H

#include <stddef.h>

enum { SPL_DECIMAL_SIZE = 20 };

/* Writes a finite float ("0.1", "-3e+20", "0") and returns the number of characters; a zero byte follows. */
size_t spl_decimal(float value, char out[SPL_DECIMAL_SIZE]);

#endif
