#include "methods/projective/cl/device.h"

#include "core/error.h"
#include "core/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64 };

/* ---- which device ---- */

typedef struct found {
    cl_device_id id[MOST_DEVICES];
    cl_platform_id platform[MOST_DEVICES];
    int32_t count, gpu; /* the first GPU, or -1 */
    cl_int code;        /* why there are none */
} found;

static void list_devices(const spl_cl_api *api, found *f)
{
    cl_platform_id platform[MOST_PLATFORMS];
    cl_uint platforms = 0;
    f->count = 0;
    f->gpu = -1;
    f->code = api->GetPlatformIDs(MOST_PLATFORMS, platform, &platforms);
    if (f->code != CL_SUCCESS) return;
    if (platforms > MOST_PLATFORMS) platforms = MOST_PLATFORMS;
    for (cl_uint p = 0; p < platforms && f->count < MOST_DEVICES; p++) {
        cl_uint here = 0, room = (cl_uint)(MOST_DEVICES - f->count);
        cl_int code = api->GetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, room, f->id + f->count, &here);
        if (code != CL_SUCCESS) f->code = code;
        if (code != CL_SUCCESS) continue;
        if (here > room) here = room;
        for (cl_uint d = 0; d < here; d++, f->count++) {
            cl_device_type type = 0;
            f->platform[f->count] = platform[p];
            if (api->GetDeviceInfo(f->id[f->count], CL_DEVICE_TYPE, sizeof type, &type, NULL) != CL_SUCCESS) type = 0;
            if ((type & CL_DEVICE_TYPE_GPU) && f->gpu < 0) f->gpu = f->count;
        }
    }
}

/* "cl" gives -1, "cl:N" gives N (one that no machine has, if it is larger than that), anything else -2. */
static int32_t parse_name(const char *name)
{
    if (strcmp(name, "cl") == 0) return -1;
    if (strncmp(name, "cl:", 3) != 0 || name[3] < '0' || name[3] > '9') return -2;
    char *end;
    long n = strtol(name + 3, &end, 10);
    if (*end) return -2;
    return n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

static supple_result choose(supple_device *d, int32_t wanted, supple_error *error)
{
    found f;
    list_devices(&d->api, &f);
    if (f.count == 0)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "no OpenCL device here: %s",
                        f.code == CL_SUCCESS ? "no platform has any" : spl_cl_reason(f.code));
    if (wanted >= f.count)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "no OpenCL device %d here: there are %d, from cl:0", (int)wanted,
                        (int)f.count);
    int32_t at = wanted >= 0 ? wanted : f.gpu >= 0 ? f.gpu : 0;
    d->id = f.id[at];
    char name[512] = "", platform[512] = ""; /* one that does not fit is not given at all */
    d->api.GetDeviceInfo(d->id, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    d->api.GetPlatformInfo(f.platform[at], CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    snprintf(d->name, sizeof d->name, "%.90s (%.60s)", *name ? name : "without a name", platform);
    spl_sanitise(d->name);
    return SUPPLE_OK;
}

/* ---- life ---- */

/* What it allows; 0 where it does not say. */
static void read_limits(supple_device *d)
{
    enum { MOST_DIMENSIONS = 8 };
    const spl_cl_api *api = &d->api;
    cl_ulong local = 0, memory = 0, largest = 0;
    size_t wide[MOST_DIMENSIONS] = {0}; /* a device may have more than three */
    api->GetDeviceInfo(d->id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    api->GetDeviceInfo(d->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    api->GetDeviceInfo(d->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, NULL);
    api->GetDeviceInfo(d->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof d->most_items, &d->most_items, NULL);
    api->GetDeviceInfo(d->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof wide, wide, NULL);
    if (wide[0] > 0 && (d->most_items == 0 || wide[0] < d->most_items)) d->most_items = wide[0];
    d->local_bytes = local;
    d->memory = memory;
    d->largest = largest;
}

static supple_result open_queue(supple_device *d, supple_error *error)
{
    const spl_cl_api *api = &d->api;
    cl_int code = CL_SUCCESS;
    read_limits(d);
    d->context = api->CreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    if (d->context)
        d->queue = api->CreateCommandQueue(
            d->context, d->id, d->profile ? (cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE : 0, &code);
    if (d->queue) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "device %.80s: %s (%d)", d->name, spl_cl_reason(code), (int)code);
}

/* The first line of the compiler's words that says something. */
static void first_line(supple_device *d, char *out, size_t size)
{
    size_t length = 0;
    snprintf(out, size, "no log");
    if (d->api.GetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &length) != CL_SUCCESS) return;
    char *log = spl_new(&d->allocator, length + 1, 1);
    if (!log) return;
    cl_int code = d->api.GetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, length, log, NULL);
    const char *line = log + strspn(log, " \t\r\n");
    if (code == CL_SUCCESS && *line) snprintf(out, size, "%.*s", (int)strcspn(line, "\r\n"), line);
    spl_free(&d->allocator, log);
}

static supple_result compile(supple_device *d, const char *source, supple_error *error)
{
    cl_int code = CL_SUCCESS;
    d->program = d->api.CreateProgramWithSource(d->context, 1, &source, NULL, &code);
    if (d->program) code = d->api.BuildProgram(d->program, 1, &d->id, "-cl-std=CL1.2", NULL, NULL);
    if (d->program && code == CL_SUCCESS) return SUPPLE_OK;
    char line[120] = "";
    if (d->program) first_line(d, line, sizeof line);
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "device %.60s: %s (%d): %.110s", d->name, spl_cl_reason(code), (int)code,
                    line);
}

