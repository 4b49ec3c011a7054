/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The tables, and how times are added up in them. */
#ifndef SUMS_H
#define SUMS_H

/* What user space sets before it loads the programs. */
const volatile u32 bio_based;       /* a bit for each device */
const volatile u32 application = 0;
const volatile u32 remaps = 0; /* bios may come from other devices */
const volatile u32 stages = 0;
const volatile u32 requests = 0;
const volatile u32 paced = 0; /* not all requests are timed: see struct pace */
const volatile u8 calls[CALLS];

const volatile u32 anchor = 1;

/*
 * A pointer as a number that tells objects apart. The verifier lets nobody
 * calculate with a pointer, but take the distance of two.
 */
INLINE u64 address(const void *p)
{
	u64 n = (u64)p;

#ifndef RAW
	asm volatile("%0 -= %1" : "+r"(n) : "r"(&anchor));
#endif
	return n;
}

/* The same for a pointer that the verifier takes for a number, from which it lets no pointer be taken. */
u64 anchor_address;

INLINE u64 raw_address(const void *p)
{
#ifdef RAW
	return (u64)p;
#else
	if (!anchor_address)
		anchor_address = (u64)&anchor;
	barrier();
	return (u64)p - *(volatile u64 *)&anchor_address;
#endif
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BUCKETS);
	__type(key, u32);
	__type(value, struct bucket);
} pending SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct cell);
} cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct dist);
} dists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1024);
	__type(value, u32);
} free_dists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct owner_key);
	__type(value, u32);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1024);
	__type(value, u32);
} free_owners SEC(".maps");

/* The owners of tasks that were seen last, by thread. */
struct known_task {
	u64 group; /* of a kernel thread the cgroup that is charged, else the kernel's set of its cgroups */
	u64 comm;  /* its first letters: a process becomes another program */
	u32 tid;
	u32 owner;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TASKS);
	__type(key, u32);
	__type(value, struct known_task);
} known_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, DEVICES * COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSSES);
	__type(key, u32);
	__type(value, u64);
} losses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TASKS);
	__type(key, u32);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FIFOS);
	__type(key, u32);
	__type(value, struct fifo);
} fifos SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DEVICES);
	__type(key, u32);
	__type(value, struct {
		u64 last_q;
		u64 end[2]; /* of the last request, by direction */
	});
} streams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pace);
} pace SEC(".maps");

/*
 * For how many slices of time this one stands, in which none are timed; 0 while
 * that is so, and nobody says when a request is issued: see pace.go.
 */
volatile u32 slices = 1;
volatile u32 slice; /* its number */

/* So that the compiled programs tell of this type, too. */
const struct request_record *described __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

ONCE int lost(u32 what)
{
	u64 *n = bpf_map_lookup_elem(&losses, &what);

	if (n)
		*n += 1;
	return 0;
}

INLINE void count(u32 dev, u32 what)
{
	u32 at = dev * COUNTERS + what;
	u64 *n = bpf_map_lookup_elem(&counters, &at);

	if (n)
		*n += 1;
}

/* Of a request that is not timed. */
INLINE void count_untimed(u32 dev, u32 what)
{
	if (paced && dev < DEVICES)
		count(dev, what);
}

/* The exponent of the greatest power of two that is not above v; 0 for 0. */
INLINE u32 log2(u64 v)
{
	u32 shift, r = 0;

	shift = (v > 0xffffffff) << 5; v >>= shift; r |= shift;
	shift = (v > 0xffff) << 4; v >>= shift; r |= shift;
	shift = (v > 0xff) << 3; v >>= shift; r |= shift;
	shift = (v > 0xf) << 2; v >>= shift; r |= shift;
	shift = (v > 0x3) << 1; v >>= shift; r |= shift;
	return r | (v >> 1);
}

INLINE u32 bin(u64 ns)
{
	u32 octave;

	if (ns < 1 << FIRST_OCTAVE)
		return ns >> (FIRST_OCTAVE - STEP_BITS);
	octave = log2(ns);
	if (octave > LAST_OCTAVE)
		return BINS - 1;
	return ((octave - FIRST_OCTAVE + 1) << STEP_BITS) | ((ns >> (octave - STEP_BITS)) & ((1 << STEP_BITS) - 1));
}

/* A first time is in none of the tables yet. */
ONCE u32 new_dist(void)
{
	u32 at = 0;

	if (bpf_map_pop_elem(&free_dists, &at))
		lost(LOST_DISTS);
	return at;
}

