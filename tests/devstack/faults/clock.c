/* A time of day that is AHEAD seconds ahead while the file SWITCH exists, for a process that loads
   this with LD_PRELOAD.

   Only what reads the time of day is changed. libfaketime (0.9.10) also changes sleeps until a time
   of the monotonic clock: Python's time.sleep() fails under it, and with it the end of gunicorn.

   cc -shared -fPIC -DAHEAD=600 -DSWITCH='"/tmp/ahead"' -o clock.so clock.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);

    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    int of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (!failed && of_day && access(SWITCH, F_OK) == 0)
        now->tv_sec += AHEAD;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);

    (void)zone;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *where)
{
    struct timespec exact;

    clock_gettime(CLOCK_REALTIME, &exact);
    if (where)
        *where = exact.tv_sec;
    return exact.tv_sec;
}