supple_result spl_device_open(const char *name, const spl_device_options *options, const supple_config *config,
                              supple_device **out, supple_error *error)
{
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    int32_t wanted = parse_name(name ? name : "");
    if (wanted < -1)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "device '%.40s' is unknown; there are cpu, cl and cl:N",
                        name ? name : "");
    supple_allocator a = spl_allocator_of(config);
    supple_device *d = spl_new(&a, 1, sizeof *d);
    if (!d) return spl_fail_memory(error, "the device");
    *d = (supple_device){.allocator = a, .work_group = options->work_group, .profile = options->profile};
    d->narrow = options->narrow > 0 ? options->narrow : SPL_CL_NARROW;
    if (options->api)
        d->api = *options->api;
    else
        result = spl_cl_load(&d->api, error);
    if (result == SUPPLE_OK) result = choose(d, wanted, error);
    if (result == SUPPLE_OK) result = open_queue(d, error);
    if (result == SUPPLE_OK) result = compile(d, options->source ? options->source : spl_cl_source, error);
    if (result == SUPPLE_OK)
        *out = d;
    else
        supple_device_close(d);
    return result;
}

supple_result supple_device_open(const char *name, const supple_config *config, supple_device **out,
                                 supple_error *error)
{
    return spl_device_open(name, &(spl_device_options){0}, config, out, error);
}

void supple_device_close(supple_device *d)
{
    if (!d) return;
    supple_allocator a = d->allocator;
    if (d->program) d->api.ReleaseProgram(d->program);
    if (d->queue) d->api.ReleaseCommandQueue(d->queue);
    if (d->context) d->api.ReleaseContext(d->context);
    spl_free(&a, d);
}

const char *supple_device_name(const supple_device *d)
{
    return d->name;
}

void *supple_device_cl_context(const supple_device *d)
{
    return d->context;
}

void *supple_device_cl_device(const supple_device *d)
{
    return d->id;
}

void *supple_device_cl_queue(const supple_device *d)
{
    return d->queue;
}

/* ---- work ---- */

static bool fail(spl_cl_work *w, cl_int code, const char *what)
{
    if (code == CL_SUCCESS) return false;
    if (w->failed == CL_SUCCESS) w->failed = code, w->what = what;
    return true;
}

