/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The ends of requests and bios, where nearly all times are added up. */
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

ONCE int forget(u64 bio)
{
	struct pending *p = find(bio);

	if (p)
		p->key = 0;
	return 0;
}

/* The bios of a request that was not gathered when it was issued, but the first. */
INLINE void forget_others(struct request *rq)
{
	struct bio *bio = GET(rq, bio);

	for (u32 i = 0; i < 1024 && bio; i++) {
		if (i)
			forget(address(bio));
		bio = GET(bio, bi_next);
	}
}

/* A part of a request is complete: the bio that is its first from now on takes its place. Its stack is its own: 6.1 has room for little. */
static __noinline int partly(struct pending *p, struct request *rq, u32 bytes)
{
	struct bio *bio = GET(rq, bio);
	struct pending *next, was = *p;

	for (u32 i = 0; i < 256 && bio; i++) {
		u32 size = GET(bio, bi_iter.bi_size);

		if (size > bytes)
			break;
		bytes -= size;
		if (paced && address(bio) != was.key)
			forget(address(bio));
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

/* Adds the times of a request that is complete. */
INLINE void add_times(struct pending *p, u64 key, u32 slot, struct recent *r, u64 now)
{
	struct dist *d;

	if (p->q) {
		d = of_complete(key, slot, r, Q2C);
		if (d)
			sum(d, now - p->q, p->weight);
		if (p->d) {
			d = of_complete(key, slot, r, Q2D);
			if (d)
				sum(d, p->d - p->q, p->weight);
		}
	}
	if (p->n && p->n >= p->d) {
		add_to(key, D2N, p->n - p->d, p->weight);
		add_to(key, N2C, now - p->n, p->weight);
	}
	if (stages && p->g) {
		if (p->g >= p->q)
			add_to(key, Q2G, p->g - p->q, 1);
		if (p->i >= p->g)
			add_to(key, G2I, p->i - p->g, 1);
	}
	if (stages && p->i && p->d >= p->i)
		add_to(key, I2D, p->d - p->i, 1);
}

/* Counts a request that was not timed. Whose it was is told by those that were. */
ONCE int count_complete(u64 key, u32 bytes)
{
	u32 slot = slot_of(key);
	struct recent *r = bpf_map_lookup_elem(&recent, &slot);
	struct dist *d;

	if (!r)
		return 0;
	d = of_complete(key, slot, r, D2C);
	if (d) {
		d->requests++;
		d->bytes += bytes;
	}
	return 0;
}

INLINE void untimed(struct request *rq, u32 bytes)
{
	struct bio *bio = GET(rq, bio);
	u32 dev = index_of(request_disk(rq));

	if (dev >= DEVICES || !bio || bytes < GET(rq, __data_len))
		return;
	if (bio != GET(rq, biotail))
		forget_others(rq);
	count_complete(key_of(SOMEBODY, dev, op_of(GET(rq, cmd_flags), bytes), bytes, 0), bytes);
}

INLINE int complete(u64 *ctx, bool follow)
{
	struct request *rq = (void *)ctx[0];
	u32 bytes = ctx[2], slot;
	struct pending *p = find(request_key(rq));
	struct recent *r;
	u64 now = 0, key, op;
	bool timed;

	/* Of one whose end was not shown, when nobody said that this one was issued. */
	if (paced && p && p->d && p->d < GET(rq, start_time_ns)) {
		p->key = 0;
		p = NULL;
	}
	if (!p) {
		if (paced)
			untimed(rq, bytes);
		return 0;
	}
	if (bytes < GET(rq, __data_len)) {
		partly(p, rq, bytes);
		return 0;
	}
	op = op_of(GET(rq, cmd_flags), bytes);
	/* Of a request without data the flush alone may be issued, which is another. */
	timed = !paced || (p->weight && (p->d || !bytes));
	if (!timed && GET(rq, bio) != GET(rq, biotail))
		forget_others(rq);
	if (timed) {
		now = bpf_ktime_get_ns();
		if (p->n && p->n <= p->d) { /* the driver began, and the drive has had it since */
			u64 begun = p->n;

			p->n = p->d;
			p->d = begun;
		}
	}
	key = key_of(p->owner, p->dev, op, bytes, !!p->call);
	slot = slot_of(key);
	r = bpf_map_lookup_elem(&recent, &slot);
	if (r) {
		struct dist *d = of_complete(key, slot, r, D2C);

		if (d) {
			/* A flush without Q is the block layer's own, part of another's. */
			d->requests += p->queued || op != FLUSH;
			d->bytes += bytes;
			if (timed && p->d)
				sum(d, now - p->d, p->weight);
		}
		if (timed)
			add_times(p, key, slot, r, now);
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

/* Counts one that is complete, timed or not. */
ONCE int tally(u64 key, u64 interval, u32 bytes)
{
	struct cell *c = cell_of(key);
	struct dist *d;
	u32 at;

	SAME(interval);
	if (!c || interval >= DISTS)
		return 0;
	at = place_in(c, interval);
	d = bpf_map_lookup_elem(&dists, &at);
	if (!at || !d)
		return 0;
	d->cell = key;
	d->interval = interval;
	d->requests++;
	d->bytes += bytes;
	return 0;
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
	u64 key, now = 0;
	u32 dev;

	if (!p)
		return 0;
	dev = p->over != NONE ? p->over : p->dev;
	if (dev >= DEVICES || !(bio_based >> dev & 1))
		return 0;
	key = key_of(p->owner, dev, p->op, p->bytes, !!p->call);
	if (!paced || p->weight) {
		now = bpf_ktime_get_ns();
		add_to(key, Q2C, now - p->q, p->weight);
	}
	tally(key, Q2C, p->bytes);
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
