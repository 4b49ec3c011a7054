/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is known of a request when it begins: its place, its owner, its system call. */
#ifndef BEGIN_H
#define BEGIN_H

INLINE struct bucket *bucket_of(u64 key)
{
	u32 at = (key >> 4) * 0x9E3779B97F4A7C15ULL >> 50; /* 64 - log2(BUCKETS) */

	return bpf_map_lookup_elem(&pending, &at);
}

INLINE struct pending *find(u64 key)
{
	struct bucket *b = bucket_of(key);

	if (!b)
		return NULL;
	if (b->way[0].key == key)
		return &b->way[0];
	if (b->way[1].key == key)
		return &b->way[1];
	return NULL;
}

/*
 * A place for a request that begins. Of two that are in its way, the older goes.
 * Two CPUs that look for one at once had better not take the same.
 */
INLINE struct pending *begin(u64 key, u32 dev)
{
	struct bucket *b = bucket_of(key);
	struct pending *p, *other;

	if (!b)
		return NULL;
	if (bpf_get_smp_processor_id() & 1) {
		p = &b->way[1];
		other = &b->way[0];
	} else {
		p = &b->way[0];
		other = &b->way[1];
	}
	if (p->key == key || (!p->key && other->key != key)) {
		/* its own place */
	} else if (other->key == key || !other->key) {
		p = other;
	} else {
		if (other->q < p->q)
			p = other;
		lost(LOST_PENDING);
	}
	p->key = key;
	p->q = p->d = p->n = p->entered = 0;
	p->owner = p->task = p->bytes = 0;
	p->cpu = p->merged = 0;
	p->weight = 1;
	p->queued = 0;
	p->dev = dev;
	p->over = NONE;
	p->call = p->requeued = p->op = p->into = 0;
	if (stages)
		p->g = p->i = 0;
	return p;
}

/* Where a table has the request: see struct pending. */
INLINE u64 request_key(struct request *rq)
{
	struct bio *bio = GET(rq, bio);

	return bio ? address(bio) : address(rq);
}

static __noinline u32 known_owner(struct owner_key *key)
{
	u32 *known, id = 0;

	if (!key)
		return 0;
	known = bpf_map_lookup_elem(&owners, key);
	if (known)
		return *known;
	if (bpf_map_pop_elem(&free_owners, &id)) {
		lost(LOST_OWNERS);
		return 0;
	}
	if (bpf_map_update_elem(&owners, key, &id, BPF_NOEXIST)) { /* another CPU was first */
		bpf_map_push_elem(&free_owners, &id, 0);
		known = bpf_map_lookup_elem(&owners, key);
		return known ? *known : 0;
	}
	return id;
}

/* The owner of what the current task queues for a cgroup, or for its own. */
INLINE u32 new_owner(struct task_struct *task, u64 charged_to, bool kernel)
{
	struct owner_key key = {};
	struct task_struct *leader = GET(task, group_leader);

	key.cgroup = kernel ? charged_to : cgroup_of(task);
	key.pid = GET(task, tgid);
	key.kernel = kernel && !charged_to;
	bpf_core_read(&key.comm, sizeof(key.comm), &leader->comm);
	if (kernel) {
		/* The threads of the pool are all the same: kworker/0:1H is kworker. */
		bool pooled = *(u64 *)key.comm == 0x2f72656b726f776bULL; /* "kworker/" */

		if (pooled) {
			__builtin_memset(key.comm, 0, sizeof(key.comm));
			__builtin_memcpy(key.comm, "kworker", 7);
		}
		if (pooled || charged_to)
			key.pid = 0;
	}
	return known_owner(&key);
}

INLINE u32 owner_of(struct bio *bio)
{
	struct task_struct *task = current();
	u32 tid = GET(task, pid), at = tid & (TASKS - 1);
	bool kernel = GET(task, flags) & PF_KTHREAD;
	u64 group = kernel ? charged(bio) : (u64)GET(task, cgroups), comm = 0;
	struct known_task *k = bpf_map_lookup_elem(&known_tasks, &at);

#ifdef RAW
	bpf_core_read(&comm, sizeof(comm), &task->comm);
#else
	comm = *(u64 *)task->comm;
#endif
	if (!k)
		return 0;
	if (k->tid == tid && k->group == group && k->comm == comm)
		return k->owner;
	k->owner = new_owner(task, group, kernel);
	k->tid = tid;
	k->group = group;
	k->comm = comm;
	return k->owner;
}

/* The system call that the current task is in, if it is one that is followed. */
INLINE struct task *in_call(void)
{
	u32 tid = bpf_get_current_pid_tgid(), at = tid & (TASKS - 1);
	struct task *t = bpf_map_lookup_elem(&tasks, &at);

	return t && t->tid == tid && t->call ? t : NULL;
}

