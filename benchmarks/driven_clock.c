/* Moves the wall clock of a process by the seconds in the file that DRIVEN_CLOCK names: eight bytes, an int64.

   For LD_PRELOAD. Only what reads the time of day is changed. Monotonic clocks, sleeps and timeouts are left alone, so
   that a process waits as long as it would; libfaketime 0.9.10 makes Python's time.sleep fail instead (EINVAL). A wait
   until a time of day would last too long (sem_timedwait, so locks of multiprocessing with a timeout); Python's threads
   wait by the monotonic clock since 3.11. Times of files stay those of the machine. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;

__attribute__((constructor)) static void map_file(void) {
    const char *path = getenv("DRIVEN_CLOCK");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED)
        ahead = page;
}

static int64_t offset(void) { return ahead == NULL ? 0 : *ahead; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += offset();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec moment;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &moment) != 0)
        return -1;
    now->tv_sec = moment.tv_sec;
    now->tv_usec = moment.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec moment;
    clock_gettime(CLOCK_REALTIME, &moment);
    if (out != NULL)
        *out = moment.tv_sec;
    return moment.tv_sec;
}
