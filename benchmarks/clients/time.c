/* Times the exported codec (game.h) beside what is written by hand (by_hand.h), in one run, round by round.

   time ROTATIONS SNAPSHOTS ROUNDS: files of records one behind the other, 7 and 345 bytes each. Prints lines of
   `task`, and the median nanoseconds a record of both: exported, by hand. Exit 1 where their bytes differ. */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "by_hand.h"
#include "game.h"

enum { ROTATIONS = 512, SNAPSHOTS = 64, ENTITIES = 16, SNAPSHOT = 9 + 21 * ENTITIES, MOST_ROUNDS = 10001 };

static uint8_t rotations[ROTATIONS][7], snapshots[SNAPSHOTS][SNAPSHOT], bytes[SNAPSHOT];
static game_rotation_v1 ours[ROTATIONS];
static hand_rotation theirs[ROTATIONS];
static game_snapshot_v2 our_snapshots[SNAPSHOTS];
static hand_snapshot their_snapshots[SNAPSHOTS];
static hand_entity their_entities[SNAPSHOTS][ENTITIES];
static game_entity_v2 our_entities[SNAPSHOTS][ENTITIES];
static game_fault fault;
static hand_fault hand;
static size_t failed;

/* Keeps the compiler from leaving out what nobody looks at. */
static void seen(const void *what)
{
    __asm__ volatile("" : : "r"(what) : "memory");
}

static void parse_rotations(void)
{
    size_t at;
    for (at = 0; at < ROTATIONS; at++) {
        failed += !game_rotation_v1_parse(rotations[at], 7, &ours[at], &fault);
        seen(&ours[at]);
    }
}

static void parse_rotations_by_hand(void)
{
    size_t at;
    for (at = 0; at < ROTATIONS; at++) {
        failed += !hand_rotation_parse(rotations[at], 7, &theirs[at], &hand);
        seen(&theirs[at]);
    }
}

static void build_rotations(void)
{
    size_t at;
    for (at = 0; at < ROTATIONS; at++) {
        failed += !game_rotation_v1_build(&ours[at], bytes, &fault);
        seen(bytes);
    }
}

static void build_rotations_by_hand(void)
{
    size_t at;
    for (at = 0; at < ROTATIONS; at++) {
        failed += !hand_rotation_build(&theirs[at], bytes, &hand);
        seen(bytes);
    }
}

static void parse_snapshots(void)
{
    size_t at;
    for (at = 0; at < SNAPSHOTS; at++) {
        game_arena arena = game_arena_over(our_entities[at], sizeof our_entities[at]);
        failed += !game_snapshot_v2_parse(snapshots[at], SNAPSHOT, &our_snapshots[at], &arena, &fault);
        seen(&our_snapshots[at]);
    }
}

static void parse_snapshots_by_hand(void)
{
    size_t at;
    for (at = 0; at < SNAPSHOTS; at++) {
        their_snapshots[at].entities = their_entities[at];
        failed += !hand_snapshot_parse(snapshots[at], SNAPSHOT, &their_snapshots[at], ENTITIES, &hand);
        seen(&their_snapshots[at]);
    }
}

static void build_snapshots(void)
{
    size_t at, size;
    for (at = 0; at < SNAPSHOTS; at++) {
        failed += !game_snapshot_v2_build(&our_snapshots[at], bytes, sizeof bytes, &size, &fault);
        seen(bytes);
    }
}

static void build_snapshots_by_hand(void)
{
    size_t at, size;
    for (at = 0; at < SNAPSHOTS; at++) {
        failed += !hand_snapshot_build(&their_snapshots[at], bytes, sizeof bytes, &size, &hand);
        seen(bytes);
    }
}

typedef struct {
    const char *name;
    void (*run)(void);
    void (*by_hand)(void);
    int records;
    int repeats; /* of a sample, which then lasts some microseconds */
} task;

static const task tasks[] = {
    {"rotation v1: parse", parse_rotations, parse_rotations_by_hand, ROTATIONS, 8},
    {"rotation v1: build", build_rotations, build_rotations_by_hand, ROTATIONS, 8},
    {"snapshot v2, 16 entities: parse", parse_snapshots, parse_snapshots_by_hand, SNAPSHOTS, 4},
    {"snapshot v2, 16 entities: build", build_snapshots, build_snapshots_by_hand, SNAPSHOTS, 4},
};

enum { TASKS = sizeof tasks / sizeof *tasks };

static double samples[TASKS][2][MOST_ROUNDS];

static double once(const task *what, void (*run)(void))
{
    struct timespec start, end;
    int repeat;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (repeat = 0; repeat < what->repeats; repeat++) {
        run();
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / what->repeats
           / what->records;
}

static int by_value(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static int load(const char *path, void *room, size_t size)
{
    FILE *stream = fopen(path, "rb");
    const int whole = stream != NULL && fread(room, 1, size, stream) == size;
    if (stream != NULL) {
        fclose(stream);
    }
    return whole;
}

/* Whether both read every record, and write its bytes. */
static int agree(void)
{
    uint8_t other[SNAPSHOT];
    size_t at, size;
    parse_rotations();
    parse_rotations_by_hand();
    parse_snapshots();
    parse_snapshots_by_hand();
    for (at = 0; at < ROTATIONS && failed == 0; at++) {
        failed += !game_rotation_v1_build(&ours[at], bytes, &fault) || memcmp(bytes, rotations[at], 7) != 0;
        failed += !hand_rotation_build(&theirs[at], other, &hand) || memcmp(other, rotations[at], 7) != 0;
    }
    for (at = 0; at < SNAPSHOTS && failed == 0; at++) {
        failed += !game_snapshot_v2_build(&our_snapshots[at], bytes, SNAPSHOT, &size, &fault) || size != SNAPSHOT
                  || memcmp(bytes, snapshots[at], SNAPSHOT) != 0;
        failed += !hand_snapshot_build(&their_snapshots[at], other, SNAPSHOT, &size, &hand) || size != SNAPSHOT
                  || memcmp(other, snapshots[at], SNAPSHOT) != 0;
    }
    return failed == 0;
}

int main(int count, char **words)
{
    const int rounds = count == 4 ? atoi(words[3]) : 0;
    int round, number;
    if (rounds < 1 || rounds > MOST_ROUNDS || !load(words[1], rotations, sizeof rotations)
        || !load(words[2], snapshots, sizeof snapshots)) {
        fputs("usage: time ROTATIONS SNAPSHOTS ROUNDS\n", stderr);
        return 2;
    }
    if (!agree()) {
        fputs("the exported codec and the one by hand do not agree\n", stderr);
        return 1;
    }
    for (round = 0; round < rounds; round++) {
        for (number = 0; number < TASKS; number++) {
            const task *what = &tasks[(number + round) % TASKS];
            const int first = round % 2; /* nobody always runs behind the same neighbour */
            samples[what - tasks][first][round] = once(what, first ? what->by_hand : what->run);
            samples[what - tasks][!first][round] = once(what, first ? what->run : what->by_hand);
        }
    }
    for (number = 0; number < TASKS; number++) {
        qsort(samples[number][0], (size_t)rounds, sizeof(double), by_value);
        qsort(samples[number][1], (size_t)rounds, sizeof(double), by_value);
        printf("%s\t%.2f\t%.2f\n", tasks[number].name, samples[number][0][rounds / 2], samples[number][1][rounds / 2]);
    }
    return failed != 0;
}
