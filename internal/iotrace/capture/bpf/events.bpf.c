/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Hands every event of the devices on, for a capture. Nothing is kept. */
#include "kernel.h"
#include "shared.h"
#include "devices.h"

/* Helpers are for programs whose licence goes with the kernel's. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* So that the compiled programs tell of this type, too. */
const struct event_record *described __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSSES);
	__type(key, u32);
	__type(value, u64);
} losses SEC(".maps");

INLINE struct event_record *begin(u32 dev, u8 action)
{
	struct event_record *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	u32 lost = LOST_EVENTS;

	if (!e) {
		u64 *n = bpf_map_lookup_elem(&losses, &lost);

		if (n)
			*n += 1;
		return NULL;
	}
	e->time = bpf_ktime_get_ns();
	e->sector = e->data = e->data_dev = 0;
	e->bytes = e->opf = 0;
	e->tid = bpf_get_current_pid_tgid();
	e->cpu = bpf_get_smp_processor_id();
	e->error = 0;
	e->dev = dev;
	e->action = action;
	e->unused[0] = e->unused[1] = 0;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	return e;
}

INLINE int of_bio_at(struct gendisk *disk, struct bio *bio, u8 action, u64 data, u64 data_dev)
{
	u32 dev = index_of(disk);
	struct event_record *e;

	if (dev >= DEVICES)
		return 0;
	e = begin(dev, action);
	if (!e)
		return 0;
	e->sector = GET(bio, bi_iter.bi_sector);
	e->bytes = GET(bio, bi_iter.bi_size);
	e->opf = GET(bio, bi_opf);
	e->data = data;
	e->data_dev = data_dev;
	bpf_ringbuf_submit(e, 0);
	return 0;
}

INLINE int of_bio(struct bio *bio, u8 action, u64 data, u64 data_dev)
{
	return of_bio_at(bio_disk(bio), bio, action, data, data_dev);
}

INLINE int of_request(struct request *rq, u8 action, u32 bytes, s32 error)
{
	u32 dev = index_of(request_disk(rq));
	struct event_record *e;

	if (dev >= DEVICES)
		return 0;
	e = begin(dev, action);
	if (!e)
		return 0;
	e->sector = GET(rq, __sector);
	e->bytes = bytes;
	e->opf = GET(rq, cmd_flags);
	e->error = error;
	bpf_ringbuf_submit(e, 0);
	return 0;
}

INLINE int of_queue(struct request_queue *q, u8 action, u64 data)
{
	struct gendisk *disk = queue_disk(q);
	u32 dev = disk ? index_of(disk) : NONE;
	struct event_record *e;

	if (dev >= DEVICES)
		return 0;
	e = begin(dev, action);
	if (!e)
		return 0;
	e->data = data;
	bpf_ringbuf_submit(e, 0);
	return 0;
}

TP(block_bio_queue) int bio_queue(u64 *ctx)
{
	return of_bio(ARG(struct bio, ctx), 'Q', 0, 0);
}

TP(block_bio_backmerge) int bio_backmerge(u64 *ctx)
{
	return of_bio(MERGED(ctx), 'M', 0, 0);
}

TP(block_bio_frontmerge) int bio_frontmerge(u64 *ctx)
{
	return of_bio(MERGED(ctx), 'F', 0, 0);
}

TP(block_getrq) int getrq(u64 *ctx)
{
	return of_bio(ARG(struct bio, ctx), 'G', 0, 0);
}

TP(block_split) int split(u64 *ctx)
{
	u64 sector;

	if (bio_queue_first) {
		sector = ctx[2];
		SAME(sector);
	} else {
		sector = ctx[1];
	}
	return of_bio(ARG(struct bio, ctx), 'X', sector & 0xffffffff, 0);
}

TP(block_bio_remap) int bio_remap(u64 *ctx)
{
	u64 from, sector;

	if (bio_queue_first) {
		from = ctx[2];
		sector = ctx[3];
		SAME(from);
		SAME(sector);
	} else {
		from = ctx[1];
		sector = ctx[2];
	}
	return of_bio(ARG(struct bio, ctx), 'A', sector, from & 0xffffffff);
}

/* A head of NVMe's multipath completes, by its own queue, a bio that is at a path. */
TP(block_bio_complete) int bio_complete(u64 *ctx)
{
	struct bio *bio = (void *)ctx[1];
	struct gendisk *disk = queue_disk((void *)ctx[0]);

	return of_bio_at(disk ? disk : bio_disk(bio), bio, 'C', 0, 0);
}

TP(block_rq_insert) int rq_insert(u64 *ctx)
{
	struct request *rq = ARG(struct request, ctx);

	return of_request(rq, 'I', GET(rq, __data_len), 0);
}

TP(block_rq_issue) int rq_issue(u64 *ctx)
{
	struct request *rq = ARG(struct request, ctx);

	return of_request(rq, 'D', GET(rq, __data_len), 0);
}

TP(block_rq_requeue) int rq_requeue(u64 *ctx)
{
	struct request *rq = ARG(struct request, ctx);

	return of_request(rq, 'R', GET(rq, __data_len), 0);
}

TP(block_rq_merge) int rq_merge(u64 *ctx)
{
	struct request *rq = ARG(struct request, ctx);

	return of_request(rq, 'M', GET(rq, __data_len), 0);
}

TP(block_rq_complete) int rq_complete(u64 *ctx)
{
	return of_request((void *)ctx[0], 'C', ctx[2], ctx[1]);
}

TP(block_plug) int plug(u64 *ctx)
{
	return of_queue((void *)ctx[0], 'P', 0);
}

TP(block_unplug) int unplug(u64 *ctx)
{
	return of_queue((void *)ctx[0], ctx[2] & 1 ? 'U' : 'T', ctx[1] & 0xffffffff);
}

/* Of a module, whose types are not the kernel's: all is read by a helper. */
SEC("raw_tp/nvme_setup_cmd") int nvme_setup(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	struct gendisk *disk;
	struct event_record *e;
	u32 number, dev = NONE;

	if (bpf_core_field_exists(((struct request_queue *)0)->disk))
		disk = BPF_CORE_READ(rq, q, disk);
	else
		disk = BPF_CORE_READ((struct request___5_16 *)rq, rq_disk);
	number = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	for (u32 i = 0; i < DEVICES; i++) {
		if (i >= ndevs)
			break;
		if (devs[i] == number)
			dev = i;
	}
	if (dev >= DEVICES)
		return 0;
	e = begin(dev, 'N');
	if (!e)
		return 0;
	e->sector = BPF_CORE_READ(rq, __sector);
	e->bytes = BPF_CORE_READ(rq, __data_len);
	e->opf = BPF_CORE_READ(rq, cmd_flags);
	bpf_ringbuf_submit(e, 0);
	return 0;
}
