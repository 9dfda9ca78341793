/* Errors with a message a person can act on, and the log. */
#ifndef SPL_CORE_ERROR_H
#define SPL_CORE_ERROR_H

#include <supple/base.h>

#define SPL_PRINTF(at, first) __attribute__((format(printf, at, first)))

/* Fills `error` (if not NULL) and returns `code`. Control characters that came in with a name are replaced. */
supple_result spl_fail(supple_error *error, supple_result code, const char *format, ...) SPL_PRINTF(3, 4);

/* spl_fail for a failed allocation; `what` was to be stored. */
supple_result spl_fail_memory(supple_error *error, const char *what);

/* One line to the config's log; silent without one. Control characters are replaced. */
void spl_log(const supple_config *config, supple_log_level level, const char *format, ...) SPL_PRINTF(3, 4);

/* The same where the config asks for more than others want to read (`verbose`). */
void spl_log_verbose(const supple_config *config, supple_log_level level, const char *format, ...) SPL_PRINTF(3, 4);

/* Reports progress; SUPPLE_ERROR_CANCELLED if the host wants to stop. */
supple_result spl_progress(const supple_config *config, const char *stage, double fraction, supple_error *error);

/* Replaces control characters (and broken UTF-8) by '?', in place: names from files reach terminals, paths and HTML. */
void spl_sanitise(char *text);

/* SUPPLE_ERROR_ARGUMENT unless the config came from supple_config_default() and is within range. NULL is allowed. */
supple_result spl_config_check(const supple_config *config, supple_error *error);

#endif