/* A bio was queued within a call: S2Q is known now, and S2X when it returns. */
INLINE void queued_in_call(struct pending *p, struct bio *bio, struct task *t)
{
	u32 bytes = GET(bio, bi_iter.bi_size), i;
	u64 key = key_of(p->owner, p->dev, op_of(GET(bio, bi_opf), bytes), bytes, 1);

	p->call = t->call;
	p->entered = t->entered;
	p->task = t->queue;
	add_to(key, S2Q, p->q - t->entered, 1);
	for (i = 0; i < 4; i++) {
		if (i == t->used) {
			t->cell[i] = key;
			t->queued[i] = 0;
			t->used++;
		}
		if (t->cell[i] == key || i == 3) {
			t->queued[i]++;
			break;
		}
	}
}

/* A request is timed. Says which is the next, and returns for how many this one stands. */
ONCE u32 next_turn(u64 now)
{
	u32 zero = 0, weight, stands;
	struct pace *c = bpf_map_lookup_elem(&pace, &zero);

	if (!c)
		return 1;
	weight = c->weight ? c->weight : 1;
	stands = weight * slices;
	c->timed++;
	c->stood += stands;
	if (c->slice != slice) { /* nothing was timed just before */
		c->slice = slice;
		c->since = now;
		c->turns = 0;
	}
	if (++c->turns >= TURNS) {
		u64 took = now - c->since;

		c->weight = weight;
		if (took < TURNS * LEAST_GAP && weight < GREATEST_WEIGHT)
			c->weight = weight * 2;
		else if (took > TURNS * GREATEST_GAP && weight > 1)
			c->weight = weight / 2;
		c->since = now;
		c->turns = 0;
	}
	if (c->weight > 1) /* one of 0 to 2 * weight - 2 */
		c->left = (u64)bpf_get_prandom_u32() * (2 * c->weight - 1) >> 32;
	return stands;
}

/* The thread that queued the last bio on this CPU has an owner, and keeps it until a request is timed. */
INLINE u32 owner_again(struct pace *c, struct bio *bio, bool timed)
{
	u32 tid = bpf_get_current_pid_tgid();

	if (timed || c->tid != tid) {
		c->owner = owner_of(bio);
		c->tid = GET(current(), flags) & PF_KTHREAD ? 0 : tid; /* it queues for anybody */
	}
	return c->owner;
}

/*
 * For how many requests the one stands that is queued now; 0 when it is not
 * timed. Whoever was not the last to queue something on this CPU always is, so
 * that nobody is overlooked beside those who do much.
 */
INLINE u32 weight_of(struct pace *c, u64 now)
{
	if (c->tid == (u32)bpf_get_current_pid_tgid())
		return next_turn(now);
	c->timed++;
	c->stood += slices;
	return slices;
}

INLINE struct pending *queued(struct bio *bio, u32 dev)
{
	u32 zero = 0, weight = 1;
	struct pace *c = NULL;
	struct pending *p;
	u64 now = 0;

	if (paced)
		c = bpf_map_lookup_elem(&pace, &zero);
	if (c && !slices) {
		weight = 0;
	} else if (c && c->left && c->tid == (u32)bpf_get_current_pid_tgid()) {
		c->left--;
		weight = 0;
	} else {
		now = bpf_ktime_get_ns();
		if (c)
			weight = weight_of(c, now);
	}
	/* One that is not timed is counted when it is complete; whose it is, those tell that are. */
	if (!weight && !remaps && !bio_based)
		return NULL;
	if (application && remaps) {
		struct task *t = in_call();

		p = find(address(bio));
		if (t && p && p->into == CAME && p->entered == t->entered) { /* it was counted when it came */
			p->into = 0;
			p->q = now;
			return p;
		}
	}
	p = begin(address(bio), dev);
	if (!p)
		return NULL;
	p->q = now;
	p->weight = weight;
	p->queued = 1;
	p->owner = c ? owner_again(c, bio, weight) : owner_of(bio);
	if (bio_based) {
		p->bytes = GET(bio, bi_iter.bi_size);
		p->op = op_of(GET(bio, bi_opf), p->bytes);
	}
	if (requests)
		p->cpu = bpf_get_smp_processor_id();
	if (application) {
		struct task *t = in_call();

		/* What the call reads or writes for the file system itself is no I/O of the application's. */
		if (t && !(GET(bio, bi_opf) & REQ_META))
			queued_in_call(p, bio, t);
	}
	return p;
}

#endif
