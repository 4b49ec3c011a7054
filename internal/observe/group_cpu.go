package observe

var groupCPU = sampler{
	kind: ofGroup,
	metrics: []metric{
		{
			name: "cpu.user", unit: unitCPUs, meaning: "CPU time in programs",
			file: "`cpuacct.usage_user`; version 2: `user_usec` of `cpu.stat`",
		},
		{
			name: "cpu.system", unit: unitCPUs, meaning: "CPU time in the kernel for these programs",
			file: "`cpuacct.usage_sys`; version 2: `system_usec` of `cpu.stat`",
		},
		{
			name: "cpu.throttled", unit: unitCPUs,
			meaning: "CPU time that it wanted and its CPU limit denied",
			file:    "`throttled_time` of `cpu.stat`; version 2: `throttled_usec` of `cpu.stat`",
		},
	},
	open: openGroupCPU,
}

// groupCPUReader reads the processor time of a group.
type groupCPUReader struct {
	user, system *file // version 1
	throttled    *file // version 1
	unified      *file
}

func openGroupCPU(o origin) reader {
	return &groupCPUReader{
		user:      o.open(o.group.Account, "cpuacct.usage_user"),
		system:    o.open(o.group.Account, "cpuacct.usage_sys"),
		throttled: o.open(o.group.CPU, "cpu.stat"),
		unified:   o.open(o.group.Unified, "cpu.stat"),
	}
}

func (r *groupCPUReader) read(values []float64) {
	keyed(r.unified.read(), 1e-6, []string{"user_usec", "system_usec", "throttled_usec"}, values)
	if text := r.user.read(); text != nil {
		values[0] = 1e-9 * number(text)
		values[1] = 1e-9 * number(r.system.read())
	}
	keyed(r.throttled.read(), 1e-9, []string{"throttled_time"}, values[2:])
}

func (r *groupCPUReader) close() { files{r.user, r.system, r.throttled, r.unified}.close() }