/* a * b in 128 bits. */
INLINE u64 multiply(u64 a, u64 b, u64 *high)
{
	u64 al = a & 0xffffffff, ah = a >> 32, bl = b & 0xffffffff, bh = b >> 32;
	u64 low = al * bl, middle = ah * bl + (low >> 32), other = al * bh + (middle & 0xffffffff);

	*high = ah * bh + (middle >> 32) + (other >> 32);
	return other << 32 | (low & 0xffffffff);
}

/* Adds a time to a distribution, n times. */
INLINE void sum(struct dist *d, u64 ns, u32 n)
{
	u64 square, high = 0;

	d->count += n;
	d->sum += ns * n;
	if (ns > d->max)
		d->max = ns;
	if (~ns > d->notmin)
		d->notmin = ~ns;
	if ((ns * n) >> 32)
		square = multiply(ns * n, ns, &high);
	else
		square = ns * n * ns; /* ns is not above ns * n */
	d->squares_low += square;
	d->squares_high += high + (d->squares_low < square);
	u64 place = bin(ns);

	SAME(place);
	if (place < BINS)
		d->bins[place] += n;
}

ONCE int add_at(u64 key, u32 interval, u32 at, u64 ns, u32 n)
{
	struct dist *d = bpf_map_lookup_elem(&dists, &at);

	if (!d)
		return 0;
	d->cell = key;
	d->interval = interval;
	sum(d, ns, n);
	return 0;
}

ONCE int new_cell(u64 key)
{
	struct cell empty = {};

	if (bpf_map_update_elem(&cells, &key, &empty, BPF_NOEXIST) == -E2BIG)
		lost(LOST_CELLS);
	return 0;
}

INLINE struct cell *cell_of(u64 key)
{
	struct cell *c = bpf_map_lookup_elem(&cells, &key);

	if (c)
		return c;
	new_cell(key);
	return bpf_map_lookup_elem(&cells, &key);
}

/*
 * The cells that a CPU completed requests of last: of nearly every request the
 * cell is found here, without a call.
 */
struct recent {
	u64 key;
	struct cell cell;
	u32 unused[13];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RECENT);
	__type(key, u32);
	__type(value, struct recent);
} recent SEC(".maps");

INLINE u32 slot_of(u64 key)
{
	return key * 0x9E3779B97F4A7C15ULL >> 58; /* 64 - log2(RECENT) */
}

/* Where a cell has its times of an interval; 0 for nowhere. */
INLINE u32 place_in(struct cell *c, u64 interval)
{
	if (!c->dist[interval])
		c->dist[interval] = new_dist();
	return c->dist[interval];
}

ONCE int remember(u64 key, u64 interval, u32 slot)
{
	struct recent *r = bpf_map_lookup_elem(&recent, &slot);
	struct cell *c = cell_of(key);

	SAME(interval);
	if (!r || !c || interval >= DISTS)
		return 0;
	place_in(c, interval);
	r->cell = *c;
	r->key = key;
	for (u32 i = 0; i < DISTS; i++) { /* of this CPU */
		u32 at = r->cell.dist[i];
		struct dist *d = bpf_map_lookup_elem(&dists, &at);

		if (at && d) {
			d->cell = key;
			d->interval = i;
		}
	}
	return 0;
}

/* The times of an interval of requests that are complete. */
INLINE struct dist *of_complete(u64 key, u32 slot, struct recent *r, u64 interval)
{
	if (r->key != key || !r->cell.dist[interval]) {
		remember(key, interval, slot);
		if (r->key != key || !r->cell.dist[interval])
			return NULL;
	}
	return bpf_map_lookup_elem(&dists, &r->cell.dist[interval]);
}

/* Adds a time to a cell that is not at hand, n times. */
ONCE int add_to(u64 key, u64 interval, u64 ns, u32 n)
{
	struct cell *c = cell_of(key);
	u32 at;

	SAME(interval);
	if (!c || interval >= DISTS)
		return 0;
	at = place_in(c, interval);
	if (at)
		add_at(key, interval, at, ns, n);
	return 0;
}

INLINE u64 op_of(u32 opf, u32 bytes)
{
	switch (opf & 0xff) {
	case OP_READ:
		return READ;
	case OP_WRITE:
		return bytes ? WRITE : FLUSH; /* only a flush writes nothing */
	case 7: /* of several kernels: write same, zone append */
	case 9: /* write zeroes */
		return WRITE;
	case OP_FLUSH:
		return FLUSH;
	case OP_DISCARD:
		return DISCARD;
	}
	return OTHER;
}

INLINE u64 key_of(u32 owner, u64 dev, u64 op, u32 bytes, u64 call)
{
	u64 size = bytes > 1 ? log2(bytes - 1) + 2 : bytes;

	return owner | dev << KEY_DEV | op << KEY_OP | size << KEY_SIZE | call << KEY_CALL;
}

#endif
