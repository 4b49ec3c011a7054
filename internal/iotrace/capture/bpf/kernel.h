/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The few fields of the kernel's types that the recorder reads. Where they lie
 * is told by the kernel that runs, when the programs are loaded (CO-RE); the
 * names after three underscores are of older kernels.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;

#define NULL ((void *)0)
#define MOVES __attribute__((preserve_access_index))
#define INLINE static __always_inline
/* Functions that the verifier walks through once, and not at each call: its patience has an end. */
#define ONCE __noinline

struct kernfs_node { u64 id; } MOVES;
struct cgroup { struct kernfs_node *kn; } MOVES;
struct cgroup_subsys_state { struct cgroup *cgroup; struct cgroup_subsys_state *parent; } MOVES;
struct css_set { struct cgroup_subsys_state *subsys[12]; struct cgroup *dfl_cgrp; } MOVES;
struct task_struct {
	unsigned int flags;
	int pid, tgid;
	char comm[16];
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct files_struct *files;
} MOVES;

/* From the file of a ring to how many completions its owner took from it. */
struct io_uring { u32 head; } MOVES;
struct io_rings { struct io_uring cq; } MOVES;
struct io_ring_ctx { struct io_rings *rings; } MOVES;
struct file { void *private_data; } MOVES;
struct fdtable { unsigned int max_fds; struct file **fd; } MOVES;
struct files_struct { struct fdtable *fdt; } MOVES;

struct blkcg { struct cgroup_subsys_state css; } MOVES;
struct blkcg_gq { struct blkcg *blkcg; } MOVES;

struct gendisk { int major, first_minor; struct request_queue *queue; } MOVES;
struct block_device { struct gendisk *bd_disk; u32 bd_dev; } MOVES;
struct bvec_iter { u64 bi_sector; unsigned int bi_size; } MOVES;
struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	void *bi_private;
	struct blkcg_gq *bi_blkg;
} MOVES;
struct bio___5_11 { struct gendisk *bi_disk; } MOVES;

struct request_queue { struct gendisk *disk; } MOVES;
struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio, *biotail;
	u64 start_time_ns;
} MOVES;
struct request___5_16 { struct gendisk *rq_disk; } MOVES;

/* Only the fourth argument of a system call is read. */
struct pt_regs { u64 orig_ax; } MOVES;
struct pt_regs___x86 { unsigned long di, dx, r10; } MOVES;
struct pt_regs___arm64 { u64 regs[31]; } MOVES;

/*
 * What is checked must be what is used: the compiler may not keep it in two
 * registers, of which the verifier of older kernels knows one to be bounded.
 */
#define SAME(v) asm volatile("" : "+r"(v))

#define E2BIG 7
#define PF_KTHREAD 0x00200000

#define REQ_META (1U << 12)

enum { OP_READ, OP_WRITE, OP_FLUSH, OP_DISCARD };

/*
 * GET(p, a, b) is p->a->b. Programs of kind tp_btf follow pointers themselves,
 * those of kind raw_tp have a helper read what they point to. The source is
 * compiled for each.
 */
#ifdef RAW
#define TP(name) SEC("raw_tp/" #name)
#define GET(p, ...) BPF_CORE_READ(p, ##__VA_ARGS__)
#else
#define TP(name) SEC("tp_btf/" #name)
#define GET1(p, a) (p)->a
#define GET2(p, a, b) (p)->a->b
#define GET3(p, a, b, c) (p)->a->b->c
#define GET4(p, a, b, c, d) (p)->a->b->c->d
#define GETN(_1, _2, _3, _4, name, ...) name
#define GET(p, ...) GETN(__VA_ARGS__, GET4, GET3, GET2, GET1)(p, __VA_ARGS__)
#endif

#endif
