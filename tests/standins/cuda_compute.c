/* A libcuda.so.1 that computes: memory, copies, streams, events and our kernels, on the CPU.

   STANDIN_RECORD=FILE   a line for each call: its name
   STANDIN_DEVICES=N     devices (2); STANDIN_FREE=MIB of memory on each (300); STANDIN_CAPABILITY=MAJOR (8)
   and what goes wrong:
   STANDIN_CUINIT=CODE   cuInit's answer; STANDIN_RETAIN=CODE: cuDevicePrimaryCtxRetain's
   STANDIN_JIT=CODE      the kernels do not compile
   STANDIN_OOM_AT=N      the Nth allocation fails
   STANDIN_PINNED=refused|pageable
   STANDIN_LOSE=h2d|d2h|peer    copies of 64 KiB and more bring zeros instead of their last 4 KiB
   STANDIN_LOSE=odd h2d|odd d2h copies of an odd length bring nothing
   STANDIN_FLIP=N        the Nth product, and each after it, has one bit flipped
   STANDIN_FLIP_FROM=M   they are counted from the Mth copy of 64 KiB and more to the device
   STANDIN_DEAD_AT=N     the Nth kernel kills the context, with STANDIN_DEAD_CODE (700)
   STANDIN_STALE=1       streams wait for no events
   STANDIN_NO_PEER=1     no direct access between devices */
#include <stdint.h>
#include <sys/mman.h>
#include "kernels_on_host.h"
#include "cuda_streams.h"

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, PEER_ALREADY = 704 };
#define EXPORT __attribute__((visibility("default"))) int
typedef unsigned long long At;

static int dead, current = -1, retained[8], peers[8][8];
static unsigned long allocations, products, launches, uploads;

static long setting(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? atol(value) : otherwise;
}
static int is(const char *name, const char *what) { return getenv(name) && !strcmp(getenv(name), what); }

static void record(const char *name) {
    const char *path = getenv("STANDIN_RECORD");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) fprintf(file, "%s\n", name), fclose(file);
}
/* What every function of a context begins with. */
#define BEGIN do { record(__func__); if (dead) return dead; if (current < 0) return INVALID_CONTEXT; } while (0)

/* -- devices and contexts ------------------------------------------------------------------------------------------ */

static char contexts[8];

EXPORT cuInit(unsigned flags) {
    record(__func__);
    printf("the driver talks on standard output\n"), fflush(stdout);
    return (int)setting("STANDIN_CUINIT", 0);
}
EXPORT cuDeviceGetCount(int *count) { *count = (int)setting("STANDIN_DEVICES", 2); return 0; }
EXPORT cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < setting("STANDIN_DEVICES", 2) ? 0 : 101; }
EXPORT cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "NVIDIA GPU %d", device); return 0; }
EXPORT cuDeviceGetAttribute(int *value, int which, int device) {
    *value = which == 16 ? 4 : which == 38 ? 4 << 20 : which == 40 ? 2 : which == 75 ? (int)setting("STANDIN_CAPABILITY", 8) : which == 76 ? 6 : -1;
    return 0;
}
EXPORT cuDeviceCanAccessPeer(int *can, int device, int other) { *can = device != other && !getenv("STANDIN_NO_PEER"); return 0; }
EXPORT cuDevicePrimaryCtxRetain(void **context, int device) {
    record(__func__);
    if (setting("STANDIN_RETAIN", 0)) return (int)setting("STANDIN_RETAIN", 0);
    retained[device]++, *context = &contexts[device];
    return 0;
}
EXPORT cuDevicePrimaryCtxRelease_v2(int device) {
    record(__func__);
    if (retained[device] < 1) return INVALID_CONTEXT;
    if (!--retained[device] && current == device) current = -1, dead = 0, allocations = products = launches = 0;
    return 0;
}
EXPORT cuCtxSetCurrent(void *context) {
    int device = (int)((char *)context - contexts);
    if (device < 0 || device > 7 || !retained[device]) return INVALID_CONTEXT;
    current = device;
    return dead;
}
EXPORT cuCtxSynchronize(void) { BEGIN; run_all(current); return dead; }
EXPORT cuCtxEnablePeerAccess(void *context, unsigned flags) {
    BEGIN;
    int *is_on = &peers[current][(char *)context - contexts];
    if (*is_on) return PEER_ALREADY;
    *is_on = 1;
    return 0;
}

