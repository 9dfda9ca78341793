#include "memory.h"

#include "glb.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void no_memory(void)
{
    import_fail(IMPORT_OUT_OF_MEMORY);
}

static void *grab(size_t size)
{
    void *block = malloc(size ? size : 1);
    if (!block) no_memory();
    return block;
}

/* The importing library catches std::bad_alloc in places and goes on without the mesh it was at: measured, "holds no
 * mesh" for a whole character. So it never gets that far. This is std::set_new_handler under its name in the C++ ABI:
 * there is no C++ in this program to call it from. */
void import_watch_memory(void)
{
    typedef void (*handler)(void);
    handler (*set_new_handler)(handler);
    void *found = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
    memcpy(&set_new_handler, &found, sizeof found); /* C has no cast from an object to a function */
    if (found) set_new_handler(no_memory);
    json_set_alloc_funcs(grab, free);
}
