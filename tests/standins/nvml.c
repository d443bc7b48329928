/* A libnvidia-ml.so.1 with STANDIN_DEVICES healthy GPUs without NVLink, MIG and ECC, and one that is STANDIN_BAD,
   from the start or after STANDIN_ROUNDS questions for its clock. With LIVE the GPUs are under a load that grows.
   With CLINIC it is one GPU and a driver of the test's choice, at rest: STANDIN_NAME, STANDIN_PCI (device and vendor),
   STANDIN_CAPABILITY (89), STANDIN_DRIVER and STANDIN_CUDA (12080). */
#include <stdio.h>
#include "trouble.h"

typedef unsigned U;
typedef unsigned long long U64;
typedef struct gpu { int index; } *Gpu;
static struct gpu gpus[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
static int rounds[8]; /* how often the SM clock of each was asked for */
enum { NOT_SUPPORTED = 3 };
#define ROUND(g) rounds[(g)->index]
#define BAD(g) ((g)->index == number("STANDIN_BAD", -1) && ROUND(g) >= number("STANDIN_ROUNDS", 0))
#ifdef CLINIC
#define CHOSEN(chosen, otherwise) (chosen)
#else
#define CHOSEN(chosen, otherwise) (otherwise)
#endif
#ifdef LIVE
#define CHANGING(live, still) (live)
#else
#define CHANGING(live, still) (still)
#endif
#define SICK(g) if (BAD(g)) { trouble("STANDIN_GPU_TROUBLE"); if (number("STANDIN_GPU_CODE", 0)) return number("STANDIN_GPU_CODE", 0); }
#define ONE(name, value) int name(Gpu g, U *v) { SICK(g); *v = (value); return 0; }
#define TWO(name, value) int name(Gpu g, int which, U *v) { SICK(g); *v = (value); return 0; }
#define TEXT(name, ...) int name(Gpu g, char *s, U n) { snprintf(s, n, __VA_ARGS__); return 0; }
#define NONE(name) int name(void) { return NOT_SUPPORTED; }

static int init(void) { trouble("STANDIN_NVML_TROUBLE"); return number("STANDIN_NVML", 0); }
int nvmlInit_v2(void) { return init(); }
const char *nvmlErrorString(int code) {
    switch (code) {
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 16: return "GPU requires reset";
    case 17: return "GPU access blocked by the operating system";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error"; /* as the driver says of 999 */
    }
}
int nvmlSystemGetDriverVersion(char *s, U n) { snprintf(s, n, "%s", CHOSEN(getenv("STANDIN_DRIVER"), "550.54.14")); return 0; }
int nvmlSystemGetCudaDriverVersion(int *v) { *v = CHOSEN(number("STANDIN_CUDA", 12080), 12040); return 0; }
int nvmlDeviceGetCount_v2(U *n) { *n = (U)number("STANDIN_DEVICES", CHOSEN(1, 2)); return 0; }
int nvmlDeviceGetHandleByIndex_v2(U i, Gpu *g) { *g = &gpus[i]; return i == (U)number("STANDIN_GONE", -1) ? number("STANDIN_GONE_CODE", 15) : 0; }
#ifdef CLINIC
TEXT(nvmlDeviceGetName, "%s", getenv("STANDIN_NAME"))
#else
TEXT(nvmlDeviceGetName, "NVIDIA GeForce RTX %d", 4090 + g->index)
#endif
TEXT(nvmlDeviceGetUUID, "GPU-00000000-0000-0000-0000-00000000000%d", g->index)
typedef struct { char legacy[16]; U domain, bus, device, id, subsystem; char text[32]; } Pci;
int nvmlDeviceGetPciInfo_v3(Gpu g, Pci *p) {
    p->domain = 0, p->bus = (U)(10 + g->index), p->device = 0, p->id = CHOSEN((U)strtoul(getenv("STANDIN_PCI"), NULL, 16), 0x268410de);
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(Gpu g, int *a, int *b) { SICK(g); *a = CHOSEN(number("STANDIN_CAPABILITY", 89) / 10, 8), *b = CHOSEN(number("STANDIN_CAPABILITY", 89) % 10, 9); return 0; }
typedef struct { U64 total, free, used; } Memory;
int nvmlDeviceGetMemoryInfo(Gpu g, Memory *m) {
    SICK(g);
    if (number("STANDIN_UNIFIED", 0)) return NOT_SUPPORTED;
    m->total = 24ull << 30, m->used = 1ull << 30, m->free = 23ull << 30;
    return 0;
}
int nvmlDeviceGetPowerUsage(Gpu g, U *v) { SICK(g); *v = 30500; return number("STANDIN_POWER", 0); }
ONE(nvmlDeviceGetEnforcedPowerLimit, 450000)
int nvmlDeviceGetPowerManagementLimitConstraints(Gpu g, U *low, U *high) { SICK(g); *low = 150000, *high = 600000; return 0; }
ONE(nvmlDeviceGetCurrPcieLinkGeneration, CHANGING(ROUND(g) == 3 ? 4 : 1, 1))
ONE(nvmlDeviceGetMaxPcieLinkGeneration, 4)
ONE(nvmlDeviceGetCurrPcieLinkWidth, CHOSEN(16, 8))
ONE(nvmlDeviceGetMaxPcieLinkWidth, 16)
int nvmlDeviceGetNumFans(Gpu g, U *n) { SICK(g); *n = (U)number("STANDIN_FANS", 2); return *n ? 0 : NOT_SUPPORTED; }
TWO(nvmlDeviceGetFanSpeed_v2, 30 + which)
TWO(nvmlDeviceGetApplicationsClock, 1980)
TWO(nvmlDeviceGetDefaultApplicationsClock, 2520)
ONE(nvmlDeviceGetComputeMode, CHOSEN(0, 3))
ONE(nvmlDeviceGetPersistenceMode, 1)
ONE(nvmlDeviceGetPerformanceState, 8)
TWO(nvmlDeviceGetTemperature, CHANGING(40 + ROUND(g), 40))
/* With STANDIN_MARGIN the thresholds are margins, as from Ada on. */
int nvmlDeviceGetTemperatureThreshold(Gpu g, int which, U *v) {
    SICK(g);
    *v = which == 1 ? 95 : which == 3 ? number("STANDIN_GPU_MAX", 88) : 99;
    return (which < 2 || which == 3) && number("STANDIN_MARGIN", 0) ? NOT_SUPPORTED : 0;
}
typedef struct { U version; int left; } Margin;
int nvmlDeviceGetMarginTemperature(Gpu g, Margin *m) {
    SICK(g);
    m->left = number("STANDIN_MARGIN", 0);
    return m->left ? 0 : NOT_SUPPORTED;
}
TWO(nvmlDeviceGetClockInfo, (ROUND(g) += which == 1, CHANGING(which == 1 ? 1000 + 10 * ROUND(g) : 2619, 210)))
TWO(nvmlDeviceGetMaxClockInfo, 2520)
int nvmlDeviceGetCurrentClocksThrottleReasons(Gpu g, U64 *v) {
    SICK(g);
    *v = CHANGING(ROUND(g) == 1 ? 1 : number("STANDIN_REASONS", 0), CHOSEN(1, 0x800000000044ull));
    return 0;
}
#ifdef LIVE
typedef struct { U gpu, memory; } Utilisation;
int nvmlDeviceGetUtilizationRates(Gpu g, Utilisation *u) { SICK(g); u->gpu = 7, u->memory = 0; return 0; }
#endif
#ifdef DATACENTRE
TEXT(nvmlDeviceGetSerial, "165012345%d", g->index)
ONE(nvmlDeviceGetRetiredPagesPendingStatus, 1)
ONE(nvmlDeviceGetMaxMigDeviceCount, 3)
ONE(nvmlDeviceGetPcieReplayCounter, 17 + number("STANDIN_REPLAYS", 0) * ROUND(g))
ONE(nvmlDeviceGetArchitecture, 9)
int nvmlDeviceGetVirtualizationMode(Gpu g, U64 *v) { SICK(g); *v = 1; return 0; }
int nvmlDeviceGetEccMode(Gpu g, U *now, U *next) { SICK(g); *now = 1, *next = 0; return 0; }
int nvmlDeviceGetTotalEccErrors(Gpu g, int kind, int total, U64 *n) {
    SICK(g);
    *n = kind == 1 ? total ? 5 : 2 + number("STANDIN_ERRORS", 0) * ROUND(g) : 99;
    return 0;
}
int nvmlDeviceGetRemappedRows(Gpu g, U *a, U *b, U *c, U *d) { SICK(g); *a = 1, *b = 3, *c = 1, *d = 0; return 0; }
int nvmlDeviceGetMigMode(Gpu g, U *now, U *next) { SICK(g); *now = *next = 1; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(Gpu g, U slot, Gpu *mig) { SICK(g); *mig = &gpus[5 + slot]; return slot == 1 ? 6 : 0; }
typedef struct { U version; unsigned char cluster[16]; int status; U clique, state, health; unsigned char summary; } Fabric;
int nvmlDeviceGetGpuFabricInfoV(Gpu g, Fabric *f) {
    SICK(g);
    int summary = number("STANDIN_SUMMARY", 0);
    f->status = 0, f->state = 2, f->health = summary ? 0 : 0x529, f->cluster[0] = 0xab;
    if (f->version == 0x02000024) return 0;
    if (f->version == 0x03000028 && summary) { f->summary = (unsigned char)summary; return 0; }
    return 25;
}
typedef struct { U id, scope; long long at, took; U kind; int code; U64 value; } Field;
int nvmlDeviceGetFieldValues(Gpu g, int n, Field *f) {
    SICK(g);
    int newer = number("STANDIN_NVLINK5", 0);
    for (int i = 0; i < n; i++) {
        U id = f[i].id;
        int known = id == 82 || (!newer && id > 44 && id < 60) || (newer && id == 215) || (id > 192 && id < 197 && id != 195);
        f[i].code = id == 230 ? number("STANDIN_FIELD", 0) : known ? 0 : 3;
        f[i].value = id == 230 ? 4 : id == 215 ? 7 + f[i].scope : id, f[i].kind = id == 230 || id == 82 ? 1 : 3;
        if (id > 192 && id < 197) f[i].value = (U)(id == 193 ? -8 : id == 194 ? -2 : 0), f[i].kind = 5;
    }
    return 0;
}
int nvmlDeviceValidateInforom(Gpu g) { SICK(g); return number("STANDIN_INFOROM", 0); }
typedef struct { U max, high, partial, low, none; } Rows;
int nvmlDeviceGetRowRemapperHistogram(Gpu g, Rows *r) { SICK(g); r->max = 600, r->high = r->partial = r->low = 0, r->none = 2; return 0; }
typedef struct { U version; U64 counts[11]; U exceeded; } Sram;
int nvmlDeviceGetSramEccErrorStatus(Gpu g, Sram *s) { SICK(g); s->exceeded = 1; return s->version == 0x1000068 ? 0 : 25; }
typedef struct { U environment, feature, tools; } Confidential;
int nvmlSystemGetConfComputeState(Confidential *c) { c->feature = (U)number("STANDIN_CONFIDENTIAL", 0); return 0; }
typedef struct { U version, environment, feature, tools, several; } Protection;
int nvmlSystemGetConfComputeSettings(Protection *p) { p->several = (U)number("STANDIN_PROTECTED_PCIE", 0); return p->version == 0x1000014 ? 0 : 25; }
int nvmlSystemGetConfComputeGpusReadyState(U *v) { *v = 0; return 0; }
#else
NONE(nvmlDeviceGetEccMode)
NONE(nvmlDeviceGetTotalEccErrors)
NONE(nvmlDeviceGetMigMode)
NONE(nvmlDeviceGetGpuFabricInfo)
#endif
int nvmlDeviceGetNvLinkState(Gpu g, U link, U *on) { SICK(g); *on = link == 0; return link < (U)number("STANDIN_LINKS", 0) ? 0 : 2; }
typedef struct { U pid; U64 used; U a, b; } Process;
int nvmlDeviceGetComputeRunningProcesses_v3(Gpu g, U *n, Process *p) {
    SICK(g);
    U room = *n;
    *n = 1;
    if (room < 1) return 7;
    p[0].pid = (U)number("STANDIN_PID", 1), p[0].used = 1 << 30;
    return 0;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(Gpu g, U *n, Process *p) { (void)p; SICK(g); *n = 0; return 0; }
