/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Follows block requests from event to event and sums up the times between
 * them, in the kernel. One table, pending, holds what is under way: a place is
 * found by the address of the first bio, which is the same from Q to C. All
 * sums are made by the program of the event that ends the interval, and per
 * CPU; the kernel does not let a program interrupt itself on a CPU, so nothing
 * needs a lock.
 */
#include "kernel.h"
#include "shared.h"
#include "devices.h"
#include "sums.h"
#include "begin.h"

/* Helpers are for programs whose licence goes with the kernel's. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

TP(block_bio_queue) int bio_queue(u64 *ctx)
{
	struct bio *bio = ARG(struct bio, ctx);
	u32 dev = index_of(bio_disk(bio));
	u64 now;

	if (dev >= DEVICES)
		return 0;
	now = bpf_ktime_get_ns();
	struct pending *p = queued(bio, dev, now);

	if (stages && p) {
		typeof(*streams.value) *s = bpf_map_lookup_elem(&streams, &dev);
		u32 bytes = GET(bio, bi_iter.bi_size);

		if (s) {
			u64 last = s->last_q;

			s->last_q = now;
			if (last && now >= last)
				add_to(key_of(p->owner, dev, op_of(GET(bio, bi_opf), bytes), bytes, !!p->call), Q2Q, now - last, 1);
		}
	}
	return 0;
}

/* A bio goes on to another device, or from a partition to its disk. */
TP(block_bio_remap) int bio_remap(u64 *ctx)
{
	struct bio *bio = ARG(struct bio, ctx);
	struct pending *p = find(address(bio));
	u32 dev = index_of(bio_disk(bio));

	if (dev >= DEVICES)
		return 0;
	count(dev, REMAPS);
	if (p && p->dev == dev)
		return 0;
	if (p) {
		if (bio_based >> p->dev & 1) /* and not a path that failed, of which the head takes another one */
			p->over = p->dev;
		p->dev = dev;
	} else {
		p = queued(bio, dev, bpf_ktime_get_ns());
		if (p)
			p->into = CAME;
	}
	return 0;
}

/* The first argument is a new bio, for the part that goes first; the rest is queued once more, silently. */
TP(block_split) int split(u64 *ctx)
{
	struct bio *bio = ARG(struct bio, ctx);
	struct pending *whole = find(address(bio)), *part;

	if (!whole) {
		void *parent = NULL;

		bpf_core_read(&parent, sizeof(parent), &bio->bi_private);
		whole = find(raw_address(parent));
	}
	if (!whole)
		return 0;
	count(whole->dev, SPLITS);
	if (whole->key == address(bio))
		return 0;
	part = begin(address(bio), whole->dev);
	if (!part || part == whole)
		return 0;
	part->q = whole->q;
	part->owner = whole->owner;
	part->entered = whole->entered;
	part->task = whole->task;
	part->call = whole->call;
	part->cpu = whole->cpu;
	if (bio_based) {
		part->op = whole->op;
		part->bytes = GET(bio, bi_iter.bi_size);
		whole->bytes -= part->bytes;
	}
	return 0;
}

INLINE void merged(struct bio *bio, u32 how)
{
	struct pending *p = find(address(bio));

	if (!p)
		return;
	p->d = bpf_ktime_get_ns();
	p->into = JOINED;
	count(p->dev, how);
}

TP(block_bio_backmerge) int bio_backmerge(u64 *ctx)
{
	merged(MERGED(ctx), BACK_MERGES);
	return 0;
}

TP(block_bio_frontmerge) int bio_frontmerge(u64 *ctx)
{
	merged(MERGED(ctx), FRONT_MERGES);
	return 0;
}

TP(block_rq_merge) int rq_merge(u64 *ctx)
{
	struct pending *p = find(request_key(ARG(struct request, ctx)));

	if (p)
		count(p->dev, OTHER_MERGES);
	return 0;
}

TP(block_getrq) int getrq(u64 *ctx)
{
	struct pending *p = find(address(ARG(struct bio, ctx)));

	if (p)
		p->g = bpf_ktime_get_ns();
	return 0;
}

TP(block_rq_insert) int rq_insert(u64 *ctx)
{
	struct pending *p = find(request_key(ARG(struct request, ctx)));

	if (p)
		p->i = bpf_ktime_get_ns();
	return 0;
}

TP(block_rq_requeue) int rq_requeue(u64 *ctx)
{
	struct pending *p = find(request_key(ARG(struct request, ctx)));

	if (p) {
		p->requeued++;
		p->n = 0;
		count(p->dev, REQUEUES);
	}
	return 0;
}

TP(block_plug) int plug(u64 *ctx)
{
	struct gendisk *disk = queue_disk((void *)ctx[0]);
	u32 dev = disk ? index_of(disk) : NONE;

	if (dev < DEVICES)
		count(dev, PLUGS);
	return 0;
}

