/* supple-import INPUT: reads FBX or Collada and writes a .glb to its standard output; supple-import --draco decodes
 * compressed meshes of glTF (draco.h).
 *
 * A program of its own, because the importing library aborts, hangs or asks for endless memory on damaged files: the
 * library Supple starts it, waits for so long and no longer, and takes its death for a damaged file. What goes wrong is
 * one line on the standard output instead, with exit code 1. */
#include "convert.h"
#include "core/file.h"
#include "core/memory.h"
#include "draco.h"
#include "memory.h"
#include "sandbox.h"

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST_INPUT ((size_t)1 << 30)

static int result_file = STDOUT_FILENO;

_Noreturn void import_fail(const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length > (int)sizeof line - 1) length = (int)sizeof line - 1;
    if (length < 0 || write(result_file, line, (size_t)length) < 0) _exit(2);
    _exit(1); /* without destructors: they are the importing library's, whose state is unknown here */
}

/* Only we write to what is read from us, whatever a library prints. */
static void keep_output(void)
{
    int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (copy < 0 || null < 0) _exit(2);
    dup2(null, STDOUT_FILENO);
    result_file = copy;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n > k && strcasecmp(path + n - k, ending) == 0;
}

/* An exception's own words are no message: counts beyond all bounds are found by containers before memory is asked. */
static _Noreturn void explain(const char *why)
{
    static const char *const words[] = {"bad_alloc", "bad_array_new_length", "std::", "vector::", "basic_string"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(why, words[i])) import_fail(IMPORT_OUT_OF_MEMORY);
    import_fail("cannot be imported: %.180s", why);
}

/* By the bytes, not by the path: the importing library opens nothing. */
static const struct aiScene *read_scene(const import_state *s, const char *data, size_t size)
{
    struct aiPropertyStore *settings = aiCreatePropertyStore();
    if (!settings) import_fail("out of memory");
    aiSetImportPropertyInteger(settings, AI_CONFIG_IMPORT_FBX_PRESERVE_PIVOTS, 0); /* one node a joint, not seven */
    aiSetImportPropertyInteger(settings, AI_CONFIG_IMPORT_FBX_READ_CAMERAS, 0);
    aiSetImportPropertyInteger(settings, AI_CONFIG_IMPORT_FBX_READ_LIGHTS, 0);
    aiSetImportPropertyInteger(settings, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1);
    const char *kind = s->collada ? "dae" : "fbx";
    const struct aiScene *scene = aiImportFileFromMemoryWithProperties(data, (unsigned)size, 0, kind, settings);
    aiReleasePropertyStore(settings);
    if (!scene || !scene->mRootNode) explain(aiGetErrorString());
    if (scene->mNumMeshes == 0) import_fail("holds no mesh; is it a character, and complete?");
    return scene;
}

static void read_points(import_state *s, const uint8_t *data, size_t size)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error;
    supple_result result = s->collada ? spl_points_read_collada(data, size, &a, &s->points, &error)
                                      : spl_points_read_fbx(data, size, &a, &s->points, &error);
    if (result != SUPPLE_OK) import_fail("%s", error.message);
}

static uint8_t *read_input(const char *path, size_t *size)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error;
    uint8_t *data;
    struct stat st;
    if (stat(path, &st) != 0) import_fail("cannot be read");
    import_limit(st.st_size > 0 ? (size_t)st.st_size : 0, result_file);
    supple_result result = spl_file_read(path, LARGEST_INPUT, &a, &data, size, &error);
    if (result == SUPPLE_ERROR_MEMORY) import_fail(IMPORT_OUT_OF_MEMORY);
    if (result != SUPPLE_OK) import_fail("cannot be read");
    return data;
}

#ifdef SPL_HAVE_DRACO
/* A question about compressed meshes from the standard input (draco.h). */
static int decode_draco(void)
{
    struct stat st;
    if (fstat(STDIN_FILENO, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 0) import_fail("no question");
    size_t size = (size_t)st.st_size, done = 0, answer_size;
    import_limit(size, result_file);
    uint8_t *question = import_new(size, 1);
    for (ssize_t n; done < size && (n = read(STDIN_FILENO, question + done, size - done)) > 0;) done += (size_t)n;
    if (done < size) import_fail("no whole question");
    import_shut();
    char why[200] = "";
    uint8_t *answer = import_draco(question, size, &answer_size, why, sizeof why);
    if (!answer) import_fail("%s", why);
    for (size_t at = 0; at < answer_size;) {
        ssize_t n = write(result_file, answer + at, answer_size - at);
        if (n <= 0) return 2;
        at += (size_t)n;
    }
    _exit(0);
}
#else
static int decode_draco(void)
{
    import_fail("is compressed by KHR_draco_mesh_compression, which this build cannot decode (it needs libdraco-dev): "
                "re-export without Draco");
}
#endif

int main(int argc, char **argv)
{
    bool draco = argc == 2 && strcmp(argv[1], "--draco") == 0;
    if (argc != 2 || (argv[1][0] == '-' && !draco)) {
        fputs("usage: supple-import FILE.fbx|FILE.dae >OUT.glb (called by Supple; not meant for people)\n", stderr);
        return 2;
    }
    keep_output();
    import_watch_memory();
    if (draco) return decode_draco();
    import_state s = {.path = argv[1], .collada = ends_in(argv[1], ".dae")};
    size_t size;
    uint8_t *data = read_input(argv[1], &size);
    s.shut = import_shut();
    read_points(&s, data, size); /* ours first: it finds damage without danger, and says where */
    if (!s.collada && spl_rate_fps(&s.points.rate) == 0) spl_rate_mend(&s.points.rate, data); /* else keys are lost */
    s.scene = read_scene(&s, (const char *)data, size);
    import_convert(&s);
    if (!glb_write(&s.out, result_file)) return 2;
    _exit(0); /* all is written; the libraries' destructors have nothing to add */
}