cl_mem spl_cl_buffer(spl_cl_work *w, size_t count, size_t size, const void *from)
{
    size_t bytes;
    if (w->failed != CL_SUCCESS) return NULL;
    if (!spl_mul(count > 0 ? count : 1, size, &bytes) || (w->device->largest > 0 && bytes > w->device->largest) ||
        (w->device->memory > 0 && w->bytes + bytes > w->device->memory)) {
        fail(w, CL_MEM_OBJECT_ALLOCATION_FAILURE, "buffers");
        return NULL;
    }
    cl_int code = CL_SUCCESS;
    cl_mem buffer = w->device->api.CreateBuffer(w->device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (fail(w, buffer ? code : code != CL_SUCCESS ? code : CL_OUT_OF_RESOURCES, "buffers")) return buffer;
    w->bytes += bytes;
    if (from && count > 0) spl_cl_write(w, buffer, from, bytes);
    return buffer;
}

void spl_cl_drop(supple_device *device, cl_mem buffer)
{
    if (buffer) device->api.ReleaseMemObject(buffer);
}

void spl_cl_kernel_make(spl_cl_work *w, const char *name, spl_cl_kernel *out)
{
    const supple_device *d = w->device;
    cl_int code = CL_SUCCESS;
    *out = (spl_cl_kernel){.name = name, .items = 1};
    if (w->failed != CL_SUCCESS) return;
    out->kernel = d->api.CreateKernel(d->program, name, &code);
    if (fail(w, code, name)) return;
    size_t most = 1, multiple = 1;
    code = d->api.GetKernelWorkGroupInfo(out->kernel, d->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (fail(w, code, name)) return;
    code = d->api.GetKernelWorkGroupInfo(out->kernel, d->id, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                                         sizeof multiple, &multiple, NULL);
    if (fail(w, code, name)) return;
    if (d->most_items > 0 && most > d->most_items) most = d->most_items;
    size_t items = d->work_group > 0 ? d->work_group : SPL_CL_BLOCK;
    if (items > most) items = most;
    if (d->work_group == 0 && multiple > 0 && items > multiple) items -= items % multiple;
    out->items = items > 0 ? items : 1;
}

void spl_cl_kernel_drop(supple_device *device, spl_cl_kernel *k)
{
    if (k->kernel) device->api.ReleaseKernel(k->kernel);
    *k = (spl_cl_kernel){0};
}

size_t spl_cl_room(const spl_cl_kernel *k)
{
    return k->items * sizeof(cl_float4);
}

void spl_cl_argument_at(spl_cl_work *w, spl_cl_kernel *k, cl_uint at, spl_cl_argument argument)
{
    if (w->failed == CL_SUCCESS)
        fail(w, w->device->api.SetKernelArg(k->kernel, at, argument.size, argument.value), k->name);
}

void spl_cl_arguments(spl_cl_work *w, spl_cl_kernel *k, const spl_cl_argument *argument, cl_uint count)
{
    for (cl_uint i = 0; i < count; i++) spl_cl_argument_at(w, k, i, argument[i]);
}

/* Waits for a launch and adds its time: where kernels are measured nothing else runs. */
static void measure(spl_cl_work *w, spl_cl_kernel *k, cl_event event)
{
    const spl_cl_api *api = &w->device->api;
    cl_ulong begin = 0, end = 0;
    if (!fail(w, api->WaitForEvents(1, &event), k->name) &&
        !fail(w, api->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL), k->name) &&
        !fail(w, api->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL), k->name))
        k->ms += 1e-6 * (double)(end - begin);
    api->ReleaseEvent(event);
}

void spl_cl_launch(spl_cl_work *w, spl_cl_kernel *k, size_t groups)
{
    if (w->failed != CL_SUCCESS || groups == 0) return;
    size_t items = k->items, all = groups * items;
    cl_event event = NULL;
    cl_int code = w->device->api.EnqueueNDRangeKernel(w->device->queue, k->kernel, 1, NULL, &all, &items, 0, NULL,
                                                      w->device->profile ? &event : NULL);
    k->launches++;
    if (!fail(w, code, k->name) && event) measure(w, k, event);
}

void spl_cl_write(spl_cl_work *w, cl_mem to, const void *from, size_t bytes)
{
    if (w->failed != CL_SUCCESS || bytes == 0) return;
    fail(w, w->device->api.EnqueueWriteBuffer(w->device->queue, to, CL_FALSE, 0, bytes, from, 0, NULL, NULL),
         "writing a buffer");
}

void spl_cl_read(spl_cl_work *w, cl_mem from, void *to, size_t bytes, bool wait)
{
    if (w->failed != CL_SUCCESS || bytes == 0) return;
    fail(w,
         w->device->api.EnqueueReadBuffer(w->device->queue, from, wait ? CL_TRUE : CL_FALSE, 0, bytes, to, 0, NULL,
                                          NULL),
         "reading a buffer");
}

void spl_cl_finish(spl_cl_work *w)
{
    cl_int code = w->device->api.Finish(w->device->queue); /* even after a failure: writes may still be reading */
    if (w->failed == CL_SUCCESS) fail(w, code, "waiting");
}

void spl_cl_read_event(spl_cl_work *w, cl_mem from, void *to, size_t bytes, cl_event *event)
{
    if (w->failed != CL_SUCCESS || bytes == 0) return;
    fail(w, w->device->api.EnqueueReadBuffer(w->device->queue, from, CL_FALSE, 0, bytes, to, 0, NULL, event),
         "reading a buffer");
}

void spl_cl_flush(spl_cl_work *w)
{
    if (w->failed == CL_SUCCESS) fail(w, w->device->api.Flush(w->device->queue), "a flush");
}

void spl_cl_wait(spl_cl_work *w, cl_event event)
{
    fail(w, w->device->api.WaitForEvents(1, &event), "waiting"); /* even after a failure: it may still be writing */
}

supple_result spl_cl_outcome(const spl_cl_work *w, supple_error *error)
{
    if (w->failed == CL_SUCCESS) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "device %.80s: %s (%d) at %.40s", w->device->name,
                    spl_cl_reason(w->failed), (int)w->failed, w->what);
}
