/* Streams whose work waits until somebody waits for it, and then runs in an order that nobody should rely on.

   A stream runs only as far as what is waited for needs it; where all run, the oldest stream is first, or with
   STANDIN_ORDER=reverse the youngest. So a missing synchronisation shows as old data. */
#include <time.h>

/* A moment in a stream; an event means the last that was recorded with it. */
typedef struct { struct stream *on; int reached; struct timespec at; } Moment;
typedef struct { Moment *moment; } Event;
typedef struct op {
    void (*run)(struct op *);
    void *to;
    const void *from;
    size_t size;
    unsigned bits, wide, high;
    const Kernel *kernel;
    char arguments[8 * 12];
    char *kept; /* a copy of pageable memory, which its owner may change */
    Moment *moment;
    struct op *next;
} Op;
typedef struct stream { int device; Op *first, **last; struct stream *older; } Stream;

static Stream *youngest;

static Stream *new_stream(int device) {
    Stream *s = calloc(1, sizeof *s);
    s->device = device, s->last = &s->first, s->older = youngest, youngest = s;
    return s;
}

static Op *queue(Stream *s, void (*run)(Op *)) {
    Op *op = calloc(1, sizeof *op);
    op->run = run, *s->last = op, s->last = &op->next;
    return op;
}

/* Runs what a stream holds; until a moment is reached, where one is given. */
static void run_stream(Stream *s, const Moment *until) {
    while (s->first && !(until && until->reached)) {
        Op *op = s->first;
        s->first = op->next;
        if (!s->first) s->last = &s->first;
        op->run(op);
        free(op->kept);
        free(op);
    }
}

static void run_wait(Op *op) {
    if (!op->moment->reached) run_stream(op->moment->on, op->moment);
}

static void run_record(Op *op) {
    op->moment->reached = 1;
    clock_gettime(CLOCK_MONOTONIC, &op->moment->at);
}

static void run_all(int device) {
    Stream *order[64];
    int count = 0, reverse = getenv("STANDIN_ORDER") && !strcmp(getenv("STANDIN_ORDER"), "reverse");
    for (Stream *s = youngest; s && count < 64; s = s->older) if (s->device == device) order[count++] = s;
    for (int i = 0; i < count; i++) run_stream(order[reverse ? i : count - 1 - i], NULL);
}

static void end_stream(Stream *s) {
    run_stream(s, NULL);
    for (Stream **at = &youngest; *at; at = &(*at)->older)
        if (*at == s) { *at = s->older; break; }
    free(s);
}
