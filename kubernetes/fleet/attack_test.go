package fleet

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/lab/tarball"
	"plimsoll/internal/testkit/runtest"
	"plimsoll/kubernetes/node"
)

// Containers that a cluster gives to each pod, such as those of a service mesh, say nothing of a node's run: they
// neither end the collector nor stand for its own.
func TestAttackContainersOfOthers(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := func(says string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: says}}
	}
	for _, c := range []struct {
		what         string
		init, others []corev1.ContainerStatus
		state        State
	}{
		{"one before is done, and the run is not",
			[]corev1.ContainerStatus{{Name: "mesh", State: ended("")}, {Name: measures, State: running}}, nil, Measuring},
		{"one runs beside", []corev1.ContainerStatus{{Name: "mesh", State: running},
			{Name: measures, State: ended(`{"code": 3, "said": "no"}`)}},
			[]corev1.ContainerStatus{{Name: keeps, State: running}}, Measured},
		{"only another runs", []corev1.ContainerStatus{{Name: measures, State: ended("{}")}},
			[]corev1.ContainerStatus{{Name: "proxy", State: running}}, Measuring},
		{"only another is there", []corev1.ContainerStatus{{Name: "mesh", State: ended("{}")}},
			[]corev1.ContainerStatus{{Name: "proxy", State: running}}, Waiting},
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: c.init, ContainerStatuses: c.others}}
		n := &Node{Name: "a"}
		s := seen{job: &batchv1.Job{}, pod: pod}
		if n.judge(s); n.State != c.state {
			t.Errorf("%s: it is %s, not %s", c.what, n.State, c.state)
		}
		if c.state != Measured {
			continue
		}
		said := errors.New("it is not asked")
		collector := &Collector{Record: &Record{ID: "x"}, Dir: t.TempDir(),
			exec: func(context.Context, string, io.Writer, ...string) error { return said }}
		if err := collector.collect(t.Context(), n, s); !errors.Is(err, said) || n.Code != 3 {
			t.Errorf("%s: %v, %d", c.what, err, n.Code)
		}
	}
}

// The record of another user's run, or one that others may write, starts nothing on nodes.
func TestAttackRecordOfAnotherUser(t *testing.T) {
	plant := map[string]func(file string) error{
		"belongs to user 65534": func(file string) error { return os.Chown(file, 65534, 65534) },
		"can be written by":     func(file string) error { return os.Chmod(file, 0o666) },
		"a link": func(file string) error {
			return errors.Join(os.Rename(file, file+"-else"), os.Symlink(file+"-else", file))
		},
		"": func(string) error { return nil },
	}
	if os.Geteuid() != 0 {
		delete(plant, "belongs to user 65534") // only root gives files away
	}
	for says, do := range plant {
		dir := t.TempDir()
		r := &Record{ID: "x-1", Namespace: Namespace, Experiment: "density", Image: "evil", Args: []string{"--destroy=S4EV"}}
		if err := errors.Join(r.Write(dir), do(filepath.Join(dir, recordName))); err != nil {
			t.Fatal(err)
		}
		_, err := ReadOwn(dir)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", says, err)
		}
		if _, err := Read(dir); err != nil { // what was measured is anybody's to read
			t.Errorf("%q: %v", says, err)
		}
	}
}

// Under sudo, results are taken with the rights of the user behind it: they belong to that user, and a link in the
// place of their directory leads into none of root's.
func TestAttackResultsUnderSudo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has more rights than the user behind sudo")
	}
	const uid = 12345
	source, above := t.TempDir(), t.TempDir()
	stored(t, source, node.RunName, runtest.Tell(t, "stack raw: loop(size=1GiB)\nworkload RR randread\nRR raw 1000"))
	hers, precious := filepath.Join(above, "hers"), filepath.Join(above, "precious")
	link := filepath.Join(hers, "link")
	err := errors.Join(os.Chmod(filepath.Dir(above), 0o711), os.Mkdir(hers, 0o755), os.Chown(hers, uid, uid),
		os.Mkdir(precious, 0o755), os.Symlink(precious, link))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SUDO_UID", strconv.Itoa(uid))
	t.Setenv("SUDO_GID", strconv.Itoa(uid))
	take := func(dir string) error {
		c := &Collector{Record: &Record{ID: "x"}, Dir: dir,
			exec: func(_ context.Context, _ string, out io.Writer, _ ...string) error {
				return tarball.Pack(out, filepath.Join(source, node.RunName))
			}}
		return c.fetch(t.Context(), "a", "pod")
	}
	if err := take(hers); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(hers, "a", "run.json")); err != nil {
		t.Error(err)
	} else if owner := info.Sys().(*syscall.Stat_t).Uid; owner != uid {
		t.Errorf("the results belong to user %d", owner)
	}
	err = take(link)
	if entries, _ := os.ReadDir(precious); err == nil || len(entries) > 0 {
		t.Errorf("root's directory has %v, %v", entries, err)
	}
}
