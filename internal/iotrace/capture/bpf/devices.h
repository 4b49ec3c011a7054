/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which device an event is of. */
#ifndef DEVICES_H
#define DEVICES_H

const volatile u32 ndevs = 1;
const volatile u32 devs[DEVICES];   /* major << 20 | minor */
/* Before 5.11, events of requests and of bios have the queue as their first argument; 5.10 itself got the change of the former alone. */
const volatile u32 queue_first = 0;
const volatile u32 bio_queue_first = 0;
#define QUEUE_FIRST(type) (__builtin_types_compatible_p(type, struct bio) ? bio_queue_first : queue_first)

INLINE struct gendisk *bio_disk(struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_bdev))
		return GET(bio, bi_bdev, bd_disk);
	return GET((struct bio___5_11 *)bio, bi_disk);
}

INLINE struct gendisk *request_disk(struct request *rq)
{
	if (bpf_core_field_exists(((struct request_queue *)0)->disk))
		return GET(rq, q, disk);
	return GET((struct request___5_16 *)rq, rq_disk);
}

/* Before 5.15 a queue did not know its disk. */
INLINE struct gendisk *queue_disk(struct request_queue *q)
{
	if (bpf_core_field_exists(q->disk))
		return GET(q, disk);
	return NULL;
}

INLINE u32 index_of(struct gendisk *disk)
{
	u32 dev = GET(disk, major) << 20 | GET(disk, first_minor);

	for (u32 i = 0; i < DEVICES; i++) {
		if (i >= ndevs)
			break;
		if (devs[i] == dev)
			return i;
	}
	return NONE;
}

/* The device of a bio. Most are of the first device itself, and no partition's. */
INLINE u32 bio_dev(struct bio *bio)
{
	struct block_device *bdev;

	if (!bpf_core_field_exists(bio->bi_bdev))
		return index_of(bio_disk(bio));
	bdev = GET(bio, bi_bdev);
	return GET(bdev, bd_dev) == devs[0] ? 0 : index_of(GET(bdev, bd_disk));
}

/*
 * The argument of an event that before 5.11 stood behind the queue. The
 * barrier keeps the compiler from choosing by arithmetic on ctx.
 */
#define ARG(type, ctx) ({                        \
	void *arg;                               \
	if (QUEUE_FIRST(type)) {                 \
		arg = (void *)(ctx)[1];          \
		asm volatile("" : "+r"(arg));    \
	} else {                                 \
		arg = (void *)(ctx)[0];          \
	}                                        \
	(type *)arg;                             \
})

/* The bio that is merged. Before 5.11 queue and request stood before it. */
#define MERGED(ctx) ({                           \
	void *arg;                               \
	if (bio_queue_first) {                   \
		arg = (void *)(ctx)[2];          \
		asm volatile("" : "+r"(arg));    \
	} else {                                 \
		arg = (void *)(ctx)[0];          \
	}                                        \
	(struct bio *)arg;                       \
})

#endif