/* -- memory -------------------------------------------------------------------------------------------------------- */

typedef struct block { char *address, *mapped; size_t size, pages; int device; struct block *next; } Block;
static Block *blocks; /* device -1: pinned memory of the host */

static Block *holding(const void *address, size_t size, int pinned) {
    const char *at = address;
    for (Block *b = blocks; b; b = b->next)
        if ((b->device < 0) == pinned && at >= b->address && at + size <= b->address + b->size) return b;
    return NULL;
}
static size_t left(int device) {
    size_t free = (size_t)setting("STANDIN_FREE", 300) << 20;
    for (Block *b = blocks; b; b = b->next) if (b->device == device) free -= b->size;
    return free;
}
/* Memory full of NaN that ends, but for the rounding to 256 bytes, at a page that nobody may touch. */
static Block *new_block(size_t size, int device) {
    const size_t page = 4096, whole = (size + page - 1) / page * page;
    char *mapped = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return NULL;
    mprotect(mapped + whole, page, PROT_NONE);
    memset(mapped, 0xff, whole);
    Block *b = calloc(1, sizeof *b);
    b->mapped = mapped, b->pages = whole + page, b->address = mapped + (whole - (size + 255) / 256 * 256);
    b->size = size, b->device = device, b->next = blocks, blocks = b;
    return b;
}
static int end_block(Block *block) {
    if (!block) return INVALID_VALUE;
    for (char *at = block->address + block->size; at < block->mapped + block->pages - 4096; at++)
        if (*at != (char)0xff) fprintf(stderr, "something was written behind the end of %zu bytes\n", block->size), abort();
    for (Block **at = &blocks; *at; at = &(*at)->next)
        if (*at == block) { *at = block->next; break; }
    munmap(block->mapped, block->pages);
    free(block);
    return 0;
}
static Block *beginning(const void *address, int pinned) {
    Block *b = holding(address, 1, pinned);
    return b && b->address == address ? b : NULL;
}
EXPORT cuMemGetInfo_v2(size_t *free, size_t *total) {
    BEGIN;
    *free = left(current), *total = (size_t)setting("STANDIN_FREE", 300) << 20;
    return 0;
}
EXPORT cuMemAlloc_v2(At *at, size_t size) {
    BEGIN;
    if (++allocations == (unsigned long)setting("STANDIN_OOM_AT", 0) || size > left(current)) return OUT_OF_MEMORY;
    *at = (At)(uintptr_t)new_block(size, current)->address;
    return 0;
}
EXPORT cuMemFree_v2(At at) { BEGIN; run_all(current); return end_block(beginning((void *)(uintptr_t)at, 0)); }
EXPORT cuMemHostAlloc(void **at, size_t size, unsigned flags) {
    BEGIN;
    if (is("STANDIN_PINNED", "refused")) return OUT_OF_MEMORY;
    *at = is("STANDIN_PINNED", "pageable") ? calloc(1, size) : new_block(size, -1)->address;
    return 0;
}
EXPORT cuMemFreeHost(void *at) {
    BEGIN;
    run_all(current);
    if (is("STANDIN_PINNED", "pageable")) { free(at); return 0; }
    return end_block(beginning(at, 1));
}
EXPORT cuPointerGetAttribute(void *value, int which, At at) {
    BEGIN;
    if (which != 2) return INVALID_VALUE;
    if (holding((void *)(uintptr_t)at, 1, 1)) { *(unsigned *)value = 1; return 0; }
    if (holding((void *)(uintptr_t)at, 1, 0)) { *(unsigned *)value = 2; return 0; }
    return INVALID_VALUE;
}

/* -- streams and events -------------------------------------------------------------------------------------------- */

