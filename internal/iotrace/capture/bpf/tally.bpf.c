/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Counts, by who asked for it, what some devices are to read and write. It runs
 * beside trials that nobody traces, so it is short: one event for each bio, no
 * times, nothing that has to be found again.
 */
#define DEVICES 16
#include "kernel.h"
#include "owner.h"

/* Helpers are for programs whose licence goes with the kernel's. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile u32 bio_queue_first = 0; /* before 5.11, events of bios have the queue as their first argument */
const volatile u32 self = 0;            /* the process that counts */

/* Which devices: major << 20 | minor; 0 for no more. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct { u32 dev[DEVICES]; });
} watched SEC(".maps");

/* Who: a process, a kernel thread on behalf of a control group or of nobody that can be told, or the counting process. */
enum { PROCESS, KERNEL, SELF };

struct who {
	u64 group;
	u32 dev;
	u32 kind;
};

struct did {
	u64 ios[2]; /* OP_READ, OP_WRITE */
	u64 bytes[2];
	/*
	 * The command that most of it is of, if one has more than half: of every few
	 * bios one votes with its bytes, for its own command and against others.
	 */
	u64 votes;
	char command[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 2048);
	__type(key, struct who);
	__type(value, struct did);
} tally SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} uncounted SEC(".maps");

INLINE bool is_watched(u32 dev)
{
	u32 at = 0;
	u32 *devs = bpf_map_lookup_elem(&watched, &at);

	if (!devs)
		return false;
	for (u32 i = 0; i < DEVICES; i++) {
		if (devs[i] == dev)
			return true;
		if (!devs[i])
			break;
	}
	return false;
}

INLINE u32 device_of(struct bio *bio)
{
	struct gendisk *disk;

	if (bpf_core_field_exists(bio->bi_bdev))
		disk = GET(bio, bi_bdev, bd_disk);
	else
		disk = GET((struct bio___5_11 *)bio, bi_disk);
	return GET(disk, major) << 20 | GET(disk, first_minor);
}

INLINE void vote(struct did *d, struct task_struct *task, u32 bytes)
{
	struct task_struct *leader = GET(task, group_leader);
	u64 command[2] = {}, *has = (u64 *)d->command;

	bpf_probe_read_kernel(command, sizeof(command), __builtin_preserve_access_index(&leader->comm));
	if (has[0] == command[0] && has[1] == command[1]) {
		d->votes += bytes;
	} else if (d->votes >= bytes) {
		d->votes -= bytes;
	} else {
		has[0] = command[0];
		has[1] = command[1];
		d->votes = bytes;
	}
}

#define BALLOT 8 /* bios */

TP(block_bio_queue) int bio_queued(u64 *ctx)
{
	struct did *d, none = {};
	struct task_struct *task;
	struct who who = {};
	u32 op, bytes;
	struct bio *bio;

	if (bio_queue_first) {
		bio = (void *)ctx[1];
		SAME(bio); /* or ctx is calculated with, which the verifier refuses */
	} else {
		bio = (void *)ctx[0];
	}
	who.dev = device_of(bio);
	if (!is_watched(who.dev))
		return 0;
	op = GET(bio, bi_opf) & 0xff;
	bytes = GET(bio, bi_iter.bi_size);
	if (op > OP_WRITE || !bytes)
		return 0;
	task = current();
	if (GET(task, flags) & PF_KTHREAD) {
		who.kind = KERNEL;
		who.group = charged(bio);
	} else {
		who.kind = GET(task, tgid) == self ? SELF : PROCESS;
		who.group = cgroup_of(task);
	}
	d = bpf_map_lookup_elem(&tally, &who);
	if (!d) {
		bpf_map_update_elem(&tally, &who, &none, BPF_NOEXIST);
		d = bpf_map_lookup_elem(&tally, &who);
	}
	if (!d) {
		u64 *n;

		who.dev = 0;
		n = bpf_map_lookup_elem(&uncounted, &who.dev);
		if (n)
			*n += 1;
		return 0;
	}
	op &= 1;
	if (d->ios[op]++ % BALLOT == 0)
		vote(d, task, bytes);
	d->bytes[op] += bytes;
	return 0;
}
