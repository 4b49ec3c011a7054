/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the programs and the Go side, layout.go, both know. */
#ifndef SHARED_H
#define SHARED_H

#define DEVICES 16
#define CALLS 512      /* system calls known by number */
#define BUCKETS 16384  /* of pending: a power of two */
#define TASKS 8192     /* a power of two */
#define FIFOS 512      /* a power of two */
#define FIFO_SLOTS 256 /* a power of two */
#define RECENT 64      /* a power of two */
#define NONE 255       /* no device */
#define SOMEBODY 0xffffffff /* owner of requests that were not timed */

/* In the order of iotrace.Interval. */
enum { Q2Q, Q2G, G2I, Q2M, I2D, M2D, D2C, Q2C, D2N, N2C, Q2D, S2Q, S2X, C2R, T, X2W, DISTS };

/* In the order of iotrace.Op. */
enum { READ, WRITE, DISCARD, FLUSH, OTHER };

/* What is counted of a device. */
enum { BACK_MERGES, FRONT_MERGES, OTHER_MERGES, SPLITS, REMAPS, REQUEUES, PLUGS, UNPLUGS, TIMER_UNPLUGS, UNSEEN, SEQUENTIAL, ISSUES, COUNTERS };

/* What there was no room for. */
enum { LOST_PENDING, LOST_OWNERS, LOST_CELLS, LOST_DISTS, LOST_EVENTS, LOST_CALLS, LOST_REAPS, LOSSES };

enum { JOINED = 1, CAME };

/*
 * At a high rate a CPU times one request in many, and counts all. Which one is
 * left to chance: what takes turns must not look like itself.
 */
#define TURNS 64           /* timed ones after which the rate is looked at */
#define LEAST_GAP 80000    /* nanoseconds between two that are timed, in the mean: fewer are timed below it, */
#define GREATEST_GAP 320000 /* and more above */
#define GREATEST_WEIGHT 16 /* times that of a slice of time it is one of pending's bytes */

struct pace {
	u64 since; /* when the turns began */
	u32 left;  /* requests until the next that is timed */
	u32 turns;
	u32 weight; /* one in so many is timed */
	u32 tid;    /* who queued the last one; 0 for a kernel thread, which may do it for anybody */
	u32 owner;
	u32 slice;  /* of the turns */
	u64 timed, stood; /* so many were timed, and stood for so many */
};

/* What a system call does, as far as it matters here. */
enum { CALL_NONE, CALL_SYNC, CALL_SUBMIT, CALL_REAP, CALL_RING };

/*
 * The histogram: steps of 16 ns below 256 ns, and above that 16 steps in each
 * octave up to 2^34 ns, which is 17 s.
 */
#define STEP_BITS 4
#define FIRST_OCTAVE 8
#define LAST_OCTAVE 33
#define BINS ((1 << STEP_BITS) * (LAST_OCTAVE - FIRST_OCTAVE + 2))

struct dist {
	u64 cell; /* struct dist tells what it is of: two CPUs may begin one at once */
	u64 interval;
	u64 count, sum, max; /* a request that is timed stands for others: see struct pace */
	u64 notmin; /* the complement of the least: nothing needs to be set up */
	u64 squares_low, squares_high;
	u64 requests, bytes; /* all that are complete, timed or not: of D2C, and of Q2C where there is no D */
	u32 bins[BINS];
};

/*
 * A cell's key: owner in the low 32 bits, then device, op, size (0 for none,
 * else one more than the exponent of the power of two that holds it), and
 * whether a system call was followed.
 */
#define KEY_DEV 32
#define KEY_OP 40
#define KEY_SIZE 48
#define KEY_CALL 56

struct cell {
	u32 dist[DISTS]; /* their places in dists; 0 for none yet */
};

struct owner_key {
	u64 cgroup;
	u32 pid;
	u32 kernel;
	char comm[16];
};

/* A request that is under way: from Q until C. */
struct pending {
	u64 key; /* address of its first bio, or of itself when it has none; 0 when free */
	u64 q, d, n;
	u64 entered; /* when the system call was entered that queued it; 0 for unknown */
	u32 owner;
	u32 task; /* who waits for it */
	u16 cpu;
	u8 weight; /* how many requests it stands for; 0 when it is not timed */
	u8 queued; /* it has a Q */
	u16 merged;
	u8 dev;
	u8 over; /* a bio-based device that it came through, or NONE */
	u8 call; /* CALL_ */
	u8 requeued;
	u8 into; /* JOINED: this bio went into the request of another, at d; CAME: from another device, and it may yet be queued at this one */
	u8 op;   /* of a bio, which no longer knows when it is complete: for bio-based devices */
	u32 bytes;

	u64 g, i; /* on a cache line that only the stages need */
	u64 unused[6];
};

struct bucket {
	struct pending way[2];
};

struct task {
	u32 tid;
	u8 call; /* CALL_ */
	u8 used; /* of cells */
	u8 waits; /* for completions */
	u8 unused;
	u32 queue; /* whose completions are its: see queue_of */
	u32 taken; /* completions that were taken from a queue, when it was last looked at, */
	u32 known; /* which was this one */
	u32 unused2;
	u64 context; /* of io_getevents */
	u64 entered;
	u64 left; /* when the call that queued something returned */
	u64 back; /* when it came back from its ring's last call */
	u64 cell[4];
	u32 queued[4];
};

struct completion {
	u64 at;
	u64 cell;
	u64 entered;
};

struct fifo {
	u64 key;
	u32 head, tail;
	struct completion slot[FIFO_SLOTS];
};

/* One completed request, as the ring buffer gives it. */
struct request_record {
	u64 q, g, i, d, n, c;
	u64 sector;
	u32 bytes;
	u32 owner;
	u32 cpu;
	s32 error;
	u16 merged;
	u8 dev, op, requeued, call;
	u8 unused[2];
};

/* One event, as a capture has it. */
struct event_record {
	u64 time, sector;
	u64 data;    /* of its own: depth of an unplug, where the rest of a split begins, where a remap came from */
	u64 data_dev; /* the device that a remap came from */
	u32 bytes, opf;
	u32 tid, cpu;
	s32 error;
	u8 dev;
	u8 action; /* the letter that blkparse prints; N for a submission */
	u8 unused[2];
	char comm[16];
};

#endif
