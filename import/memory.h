/* Memory that runs out ends the importer with that reason, wherever it happens. */
#ifndef SUPPLE_IMPORT_MEMORY_H
#define SUPPLE_IMPORT_MEMORY_H

#define IMPORT_OUT_OF_MEMORY "out of memory: it asks for more than a file of its size should"

/* From here on a failed `new` of the importing library, and a failed allocation of jansson's, is import_fail(). */
void import_watch_memory(void);

#endif
