/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * System calls. Of each task the one that it is in is known, so that what it
 * queues meanwhile can be told from what is queued on its behalf later.
 */
INLINE bool waits(struct pt_regs *regs)
{
	if (bpf_core_field_exists(((struct pt_regs___x86 *)0)->dx))
		return GET((struct pt_regs___x86 *)regs, dx) != 0;
	if (bpf_core_field_exists(((struct pt_regs___arm64 *)0)->regs))
		return GET((struct pt_regs___arm64 *)regs, regs[2]) != 0;
	return false;
}

INLINE u64 first_argument(struct pt_regs *regs)
{
	if (bpf_core_field_exists(((struct pt_regs___x86 *)0)->di))
		return GET((struct pt_regs___x86 *)regs, di);
	if (bpf_core_field_exists(((struct pt_regs___arm64 *)0)->regs))
		return GET((struct pt_regs___arm64 *)regs, regs[0]);
	return 0;
}

/*
 * What submits and what gives completions back name the same queue: the
 * context of io_submit, the file of a ring. In a call that waits by itself, it
 * is the thread.
 */
INLINE u32 queue_of(u32 call, u64 task, struct pt_regs *regs)
{
	u64 first;

	if (call == CALL_SYNC)
		return task;
	first = first_argument(regs);
	if (call != CALL_RING)
		first >>= 12; /* a context is the address of a page */
	return (task >> 32) * 0x9E3779B1 + first;
}

/* The application waits from now on for what it queued in the call before this one. */
INLINE void waiting(struct task *t, u64 now)
{
	for (u32 i = 0; i < 4; i++) {
		if (i >= t->used)
			break;
		add_to(t->cell[i], X2W, now - t->left, t->queued[i]);
	}
}

/*
 * The application gets the next completion, if there is one. Only those of the
 * call that is given are counted; one that came later it had at once.
 */
ONCE int reap_one(u32 place, u64 entered, u64 now)
{
	struct fifo *f = bpf_map_lookup_elem(&fifos, &place);
	struct completion *c;
	u64 at, done;

	if (!f || (s32)(f->head - f->tail) <= 0)
		return 0;
	at = __sync_fetch_and_add(&f->tail, 1);
	SAME(at);
	at &= FIFO_SLOTS - 1;
	c = &f->slot[at];
	done = c->at;
	c->at = 0;
	if (done && (!entered || c->entered == entered))
		add_to(c->cell, C2R, now > done ? now - done : 0, 1);
	return 1;
}

ONCE int reap_from(u64 key, u32 n, u64 entered, u64 now)
{
	int place = fifo_place(key);

	for (u32 i = 0; i < FIFO_SLOTS; i++) {
		if (place < 0 || i >= n || !reap_one(place, entered, now))
			break;
	}
	return 0;
}

INLINE void reap(u32 task, u32 call, u32 n, u64 entered, u64 now)
{
	for (u32 dev = 0; dev < DEVICES; dev++) {
		if (dev >= ndevs)
			break;
		reap_from(fifo_key(task, call, dev), n, entered, now);
	}
}

/* How many completions were taken from the ring that this file is of, so far. */
INLINE bool taken_from(u32 fd, u32 *taken)
{
	struct fdtable *table;
	struct file **files, *file = NULL;
	struct io_ring_ctx *ring;
	struct io_rings *rings;

	if (!bpf_core_field_exists(((struct io_ring_ctx *)0)->rings))
		return false;
	table = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), files, fdt);
	files = BPF_CORE_READ(table, fd);
	if (fd >= BPF_CORE_READ(table, max_fds) || bpf_core_read(&file, sizeof(file), files + fd))
		return false;
	ring = BPF_CORE_READ(file, private_data);
	rings = BPF_CORE_READ(ring, rings);
	return !bpf_core_read(taken, sizeof(*taken), &rings->cq.head);
}

/*
 * A ring's owner takes completions without a call. What it took since its last
 * one, it could have had when it came back from that.
 */
INLINE void ring_entered(struct task *t, u32 queue, struct pt_regs *regs)
{
	u32 taken = 0, fd = first_argument(regs);

	if (!taken_from(fd, &taken))
		return;
	if (t->known == queue && t->back)
		reap(queue, CALL_RING, taken - t->taken, 0, t->back);
	t->taken = taken;
	t->known = queue;
}

/*
 * How many completions io_getevents gave, which says that it were ret. The
 * kernel keeps count in the context, which is a ring in the application's
 * memory, so that it does not matter when an event of a call was missed: a
 * completion that was left behind would make every later one wait for too long.
 */
INLINE u32 context_gave(struct task *t, u32 ret)
{
	struct {
		u32 nr, head;
	} ring = {};
	u32 n = ret;

	if (bpf_probe_read_user(&ring, sizeof(ring), (void *)(t->context + 4)) || !ring.nr)
		return ret;
	if (t->known == t->queue)
		n = (ring.head + ring.nr - t->taken) % ring.nr;
	t->taken = ring.head;
	t->known = t->queue;
	return n >= ret && n <= FIFO_SLOTS ? n : ret;
}

TP(sys_enter) int call_enter(u64 *ctx)
{
	u64 nr = ctx[1], now, task;
	u32 call, tid, at, queue;
	struct task *t;

	if (nr >= CALLS)
		return 0;
	call = calls[nr];
	if (!call)
		return 0;
	task = bpf_get_current_pid_tgid();
	tid = task;
	at = tid & (TASKS - 1);
	t = bpf_map_lookup_elem(&tasks, &at);
	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	if (t->tid != tid) { /* another thread's */
		t->tid = tid;
		t->left = 0;
		t->known = 0;
		t->back = 0;
	}
	t->waits = call == CALL_RING && waits((void *)ctx[0]);
	if (t->left && (call == CALL_REAP || t->waits))
		waiting(t, now);
	queue = queue_of(call, task, (void *)ctx[0]);
	if (call == CALL_RING)
		ring_entered(t, queue, (void *)ctx[0]);
	if (call == CALL_REAP)
		t->context = first_argument((void *)ctx[0]);
	t->call = call;
	t->used = 0;
	t->left = 0;
	t->entered = now;
	t->queue = queue;
	return 0;
}

TP(sys_exit) int call_exit(u64 *ctx)
{
	struct task *t = in_call();
	s64 ret = ctx[1];
	u64 now, entered;
	u32 call;

	if (!t)
		return 0;
	call = t->call;
	t->call = CALL_NONE;
	entered = t->entered;
	if (!t->used && call == CALL_SUBMIT)
		return 0;
	now = bpf_ktime_get_ns();
	if (t->used && call != CALL_SYNC)
		t->left = now;
	for (u32 i = 0; i < 4; i++) {
		if (i >= t->used)
			break;
		add_to(t->cell[i], S2X, now - entered, t->queued[i]);
	}
	if (call == CALL_REAP && ret > 0)
		reap(t->queue, CALL_SUBMIT, context_gave(t, ret), 0, now);
	else if (call == CALL_SYNC)
		reap(t->queue, CALL_SYNC, FIFO_SLOTS, entered, now);
	else if (call == CALL_RING)
		t->back = now;
	return 0;
}
