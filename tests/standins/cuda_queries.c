/* A libcuda.so.1 with one GPU that answers what frameworks ask before their first kernel; no kernel runs.

   STANDIN_CUDA=12080       the CUDA release of the driver
   STANDIN_CAPABILITY=89    the GPU's compute capability
   STANDIN_NAME, STANDIN_DRIVER, STANDIN_PCI: as of nvml.c */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include "trouble.h"

typedef void *P;
typedef unsigned U;
typedef unsigned long long At;
#define UUID "GPU-00000000-0000-0000-0000-000000000000"
#define FINE(name, ...) int name(__VA_ARGS__) { return 0; }

/* Only the GPU's index or the start of its UUID names it; the list ends at the first entry that names none. */
static int visible(void) {
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    if (!list) return 1;
    size_t length = strcspn(list, ",");
    return (length == 1 && *list == '0') || (length > 4 && !strncmp(list, UUID, length));
}
int cuInit(U flags) { (void)flags; return visible() ? 0 : 100; }
int cuDriverGetVersion(int *v) { *v = number("STANDIN_CUDA", 12080); return 0; }
int cuDeviceGetCount(int *n) { *n = visible(); return 0; }
int cuDeviceGet(int *device, int index) { *device = 0; return index ? 101 : 0; }
int cuDeviceGetName(char *s, int n, int d) {
    (void)d;
    snprintf(s, (size_t)n, "%s", getenv("STANDIN_NAME") ? getenv("STANDIN_NAME") : "NVIDIA GPU");
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int d) { (void)d; *bytes = (size_t)24 << 30; return 0; }
int cuDeviceComputeCapability(int *major, int *minor, int d) {
    (void)d;
    *major = number("STANDIN_CAPABILITY", 89) / 10, *minor = number("STANDIN_CAPABILITY", 89) % 10;
    return 0;
}
int cuDeviceGetAttribute(int *v, int which, int d) {
    int major, minor;
    cuDeviceComputeCapability(&major, &minor, d);
    *v = which == 75 ? major : which == 76 ? minor : which == 1 ? 1024 : which == 10 ? 32 : which == 13 ? 2520000
       : which == 16 ? 128 : which == 33 ? 10 : which == 36 ? 10501000 : which == 37 ? 384 : 0;
    return 0;
}
int cuDeviceGetUuid(unsigned char *u, int d) { (void)d; memset(u, 0, 16); return 0; }
int cuDeviceGetUuid_v2(unsigned char *u, int d) { return cuDeviceGetUuid(u, d); }
int cuDeviceGetPCIBusId(char *s, int n, int d) { (void)d; snprintf(s, (size_t)n, "0000:0A:00.0"); return 0; }
int cuGetErrorName(int code, const char **s) { *s = code == 100 ? "CUDA_ERROR_NO_DEVICE" : code ? NULL : "CUDA_SUCCESS"; return !*s; }
int cuGetErrorString(int code, const char **s) {
    *s = code == 100 ? "no CUDA-capable device is detected" : code ? NULL : "no error";
    return !*s;
}
int cuGetProcAddress(const char *name, P *found, int version, At flags) {
    (void)version, (void)flags;
    return (*found = dlsym(RTLD_DEFAULT, name)) ? 0 : 500;
}
int cuGetProcAddress_v2(const char *name, P *found, int version, At flags, int *status) {
    if (status) *status = 0;
    return cuGetProcAddress(name, found, version, flags);
}

/* Contexts, streams, events and memory, as far as XLA's client goes until it lists its devices. */
static __thread P current;
static char context[16];
static long serial = 4096;
int cuDevicePrimaryCtxGetState(int d, U *flags, int *active) { (void)d; *flags = 0, *active = 0; return 0; }
int cuDevicePrimaryCtxRetain(P *c, int d) { *c = context + d; return 0; }
FINE(cuDevicePrimaryCtxRelease_v2, int d)
FINE(cuDevicePrimaryCtxSetFlags_v2, int d, U flags)
int cuCtxGetCurrent(P *c) { *c = current; return 0; }
int cuCtxSetCurrent(P c) { current = c; return 0; }
int cuCtxPushCurrent_v2(P c) { current = c; return 0; }
int cuCtxPopCurrent_v2(P *c) { if (c) *c = current; return 0; }
int cuCtxGetDevice(int *d) { *d = 0; return 0; }
int cuCtxGetApiVersion(P c, U *v) { (void)c; *v = (U)number("STANDIN_CUDA", 12080); return 0; }
int cuCtxGetId(P c, At *v) { (void)c; *v = 1; return 0; }
int cuCtxGetFlags(U *v) { *v = 0; return 0; }
int cuCtxGetStreamPriorityRange(int *low, int *high) { *low = 0, *high = -5; return 0; }
FINE(cuCtxSynchronize, void)
FINE(cuCtxEnablePeerAccess, P c, U flags)
#define NEW(name, ...) int name(P *made, ##__VA_ARGS__) { *made = (P)(serial += 16); return 0; }
NEW(cuStreamCreate, U flags)
NEW(cuStreamCreateWithPriority, U flags, int priority)
NEW(cuEventCreate, U flags)
FINE(cuStreamDestroy_v2, P s)
FINE(cuStreamQuery, P s)
FINE(cuStreamSynchronize, P s)
FINE(cuStreamWaitEvent, P s, P e, U flags)
FINE(cuEventDestroy_v2, P e)
FINE(cuEventRecord, P e, P s)
FINE(cuEventQuery, P e)
FINE(cuEventSynchronize, P e)
int cuStreamGetPriority(P s, int *priority) { (void)s; *priority = 0; return 0; }
int cuStreamIsCapturing(P s, int *capturing) { (void)s; *capturing = 0; return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) { cuDeviceTotalMem_v2(total, 0); *free = *total - (512ul << 20); return 0; }
int cuMemAlloc_v2(At *p, size_t n) { (void)n; *p = 0x7f0000000000ul + (At)(serial += 4096) * 4096; return 0; }
int cuMemHostAlloc(P *p, size_t n, U flags) { (void)flags; *p = aligned_alloc(4096, (n + 4095) & ~4095ul); return 0; }
int cuMemAllocHost_v2(P *p, size_t n) { return cuMemHostAlloc(p, n, 0); }
int cuMemFreeHost(P p) { free(p); return 0; }
FINE(cuMemFree_v2, At p)
FINE(cuMemHostRegister_v2, P p, size_t n, U flags)
FINE(cuMemHostUnregister, P p)
FINE(cuMemsetD8_v2, At d, unsigned char v, size_t n)
FINE(cuMemsetD32_v2, At d, U v, size_t n)
FINE(cuMemsetD8Async, At d, unsigned char v, size_t n, P s)
FINE(cuMemsetD32Async, At d, U v, size_t n, P s)
FINE(cuMemcpyHtoD_v2, At d, const void *from, size_t n)
FINE(cuMemcpyHtoDAsync_v2, At d, const void *from, size_t n, P s)
int cuDeviceCanAccessPeer(int *can, int d, int other) { (void)d, (void)other; *can = 0; return 0; }
int cuDeviceGetP2PAttribute(int *v, int which, int d, int other) { (void)which, (void)d, (void)other; *v = 0; return 0; }
int cuLaunchHostFunc(P s, void (*run)(void *), void *with) { (void)s; run(with); return 0; }
int cuPointerGetAttribute(void *v, int which, At p) { (void)v, (void)which, (void)p; return 1; }
int cuMulticastGetGranularity(size_t *v, void *what, int option) { (void)v, (void)what, (void)option; return 801; }
