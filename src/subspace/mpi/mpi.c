/* libsupple-mpi.so: messages between processes by MPI, behind supple/plugin.h. `supple train --mpi` loads it when it is
 * asked for; neither the library nor the tool links MPI. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <supple/plugin.h>

enum { TAG = 28 };

static supple_result fail(supple_error *error, int code, const char *what)
{
    char reason[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, reason, &length);
    if (error) {
        error->code = SUPPLE_ERROR_OUTPUT;
        snprintf(error->message, sizeof error->message, "MPI: %s: %.150s", what, reason);
    }
    return SUPPLE_ERROR_OUTPUT;
}

static supple_result refuse(supple_error *error, const char *what)
{
    if (error) {
        error->code = SUPPLE_ERROR_INPUT;
        snprintf(error->message, sizeof error->message, "MPI: %s", what);
    }
    return SUPPLE_ERROR_INPUT;
}

static supple_result send_bytes(void *user, int32_t to, const void *data, size_t size, supple_error *error)
{
    (void)user;
    if (size > INT_MAX) return refuse(error, "a message of more than 2 GB");
    int code = MPI_Send(data, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    return code == MPI_SUCCESS ? SUPPLE_OK : fail(error, code, "cannot send");
}

static supple_result receive_bytes(void *user, int32_t *from, void *data, size_t room, size_t *size,
                                   supple_error *error)
{
    int there = 0, count = 0;
    MPI_Status status;
    (void)user;
    *size = 0;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status);
    if (code != MPI_SUCCESS) return fail(error, code, "cannot receive");
    if (!there) return SUPPLE_OK;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count < 0 || (size_t)count > room) return refuse(error, "a message is longer than any should be");
    code = MPI_Recv(data, count, MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return fail(error, code, "cannot receive");
    *from = status.MPI_SOURCE;
    *size = (size_t)count;
    return SUPPLE_OK;
}

/* Another thread than the one that joined sends and receives, one at a time. */
static supple_result join(supple_exchange *out, supple_error *error)
{
    int given = 0, rank = 0, size = 1;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
    if (code != MPI_SUCCESS) return fail(error, code, "cannot start");
    if (given < MPI_THREAD_SERIALIZED) return refuse(error, "this build of it has no threads");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *out = (supple_exchange){.rank = rank, .size = size, .send = send_bytes, .receive = receive_bytes};
    return SUPPLE_OK;
}

static void leave(void)
{
    MPI_Finalize();
}

static void abandon(int exit_code)
{
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

SUPPLE_API const supple_exchange_backend *supple_mpi_backend(void);

const supple_exchange_backend *supple_mpi_backend(void)
{
    static const supple_exchange_backend backend = {
        .version = SUPPLE_EXCHANGE_VERSION, .name = "MPI", .join = join, .leave = leave, .abandon = abandon};
    return &backend;
}
