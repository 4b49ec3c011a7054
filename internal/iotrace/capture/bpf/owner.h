/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* For whom a bio is: the control group of who queues it, or that it is charged to. */
#ifndef OWNER_H
#define OWNER_H

/* What user space sets before it loads the programs. */
const volatile u32 unified = 0;     /* owners are known by their cgroups of version 2, */
const volatile u32 subsystem = 0;   /* else by those of this controller */

/* The cgroup that a bio is charged to, if it is not everybody's. */
INLINE u64 charged(struct bio *bio)
{
	struct blkcg_gq *group;
	struct blkcg *blkcg;

	if (!bpf_core_field_exists(bio->bi_blkg))
		return 0;
	group = GET(bio, bi_blkg);
	if (!group)
		return 0;
	blkcg = GET(group, blkcg);
	if (!blkcg || !GET(blkcg, css.parent))
		return 0;
	return GET(blkcg, css.cgroup, kn, id);
}

INLINE struct task_struct *current(void)
{
#ifdef RAW
	return (void *)bpf_get_current_task();
#else
	return (void *)bpf_get_current_task_btf();
#endif
}

INLINE u64 cgroup_of(struct task_struct *task)
{
	struct cgroup_subsys_state *css;

	if (unified)
		return GET(task, cgroups, dfl_cgrp, kn, id);
	css = GET(task, cgroups, subsys[subsystem]);
	return GET(css, cgroup, kn, id);
}

#endif
