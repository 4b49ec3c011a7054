/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Follows the requests of an NVMe-oF target, the kernel's nvmet: from where
 * their command arrived, over their first bio on the namespace's device, until
 * they are complete. The events of nvmet are a module's, whose types are in a
 * description of its own: so there is one kind of this program, raw_tp, which
 * asks the kernel to follow pointers.
 */
#include "kernel.h"
#include "shared.h"
#include "histogram.h"

/* Helpers are for programs whose licence goes with the kernel's. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

typedef struct { u8 b[16]; } uuid_t;

struct nvmet_subsys { char *subsysnqn; u8 serial[20]; } MOVES;
struct nvmet_subsys___5_13 { u64 serial; } MOVES;
struct nvmet_ns { u32 nsid; uuid_t uuid; struct nvmet_subsys *subsys; } MOVES;
struct nvmet_sq { u16 qid; } MOVES;
struct nvmet_fabrics_ops { unsigned int type; } MOVES;
struct nvmet_req {
	struct nvmet_sq *sq;
	struct nvmet_ns *ns;
	unsigned long transfer_len;
	const struct nvmet_fabrics_ops *ops;
} MOVES;

/* Of a command, as the NVMe base specification has it: opcodes, where they are, and where its data is. */
#define OPCODE 0
#define SGL_TYPE 39
#define COMMAND 40 /* as much of it as is read */
#define OPCODE_FLUSH 0
#define OPCODE_WRITE 1
#define OPCODE_READ 2
#define OPCODE_WRITE_ZEROES 8
#define OPCODE_DATASET 9
#define FROM_HOST(opcode) (((opcode) & 3) == 1)
#define SGL_IN_CAPSULE 1 /* a data block, at an offset */
#define TRANSPORT_LOOP 254

#define NQN 224

/* What is told of a request. In the order of targetIntervals. */
enum { ALL, OWN, FETCHED, BELOW, SPANS };

const volatile u32 bio_queue_first = 0; /* before 5.11, events of bios have the queue as their first argument */

/* A request that is under way. */
struct under_way {
	u64 arrived;
	u64 queued; /* its first bio; 0 for not yet, or for none */
	u8 op;
	u8 fetched; /* its data did not come with its command */
	u8 unused[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64); /* address of the request */
	__type(value, struct under_way);
} under_way SEC(".maps");

/* An address is used again when its object is gone: the serial number is made by chance. */
struct subsystem {
	u64 address;
	u64 serial;
};

struct cell_key {
	struct subsystem subsystem;
	uuid_t uuid;
	u32 nsid;
	u8 op;
	u8 size; /* 0 for none, else one more than the exponent of the power of two that holds it */
	u8 unused[2];
};

struct sums {
	struct times of[SPANS];
	u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 64);
	__type(key, struct cell_key);
	__type(value, struct sums);
} cells SEC(".maps");

/* What a cell begins with: too much for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sums);
} empty SEC(".maps");

struct name { char nqn[NQN]; };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct subsystem);
	__type(value, struct name);
} names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lost_requests SEC(".maps");

INLINE void lost(void)
{
	u32 at = 0;
	u64 *n = bpf_map_lookup_elem(&lost_requests, &at);

	if (n)
		*n += 1;
}

INLINE u8 op_of(u8 opcode)
{
	switch (opcode) {
	case OPCODE_READ:
		return READ;
	case OPCODE_WRITE:
	case OPCODE_WRITE_ZEROES:
		return WRITE;
	case OPCODE_DATASET:
		return DISCARD;
	case OPCODE_FLUSH:
		return FLUSH;
	}
	return OTHER;
}

SEC("raw_tp/nvmet_req_init") int request_arrived(u64 *ctx)
{
	struct nvmet_req *req = (void *)ctx[0];
	struct under_way new = { .arrived = bpf_ktime_get_ns() };
	u64 key = ctx[0];
	u8 command[COMMAND] = {};

	/* Queue 0 is for administration; what has no namespace has no device. */
	if (!BPF_CORE_READ(req, sq, qid) || !BPF_CORE_READ(req, ns))
		return 0;
	bpf_probe_read_kernel(command, sizeof(command), (void *)ctx[1]);
	new.op = op_of(command[OPCODE]);
	new.fetched = FROM_HOST(command[OPCODE]) && command[SGL_TYPE] != SGL_IN_CAPSULE && BPF_CORE_READ(req, ops, type) != TRANSPORT_LOOP;
	if (bpf_map_update_elem(&under_way, &key, &new, BPF_ANY))
		lost();
	return 0;
}