TP(block_unplug) int unplug(u64 *ctx)
{
	struct gendisk *disk = queue_disk((void *)ctx[0]);
	u32 dev = disk ? index_of(disk) : NONE;

	if (dev < DEVICES)
		count(dev, ctx[2] ? UNPLUGS : TIMER_UNPLUGS);
	return 0;
}

/* A bio that is in the request of another, which is issued. */
ONCE int gather_one(u64 bio, u64 first, u64 cell, u64 now)
{
	struct pending *p = find(bio), *head = find(first);

	if (!p || !head)
		return 0;
	if (p->into == JOINED) {
		add_to(cell, Q2M, p->d - p->q, 1);
		add_to(cell, M2D, now - p->d, 1);
		p->into = 0;
	}
	if (p != head) {
		if (p->q < head->q)
			head->q = p->q;
		head->merged++;
		p->key = 0;
	}
	return 0;
}

/*
 * The bios of a request that is issued become one. Its beginning is that of
 * the bio that was queued first; the others end here.
 */
INLINE void gather(struct pending *head, struct request *rq, u64 now)
{
	struct bio *bio = GET(rq, bio);
	u64 first = address(bio);
	u32 bytes = GET(rq, __data_len);
	u64 cell = key_of(head->owner, head->dev, op_of(GET(rq, cmd_flags), bytes), bytes, !!head->call);

	for (u32 i = 0; i < 1024 && bio; i++) {
		gather_one(address(bio), first, cell, now);
		bio = GET(bio, bi_next);
	}
}

TP(block_rq_issue) int rq_issue(u64 *ctx)
{
	struct request *rq = ARG(struct request, ctx);
	u64 key = request_key(rq), now;
	struct pending *p = find(key);

	if (!p) { /* a driver's own, the flush of a cache, or one from before */
		u32 dev = index_of(request_disk(rq));

		if (dev >= DEVICES)
			return 0;
		p = begin(key, dev);
		if (!p)
			return 0;
		if (GET(rq, bio))
			count(dev, UNSEEN);
	}
	now = bpf_ktime_get_ns();
	if (GET(rq, bio) != GET(rq, biotail))
		gather(p, rq, now);
	p->d = now;
	if (stages) {
		u32 dev = p->dev;
		typeof(*streams.value) *s = bpf_map_lookup_elem(&streams, &dev);
		u64 sector = GET(rq, __sector);

		if (s) {
			u64 *end = &s->end[GET(rq, cmd_flags) & 1];

			count(dev, ISSUES);
			if (*end == sector)
				count(dev, SEQUENTIAL);
			*end = sector + (GET(rq, __data_len) >> 9);
		}
	}
	return 0;
}

/*
 * An NVMe driver begins with a request. It makes the command, maps its data,
 * and says block_rq_issue right before it rings the doorbell: see complete.
 * The event is of a module, whose types are not the kernel's.
 */
SEC("raw_tp/nvme_setup_cmd") int nvme_setup(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	void *bio = BPF_CORE_READ(rq, bio);
	struct pending *p = find(raw_address(bio ? bio : rq));

	if (p)
		p->n = bpf_ktime_get_ns();
	return 0;
}

INLINE u64 fifo_key(u32 task, u64 call, u64 dev)
{
	return task | call << 32 | dev << 40;
}

/* Where the FIFO of a key is, or may begin; -1 for nowhere. */
ONCE int fifo_place(u64 key)
{
	u32 at = key * 0x9E3779B97F4A7C15ULL >> 55; /* 64 - log2(FIFOS) */
	u32 beside = at ^ 1;
	struct fifo *f = bpf_map_lookup_elem(&fifos, &at), *g = bpf_map_lookup_elem(&fifos, &beside);

	if (!f || !g)
		return -1;
	if (f->key == key)
		return at;
	if (g->key == key)
		return beside;
	if (f->head != f->tail) {
		if (g->head != g->tail)
			return -1;
		at = beside;
		f = g;
	}
	f->key = key;
	f->head = f->tail = 0;
	return at;
}

/* A completion waits until the application has it. */
INLINE void completed_for(struct pending *p, u64 cell, u64 now)
{
	u32 place = fifo_place(fifo_key(p->task, p->call, p->dev));
	struct fifo *f = bpf_map_lookup_elem(&fifos, &place);
	struct completion *c;
	u64 at;

	if (f && (s32)(f->head - f->tail) < 0) /* two CPUs took the last one */
		f->tail = f->head;
	if (!f || f->head - f->tail >= FIFO_SLOTS) {
		lost(LOST_REAPS);
		return;
	}
	at = __sync_fetch_and_add(&f->head, 1);
	SAME(at);
	at &= FIFO_SLOTS - 1;
	c = &f->slot[at];
	c->cell = cell;
	c->entered = p->entered;
	c->at = now;
}

/*
 * A part of a request is complete: the bio that is its first from now on takes
 * its place. Apart, for it is rare, and what it keeps on the stack is most of
 * what Linux 6.1 lets all calls have together.
 */
