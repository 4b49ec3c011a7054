package site

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack"
	"plimsoll/internal/workload/kinds"
)

// TestStacksThatNoWeightsShare has mixes that ask for weights on hosts whose cgroups have them, or not.
func TestStacksThatNoWeightsShare(t *testing.T) {
	e, err := experiment.Parse("x.yaml", []byte(`
name: weights
question: Which stacks can be shared?
stacks: {none: dir:/srv/a, weighted: dir:/srv/b, latent: dir:/srv/c}
workloads:
  R: {fio: {rw: randread, size: 1MiB}}
mixes:
  free: {R: 2}
  rated: {R: {count: 1, limits: {read-iops: 100}, on: none}}
  weighted: {R: {count: 1, limits: {io-weight: 200}, on: weighted}}
  latent: {R: {count: 1, limits: {io-latency: 2ms}, on: latent}}
`), experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cgroup, mount string
		refused       []string
	}{
		{"5:blkio:/\n0::/\n", "/sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio", []string{"latent", "weighted"}},
		{"0::/\n", "/sys/fs/cgroup rw - cgroup2 cgroup2 rw", nil},
	} {
		proc := t.TempDir()
		for name, text := range map[string]string{"cgroup": c.cgroup, "mountinfo": "30 24 0:26 / " + c.mount + "\n"} {
			path := filepath.Join(proc, "self", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := &Sites{Experiment: e, Host: hostinfo.New()}
		r.Host.Roots = hostfs.Roots{Proc: proc, Sys: "/sys"}
		why := map[string]string{}
		for _, s := range e.Stacks {
			if err := r.Shareable(s); err != nil {
				if problem.Of(err, problem.Unsupported) == nil {
					t.Errorf("%s: %v is not unsupported", s.Name, err)
				}
				why[s.Name] = err.Error()
			}
		}
		if got := slices.Sorted(maps.Keys(why)); !slices.Equal(got, c.refused) {
			t.Errorf("refused are %q, not %q", got, c.refused)
		}
		if len(c.refused) > 0 && !strings.Contains(why["latent"], "of mix latent: block I/O is charged by cgroups of version 1") {
			t.Errorf("latent: %s", why["latent"])
		}
	}
}
