/* Runs the text of kernels.cu on the CPU, as C: thread by thread between two barriers, block by block.

   Every block starts with NaN in its shared memory, and every second block has its threads run backwards, so that a
   missing barrier gives wrong numbers. A barrier that only some threads reach ends the process. */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

typedef struct { unsigned x, y, z; } Place;
typedef struct { float x, y, z, w; } __attribute__((aligned(16))) float4;
static Place threadIdx, blockIdx, gridDim;

#define KERNEL static void
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static __attribute__((section("shared_memory")))
extern char __start_shared_memory[], __stop_shared_memory[];
static void barrier(void);
#define __syncthreads() barrier()

#include "../../gpudoctor/workers/smoke/cuda/kernels.cu"

/* What a kernel's arguments are in the order of its parameters, eight bytes each. */
#define P(at) (*(void **)(v + 8 * at))
#define N(at) (*(count_t *)(v + 8 * at))
#define I(at) (*(int *)(v + 8 * at))
#define F(at) (*(float *)(v + 8 * at))
#define CALL(name, ...) static void call_##name(const char *v) { name(__VA_ARGS__); }
CALL(multiply, P(0), I(1), I(2), P(3), I(4), I(5), P(6), I(7), I(8), I(9))
CALL(add_bias, P(0), P(1), I(2), I(3), I(4))
CALL(entropy, P(0), P(1), P(2), P(3), I(4), I(5))
CALL(relu_back, P(0), P(1), N(2))
CALL(column_sums, P(0), P(1), I(2), I(3))
CALL(descend, P(0), P(1), F(2), N(3))
CALL(number, P(0), N(1))
CALL(copy, P(0), P(1), N(2))
CALL(triad, P(0), P(1), P(2), N(3))
CALL(read_sums, P(0), P(1), N(2))
CALL(wrong_numbers, P(0), F(1), P(2), N(3))
CALL(wrong_sums, P(0), P(1), N(2))
CALL(unequal, P(0), P(1), P(2), N(3))

typedef struct { const char *name; void (*call)(const char *); int barriers; } Kernel;
#define ONE(name, barriers) { #name, call_##name, barriers }
static const Kernel kernels[] = {
    ONE(multiply, 1), ONE(add_bias, 0), ONE(entropy, 0), ONE(relu_back, 0), ONE(column_sums, 0), ONE(descend, 0),
    ONE(number, 0), ONE(copy, 0), ONE(triad, 0), ONE(read_sums, 1), ONE(wrong_numbers, 1), ONE(wrong_sums, 1),
    ONE(unequal, 1),
};
enum { KERNELS = sizeof kernels / sizeof *kernels, STACK = 32768 };

/* A context is made once for each thread's stack; from there on jumps do, which ask nothing of the kernel. */
static ucontext_t threads[THREADS];
static jmp_buf back, there[THREADS];
static char stacks[THREADS][STACK] __attribute__((aligned(16)));
static char ended[THREADS];
static const Kernel *running;
static const char *arguments;

static void barrier(void) {
    if (!running->barriers) fprintf(stderr, "%s waits and is not marked so\n", running->name), abort();
    if (!_setjmp(there[threadIdx.x])) _longjmp(back, 1);
}

static void thread(void) {
    running->call(arguments);
    ended[threadIdx.x] = 1;
}

/* What a stack runs: a thread of one block after the other. */
static void threads_for_ever(void) {
    for (;;) {
        thread();
        if (!_setjmp(there[threadIdx.x])) _longjmp(back, 1);
    }
}

static void resume(unsigned t) {
    threadIdx.x = t;
    if (_setjmp(back)) return;
    if (threads[t].uc_stack.ss_sp) _longjmp(there[t], 1);
    getcontext(&threads[t]);
    threads[t].uc_stack.ss_sp = stacks[t], threads[t].uc_stack.ss_size = STACK;
    makecontext(&threads[t], threads_for_ever, 0);
    setcontext(&threads[t]);
}

/* From barrier to barrier, until all threads have ended together. */
static void run_together(int backwards) {
    memset(ended, 0, sizeof ended);
    for (int over = 0; over < THREADS;) {
        for (int t = 0; t < THREADS; t++) resume((unsigned)(backwards ? THREADS - 1 - t : t));
        over = 0;
        for (int t = 0; t < THREADS; t++) over += ended[t];
        if (over && over < THREADS) fprintf(stderr, "%s: a barrier for some threads only\n", running->name), abort();
    }
}

/* Runs a kernel over its grid; v holds its arguments, eight bytes each. */
static void run_kernel(const Kernel *kernel, unsigned wide, unsigned high, const char *v) {
    running = kernel, arguments = v, gridDim.x = wide, gridDim.y = high, gridDim.z = 1;
    for (blockIdx.y = 0; blockIdx.y < high; blockIdx.y++)
        for (blockIdx.x = 0; blockIdx.x < wide; blockIdx.x++) {
            const int backwards = (blockIdx.x + blockIdx.y) % 2;
            memset(__start_shared_memory, 0xff, (size_t)(__stop_shared_memory - __start_shared_memory));
            if (kernel->barriers) run_together(backwards);
            else for (unsigned t = 0; t < THREADS; t++) threadIdx.x = backwards ? THREADS - 1 - t : t, thread();
        }
}
