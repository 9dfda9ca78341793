/* Wall-clock time in milliseconds. */
#ifndef SPL_CORE_TIMER_H
#define SPL_CORE_TIMER_H

/* Milliseconds since some fixed moment; monotonic. */
double spl_now_ms(void);

#endif