/* Of a request's several bios, the first one points to it. */
SEC("raw_tp/block_bio_queue") int bio_queued(u64 *ctx)
{
	struct bio *bio;
	struct under_way *r;
	u64 key;

	if (bio_queue_first) {
		bio = (void *)ctx[1];
		SAME(bio); /* or ctx is calculated with, which the verifier refuses */
	} else {
		bio = (void *)ctx[0];
	}
	key = (u64)BPF_CORE_READ(bio, bi_private);
	if (!key)
		return 0;
	r = bpf_map_lookup_elem(&under_way, &key);
	if (r && !r->queued)
		r->queued = bpf_ktime_get_ns();
	return 0;
}

INLINE u8 size_of(u64 bytes)
{
	u8 size = 0;

	if (!bytes)
		return 0;
	for (u64 v = bytes - 1; size < 40 && v; v >>= 1)
		size++;
	return size + 1;
}

ONCE int name_subsystem(u64 address, u64 serial)
{
	struct subsystem key = { address, serial };
	struct nvmet_subsys *s = (void *)address;
	struct name name = {};

	bpf_probe_read_kernel_str(name.nqn, sizeof(name.nqn), BPF_CORE_READ(s, subsysnqn));
	bpf_map_update_elem(&names, &key, &name, BPF_ANY);
	return 0;
}

INLINE struct sums *cell_of(struct cell_key *key)
{
	struct sums *c = bpf_map_lookup_elem(&cells, key), *none;
	u32 at = 0;

	if (c)
		return c;
	name_subsystem(key->subsystem.address, key->subsystem.serial);
	none = bpf_map_lookup_elem(&empty, &at);
	if (none)
		bpf_map_update_elem(&cells, key, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&cells, key);
}

SEC("raw_tp/nvmet_req_complete") int request_complete(u64 *ctx)
{
	u64 address = ctx[0], now = bpf_ktime_get_ns(), bytes = 0;
	struct nvmet_req *req = (void *)address;
	struct cell_key key = {};
	struct nvmet_subsys *s;
	struct nvmet_ns *ns;
	struct under_way *found = bpf_map_lookup_elem(&under_way, &address), r;
	struct sums *c;

	if (!found)
		return 0; /* of administration, or it was under way when the recording began */
	r = *found;
	bpf_map_delete_elem(&under_way, &address);
	ns = BPF_CORE_READ(req, ns);
	if (!ns || now < r.arrived)
		return 0;
	s = BPF_CORE_READ(ns, subsys);
	key.subsystem.address = (u64)s;
	if (bpf_core_field_exists(s->serial))
		bpf_core_read(&key.subsystem.serial, sizeof(key.subsystem.serial), &s->serial);
	else if (bpf_core_field_exists(((struct nvmet_subsys___5_13 *)s)->serial))
		key.subsystem.serial = BPF_CORE_READ((struct nvmet_subsys___5_13 *)s, serial);
	bpf_core_read(&key.uuid, sizeof(key.uuid), &ns->uuid);
	key.nsid = BPF_CORE_READ(ns, nsid);
	key.op = r.op;
	if (r.op == READ || r.op == WRITE)
		bytes = BPF_CORE_READ(req, transfer_len);
	key.size = size_of(bytes);
	c = cell_of(&key);
	if (!c) {
		lost();
		return 0;
	}
	c->bytes += bytes;
	add_time(&c->of[ALL], now - r.arrived);
	if (!r.queued)
		return 0; /* it is in a file, in a cache, or nothing was to be done */
	add_time(&c->of[r.fetched ? FETCHED : OWN], r.queued - r.arrived);
	add_time(&c->of[BELOW], now - r.queued);
	return 0;
}
