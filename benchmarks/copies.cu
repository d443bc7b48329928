// Copies between pinned host memory and the device, by CUDA alone: what gpudoctor's figures are held against.
//
//     nvcc -O2 -o copies copies.cu && ./copies 256 512
//
// The recipe is that of nvbandwidth (https://github.com/NVIDIA/nvbandwidth), in words of our own: the process runs on
// the CPUs beside the GPU before it takes memory, four copies do not count, sixteen are queued between two events, the
// median of three such samples is the figure. The bytes are random, because some links and drivers compress zeros.
// For each size in MiB it writes one line of JSON, in GB/s of 1e9 bytes.

#include <cuda_runtime.h>
#include <sched.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

static const int WARM_UP = 4, COPIES = 16, SAMPLES = 3;

static void check(cudaError_t code, const char *what) {
    if (code != cudaSuccess) {
        fprintf(stderr, "%s: %s (%s)\n", what, cudaGetErrorString(code), cudaGetErrorName(code));
        exit(1);
    }
}

// Run on the CPUs of a list like "0-15,32-47"; returns what was done, in words.
static std::string run_on(const std::string &list) {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::stringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');) {
        int first = 0, last = 0;
        int read = sscanf(part.c_str(), "%d-%d", &first, &last);
        for (int cpu = first; read >= 1 && cpu <= (read == 2 ? last : first) && cpu < CPU_SETSIZE; cpu++) CPU_SET(cpu, &set);
    }
    if (CPU_COUNT(&set) == 0) return "not set: the kernel lists no CPUs beside the GPU";
    return sched_setaffinity(0, sizeof set, &set) == 0 ? "CPUs " + list : "not set: the kernel refused CPUs " + list;
}

static std::string beside_the_gpu(int device) {
    char address[32] = "";
    check(cudaDeviceGetPCIBusId(address, sizeof address, device), "cudaDeviceGetPCIBusId");
    std::string lower(address), list;
    for (char &c : lower) c = (char)tolower((unsigned char)c);
    std::ifstream file("/sys/bus/pci/devices/" + lower + "/local_cpulist");
    return std::getline(file, list) ? run_on(list) : "not set: /sys does not list " + lower;
}

static double sample(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    cudaEvent_t begin, end;
    float milliseconds = 0;
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    check(cudaEventRecord(begin, stream), "cudaEventRecord");
    for (int i = 0; i < COPIES; i++) check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
    check(cudaEventRecord(end, stream), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    check(cudaEventDestroy(begin), "cudaEventDestroy");
    check(cudaEventDestroy(end), "cudaEventDestroy");
    return (double)bytes * COPIES / (milliseconds * 1e6);
}

static double rate(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    double found[SAMPLES];
    for (int i = 0; i < WARM_UP; i++) check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (double &one : found) one = sample(to, from, bytes, kind, stream);
    std::sort(found, found + SAMPLES);
    return found[SAMPLES / 2];
}

static void fill(uint64_t *words, size_t count) {
    uint64_t state = 0x9E3779B97F4A7C15ull;  // xorshift64: G. Marsaglia, "Xorshift RNGs", 2003
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        words[i] = state;
    }
}

int main(int count, char **words) {
    int device = 0;
    std::string where = beside_the_gpu(device);
    cudaStream_t stream;
    check(cudaSetDevice(device), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    for (int i = 1; i < count; i++) {
        size_t bytes = strtoull(words[i], nullptr, 10) << 20;
        void *host = nullptr, *back = nullptr, *there = nullptr;
        check(cudaMallocHost(&host, bytes), "cudaMallocHost");
        check(cudaMallocHost(&back, bytes), "cudaMallocHost");
        check(cudaMalloc(&there, bytes), "cudaMalloc");
        fill((uint64_t *)host, bytes / 8);
        double up = rate(there, host, bytes, cudaMemcpyHostToDevice, stream);
        double down = rate(back, there, bytes, cudaMemcpyDeviceToHost, stream);
        bool same = std::equal((uint64_t *)host, (uint64_t *)host + bytes / 8, (uint64_t *)back);
        printf("{\"bytes\": %zu, \"h2d\": %.3f, \"d2h\": %.3f, \"same\": %s, \"affinity\": \"%s\"}\n", bytes, up, down,
               same ? "true" : "false", where.c_str());
        check(cudaFree(there), "cudaFree");
        check(cudaFreeHost(host), "cudaFreeHost");
        check(cudaFreeHost(back), "cudaFreeHost");
    }
    return 0;
}