EXPORT cuStreamCreate(Stream **stream, unsigned flags) { BEGIN; *stream = new_stream(current); return flags == 1 ? 0 : INVALID_VALUE; }
EXPORT cuStreamSynchronize(Stream *stream) { BEGIN; run_stream(stream, NULL); return dead; }
EXPORT cuStreamDestroy_v2(Stream *stream) { BEGIN; end_stream(stream); return 0; }
EXPORT cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
    BEGIN;
    if (!getenv("STANDIN_STALE") && event->moment) queue(stream, run_wait)->moment = event->moment;
    return 0;
}
EXPORT cuEventCreate(Event **event, unsigned flags) { BEGIN; *event = calloc(1, sizeof **event); return 0; }
EXPORT cuEventRecord(Event *event, Stream *stream) {
    BEGIN;
    event->moment = calloc(1, sizeof *event->moment); /* never freed: somebody may wait for it */
    event->moment->on = stream;
    queue(stream, run_record)->moment = event->moment;
    return 0;
}
EXPORT cuEventSynchronize(Event *event) {
    BEGIN;
    if (event->moment) run_stream(event->moment->on, event->moment);
    return dead;
}
EXPORT cuEventElapsedTime(float *ms, Event *begin, Event *end) {
    BEGIN;
    if (!begin->moment || !end->moment || !begin->moment->reached || !end->moment->reached) return 600;
    const struct timespec a = begin->moment->at, b = end->moment->at;
    *ms = (float)((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6);
    return 0;
}
EXPORT cuEventDestroy_v2(Event *event) { BEGIN; free(event); return 0; }

/* -- copies -------------------------------------------------------------------------------------------------------- */

static void run_copy(Op *op) {
    if (dead || op->bits == op->size) return;
    memcpy(op->to, op->from, op->size);
    if (op->bits) memset((char *)op->to + op->size - op->bits, 0, op->bits);
}
static unsigned lost(const char *kind, size_t size) {
    const char *what = getenv("STANDIN_LOSE");
    if (what && !strncmp(what, "odd ", 4)) return !strcmp(what + 4, kind) && size % 2 ? (unsigned)size : 0;
    return is("STANDIN_LOSE", kind) && size >= 65536 ? 4096 : 0;
}
EXPORT cuMemcpyHtoDAsync_v2(At to, const void *from, size_t size, Stream *stream) {
    BEGIN;
    if (!holding((void *)(uintptr_t)to, size, 0)) return INVALID_VALUE;
    Op *op = queue(stream, run_copy);
    op->to = (void *)(uintptr_t)to, op->size = size, op->bits = lost("h2d", size), op->from = from;
    uploads += size >= 65536;
    if (!holding(from, size, 1)) op->from = op->kept = memcpy(malloc(size), from, size);
    return 0;
}
EXPORT cuMemcpyDtoHAsync_v2(void *to, At from, size_t size, Stream *stream) {
    BEGIN;
    if (!holding((void *)(uintptr_t)from, size, 0)) return INVALID_VALUE;
    Op *op = queue(stream, run_copy);
    op->to = to, op->from = (void *)(uintptr_t)from, op->size = size, op->bits = lost("d2h", size);
    if (!holding(to, size, 1)) run_stream(stream, NULL);
    return dead;
}
EXPORT cuMemcpyPeerAsync(At to, void *there, At from, void *here, size_t size, Stream *stream) {
    BEGIN;
    Block *a = holding((void *)(uintptr_t)to, size, 0), *b = holding((void *)(uintptr_t)from, size, 0);
    if (!a || !b || (char *)there != &contexts[a->device] || (char *)here != &contexts[b->device]) return INVALID_VALUE;
    Op *op = queue(stream, run_copy);
    op->to = (void *)(uintptr_t)to, op->from = (void *)(uintptr_t)from, op->size = size, op->bits = lost("peer", size);
    return 0;
}
static void run_set(Op *op) {
    if (!dead) for (size_t i = 0; i < op->size; i += op->wide) memcpy((char *)op->to + i, &op->bits, op->wide);
}
static int set(At to, unsigned bits, size_t size, unsigned wide, Stream *stream) {
    if (!holding((void *)(uintptr_t)to, size, 0)) return INVALID_VALUE;
    Op *op = queue(stream, run_set);
    op->to = (void *)(uintptr_t)to, op->bits = bits, op->size = size, op->wide = wide;
    return 0;
}
EXPORT cuMemsetD8Async(At to, unsigned char bits, size_t size, Stream *stream) { BEGIN; return set(to, bits, size, 1, stream); }
EXPORT cuMemsetD32Async(At to, unsigned bits, size_t size, Stream *stream) { BEGIN; return set(to, bits, size * 4, 4, stream); }

/* -- kernels ------------------------------------------------------------------------------------------------------- */

typedef struct { const Kernel *kernel; int count; char sizes[12]; } Function;
static Function functions[KERNELS];

/* Reads the parameters of a kernel from PTX: their sizes, in bytes. */
static int read_entry(const char *text, Function *function) {
    char head[64];
    snprintf(head, sizeof head, ".visible .entry %s(", function->kernel->name);
    const char *at = strstr(text, head), *end = at ? strchr(at, ')') : NULL;
    if (!end) return NOT_FOUND;
    function->count = 0;
    while ((at = strstr(at, ".param .")) && at < end)
        at += 9, function->sizes[function->count++] = (char)(atoi(at) / 8);
    return 0;
}
EXPORT cuModuleLoadDataEx(void **module, const char *text, unsigned count, const int *options, void **values) {
    BEGIN;
    int wrong = (int)setting("STANDIN_JIT", 0);
    for (unsigned i = 0; wrong && i < count; i++)
        if (options[i] == 5) snprintf(values[i], (size_t)values[1 - i], "ptxas application ptx input, line 5; fatal   : Unsupported .version\n");
    for (int i = 0; !wrong && i < KERNELS; i++) functions[i].kernel = &kernels[i], wrong = read_entry(text, &functions[i]);
    *module = functions;
    return wrong;
}
EXPORT cuModuleUnload(void *module) { BEGIN; return 0; }
EXPORT cuModuleGetFunction(Function **function, void *module, const char *name) {
    BEGIN;
    for (int i = 0; i < KERNELS; i++) if (!strcmp(kernels[i].name, name)) { *function = &functions[i]; return 0; }
    return NOT_FOUND;
}
static void run_launch(Op *op) {
    if (++launches == (unsigned long)setting("STANDIN_DEAD_AT", 0)) dead = (int)setting("STANDIN_DEAD_CODE", 700);
    if (dead) return;
    run_kernel(op->kernel, op->wide, op->high, op->arguments);
    const unsigned long flip = (unsigned long)setting("STANDIN_FLIP", 0);
    if (strcmp(op->kernel->name, "multiply") || uploads < (unsigned long)setting("STANDIN_FLIP_FROM", 0)) return;
    if (++products < flip || !flip) return;
    const char *v = op->arguments;
    ((unsigned *)P(6))[I(7) / 2 * I(8) + I(8) / 2] ^= 1u << 22;
}
EXPORT cuLaunchKernel(Function *f, unsigned wide, unsigned high, unsigned deep, unsigned x, unsigned y, unsigned z,
                      unsigned shared, Stream *stream, void **values, void **extra) {
    BEGIN;
    record(f->kernel->name);
    if (!wide || !high || high > 65535 || deep != 1 || x != THREADS || y != 1 || z != 1 || shared || extra) return INVALID_VALUE;
    Op *op = queue(stream, run_launch);
    op->kernel = f->kernel, op->wide = wide, op->high = high;
    for (int i = 0; i < f->count; i++) memcpy(op->arguments + 8 * i, values[i], (size_t)f->sizes[i]);
    return 0;
}

/* -- errors -------------------------------------------------------------------------------------------------------- */

static const struct { int code; const char *name, *text; } errors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};
EXPORT cuGetErrorName(int code, const char **text) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) if (errors[i].code == code) { *text = errors[i].name; return 0; }
    return INVALID_VALUE;
}
EXPORT cuGetErrorString(int code, const char **text) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) if (errors[i].code == code) { *text = errors[i].text; return 0; }
    return INVALID_VALUE;
}
