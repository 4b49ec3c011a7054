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
#include "owner.h"
#include "sums.h"
#include "begin.h"

/* Helpers are for programs whose licence goes with the kernel's. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

TP(block_bio_queue) int bio_queue(u64 *ctx)
{
	struct bio *bio = ARG(struct bio, ctx);
	u32 dev = bio_dev(bio);
	struct pending *p;

	if (dev >= DEVICES)
		return 0;
	p = queued(bio, dev);
	if (stages && p) {
		typeof(*streams.value) *s = bpf_map_lookup_elem(&streams, &dev);
		u32 bytes = GET(bio, bi_iter.bi_size);

		if (s) {
			u64 last = s->last_q;

			s->last_q = p->q;
			if (last && p->q >= last)
				add_to(key_of(p->owner, dev, op_of(GET(bio, bi_opf), bytes), bytes, !!p->call), Q2Q, p->q - last, 1);
		}
	}
	return 0;
}

/* A bio goes on to another device, or from a partition to its disk. */
TP(block_bio_remap) int bio_remap(u64 *ctx)
{
	struct bio *bio = ARG(struct bio, ctx);
	struct pending *p = find(address(bio));
	u32 dev = bio_dev(bio);

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
		p = queued(bio, dev);
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
	if (!whole) {
		count_untimed(bio_dev(bio), SPLITS);
		return 0;
	}
	count(whole->dev, SPLITS);
	if (whole->key == address(bio))
		return 0;
	part = begin(address(bio), whole->dev);
	if (!part || part == whole)
		return 0;
	part->q = whole->q;
	part->weight = whole->weight;
	part->queued = whole->queued;
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

	if (!p) {
		count_untimed(bio_dev(bio), how);
		return;
	}
	if (p->weight) {
		p->d = bpf_ktime_get_ns();
		p->into = JOINED;
	}
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
	else
		count_untimed(index_of(request_disk(ARG(struct request, ctx))), OTHER_MERGES);
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
	} else {
		count_untimed(index_of(request_disk(ARG(struct request, ctx))), REQUEUES);
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
		add_to(cell, Q2M, p->d - p->q, p->weight);
		add_to(cell, M2D, now - p->d, p->weight);
		p->into = 0;
	}
	if (p != head) {
		if (p->q && p->q < head->q)
			head->q = p->q;
		head->merged++;
		p->key = 0;
	}
	return 0;
}

/*
 * The bios of a request that is issued become one. Its beginning is that of
 * the bio that was queued first, of those that are timed; the others end here.
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

	if (paced && p && p->d && !p->requeued && p->into != JOINED) { /* of one whose end was not shown */
		p->key = 0;
		p = NULL;
	}
	if (!p) { /* a driver's own, the flush of a cache, or one from before */
		u32 dev;

		if (paced && GET(rq, bio))
			return 0;
		dev = index_of(request_disk(rq));
		if (dev >= DEVICES)
			return 0;
		p = begin(key, dev);
		if (!p)
			return 0;
		if (GET(rq, bio))
			count(dev, UNSEEN);
	}
	if (paced && !p->weight)
		return 0;
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

	if (p && p->weight)
		p->n = bpf_ktime_get_ns();
	return 0;
}

#include "complete.h"
#include "calls.h"
