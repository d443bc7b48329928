/* Answers the CUDA runtime's device queries out of the stand-in driver; preloaded, so that PyTorch counts its GPU.

   The real runtime asks the driver for tables that NVIDIA does not document. 35 is what it returns where the driver
   is older than the runtime's major (cudaErrorInsufficientDriver), 100 where there is no device. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int major; /* of the CUDA runtime that is loaded */
static int look(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    const char *name = strstr(info->dlpi_name, "libcudart.so.");
    if (name) major = atoi(name + 13);
    return 0;
}
static int (*driver(const char *name))() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}
/* JAX asks no driver where no node of it is (jax/_src/hardware_utils.py). */
static const char *node(const char *path) { return strcmp(path, "/dev/nvidiactl") ? path : "/dev/null"; }
static int (*next(const char *name))() { return dlsym(RTLD_NEXT, name); }
int stat(const char *restrict path, struct stat *restrict found) { return next("stat")(node(path), found); }
int stat64(const char *restrict path, struct stat64 *restrict found) { return next("stat64")(node(path), found); }

int cudaGetDeviceCount(int *n) {
    int version = 0;
    *n = major = 0;
    dl_iterate_phdr(look, NULL);
    if (!driver("cuInit")) return 35;
    driver("cuDriverGetVersion")(&version);
    if (version / 1000 < major) return 35;
    int code = driver("cuInit")(0);
    if (code) return code;
    driver("cuDeviceGetCount")(n);
    return *n ? 0 : 100;
}
int cudaGetDevice(int *d) { int n; *d = 0; return cudaGetDeviceCount(&n); }
int cudaSetDevice(int d) { int n, code = cudaGetDeviceCount(&n); return code ? code : d < 0 || d >= n ? 101 : 0; }
int cudaGetLastError(void) { return 0; }
int cudaPeekAtLastError(void) { return 0; }
int cudaDriverGetVersion(int *v) { return driver("cuDriverGetVersion")(v); }
int cudaDeviceGetAttribute(int *v, int which, int d) { return driver("cuDeviceGetAttribute")(v, which, d); }
int cudaDeviceGetStreamPriorityRange(int *low, int *high) { *low = 0, *high = -5; return 0; }
int cudaDeviceCanAccessPeer(int *can, int d, int other) { (void)d, (void)other; *can = 0; return 0; }
int cudaMemGetInfo(size_t *free, size_t *total) { return driver("cuMemGetInfo_v2")(free, total); }
/* The head of cudaDeviceProp up to the compute capability, the same in CUDA 12 and 13 but for its clock rate. */
typedef struct {
    char name[256];
    unsigned char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t memory, shared;
    int registers, warp;
    size_t pitch;
    int threads, block[3], grid[3], clock;
    size_t constant;
    int major, minor;
} Head;
static int properties(void *out, int d) {
    Head head = {.warp = 32, .threads = 1024, .shared = 49152, .registers = 65536};
    driver("cuDeviceGetName")(head.name, 256, d);
    driver("cuDeviceTotalMem_v2")(&head.memory, d);
    driver("cuDeviceComputeCapability")(&head.major, &head.minor, d);
    memset(out, 0, 900);
    memcpy(out, &head, sizeof head);
    return 0;
}
int cudaGetDeviceProperties(void *out, int d) { return properties(out, d); }
int cudaGetDeviceProperties_v2(void *out, int d) { return properties(out, d); }
