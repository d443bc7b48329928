/* A libcuda.so.1 with as many devices as STANDIN_DEVICES says, whose cuInit returns STANDIN_CUINIT. */
#include <stdio.h>
#include "trouble.h"

int cuInit(unsigned flags) {
    (void)flags;
    printf("the driver talks on standard output\n");
    fflush(stdout);
    trouble("STANDIN_CUINIT_TROUBLE");
    if (getenv("CUDA_VISIBLE_DEVICES") && !*getenv("CUDA_VISIBLE_DEVICES")) return 100;
    return number("STANDIN_CUINIT", 0);
}
int cuDriverGetVersion(int *version) { *version = 12040; return number("STANDIN_CUINIT", 0) == 34 ? 34 : 0; }
int cuDeviceGetCount(int *count) { *count = number("STANDIN_DEVICES", 2); return 0; }
int cuDeviceGet(int *device, int index) {
    if (index == number("STANDIN_BAD", -1)) trouble("STANDIN_DEVICE_TROUBLE");
    *device = index;
    return 0;
}
int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, size, device == 3 ? "NVIDIA A100-SXM4-40GB MIG 1g.5gb" : "NVIDIA GPU %d", device);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = (size_t)24 << 30; return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) {
    (void)device;
    *value = which == 75 ? 8 : which == 76 ? 9 : -1;
    return 0;
}
int cuDeviceGetPCIBusId(char *text, int size, int device) { snprintf(text, size, "0000:%02X:00.0", device + 10); return 0; }
#ifndef OLD
int cuDeviceGetUuid(unsigned char *uuid, int device) {
    for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)(16 * device + i);
    return 0;
}
int cuGetErrorName(int code, const char **text) {
    *text = code == 0 ? "CUDA_SUCCESS" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 999 ? "CUDA_ERROR_UNKNOWN" : 0;
    return *text ? 0 : 1;
}
int cuGetErrorString(int code, const char **text) {
    *text = code == 0 ? "no error" : code == 100 ? "no CUDA-capable device is detected" : code == 999 ? "unknown error" : 0;
    return *text ? 0 : 1;
}
#endif