static __noinline int partly(struct pending *p, struct request *rq, u32 bytes)
{
	struct bio *bio = GET(rq, bio);
	struct pending *next, was = *p;

	for (u32 i = 0; i < 256 && bio; i++) {
		u32 size = GET(bio, bi_iter.bi_size);

		if (size > bytes)
			break;
		bytes -= size;
		bio = GET(bio, bi_next);
	}
	if (!bio || address(bio) == was.key)
		return 0;
	p->key = 0;
	next = begin(address(bio), was.dev);
	if (next) {
		was.key = address(bio);
		*next = was;
	}
	return 0;
}

INLINE void emit(struct pending *p, struct request *rq, u64 now, u32 bytes, u64 op, s32 error)
{
	struct request_record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		lost(LOST_EVENTS);
		return;
	}
	r->q = p->q;
	r->d = p->d;
	r->n = p->n;
	r->c = now;
	r->g = stages ? p->g : 0;
	r->i = stages ? p->i : 0;
	r->sector = GET(rq, __sector);
	r->bytes = bytes;
	r->owner = p->owner;
	r->cpu = p->cpu;
	r->error = error;
	r->merged = p->merged;
	r->dev = p->dev;
	r->op = op;
	r->requeued = p->requeued;
	r->call = p->call;
	bpf_ringbuf_submit(r, 0);
}

INLINE int complete(u64 *ctx, bool follow)
{
	struct request *rq = (void *)ctx[0];
	u32 bytes = ctx[2];
	struct pending *p = find(request_key(rq));
	struct cell *cell;
	u64 now, key, op;

	if (!p)
		return 0;
	if (bytes < GET(rq, __data_len)) {
		partly(p, rq, bytes);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (p->n && p->n <= p->d) { /* the driver began, and the drive has had it since */
		u64 begun = p->n;

		p->n = p->d;
		p->d = begun;
	}
	op = op_of(GET(rq, cmd_flags), bytes);
	key = key_of(p->owner, p->dev, op, bytes, !!p->call);
	cell = cell_of(key);
	if (cell) {
		if (p->d)
			add_bytes(key, cell, D2C, now - p->d, 1, bytes);
		if (p->q) {
			add(key, cell, Q2C, now - p->q);
			if (p->d)
				add(key, cell, Q2D, p->d - p->q);
		}
		if (p->n && p->n >= p->d) {
			add(key, cell, D2N, p->n - p->d);
			add(key, cell, N2C, now - p->n);
		}
		if (stages && p->g) {
			if (p->g >= p->q)
				add(key, cell, Q2G, p->g - p->q);
			if (p->i >= p->g)
				add(key, cell, G2I, p->i - p->g);
		}
		if (stages && p->i && p->d >= p->i)
			add(key, cell, I2D, p->d - p->i);
	}
	if (follow && p->call)
		completed_for(p, key, now);
	if (requests)
		emit(p, rq, now, bytes, op, (s32)ctx[1]);
	if (p->over == NONE) {
		p->key = 0;
	} else {
		p->dev = p->over;
		p->d = p->n = 0;
	}
	return 0;
}

TP(block_rq_complete) int rq_complete(u64 *ctx)
{
	return complete(ctx, false);
}

/* Apart, for it needs atomic instructions of 5.12. */
TP(block_rq_complete) int rq_complete_app(u64 *ctx)
{
	return complete(ctx, true);
}

/*
 * A head of NVMe's multipath says by its own queue that a bio is complete, which
 * is still at a path: the path's request is complete right after that.
 */
INLINE bool of_head(u64 *ctx)
{
	return (void *)ctx[0] != GET(bio_disk((void *)ctx[1]), queue);
}

/* The end of a bio on a device that has no requests: device mapper, md, a multipath head. */
INLINE int bio_done(u64 *ctx, bool follow)
{
	struct bio *bio = (void *)ctx[1];
	struct pending *p = find(address(bio));
	struct cell *cell;
	u64 key, now;
	u32 dev;

	if (!p)
		return 0;
	dev = p->over != NONE ? p->over : p->dev;
	if (dev >= DEVICES || !(bio_based >> dev & 1))
		return 0;
	now = bpf_ktime_get_ns();
	key = key_of(p->owner, dev, p->op, p->bytes, !!p->call);
	cell = cell_of(key);
	if (cell) {
		add_bytes(key, cell, Q2C, now - p->q, 1, p->bytes);
	}
	if (p->over != NONE && of_head(ctx)) { /* the path's request ends it */
		p->over = NONE;
		return 0;
	}
	p->dev = dev;
	if (follow && p->call)
		completed_for(p, key, now);
	p->key = 0;
	return 0;
}

TP(block_bio_complete) int bio_complete(u64 *ctx)
{
	return bio_done(ctx, false);
}

TP(block_bio_complete) int bio_complete_app(u64 *ctx)
{
	return bio_done(ctx, true);
}

#include "calls.h"
