/* Ways in which a driver stops answering, chosen by an environment variable. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int number(const char *name, int fallback) {
    const char *value = getenv(name);
    return value ? atoi(value) : fallback;
}

static void trouble(const char *name) {
    const char *what = getenv(name);
    if (!what) return;
    if (!strcmp(what, "deaf")) signal(SIGTERM, SIG_IGN);
    if (!strcmp(what, "stop")) raise(SIGSTOP);
    if (!strcmp(what, "crash")) raise(SIGSEGV);
    if (!strcmp(what, "exit")) _exit(7);
    for (;;) pause();
}
