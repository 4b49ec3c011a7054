package nodetest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/cli/buildinfo"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
	"plimsoll/kubernetes/node"
)

// tutorial is a shell in which commands of the tutorial are run as they stand there.
type tutorial struct {
	*cluster

	dir  string // as a clone: it has kubernetes/
	page string
}

// tutorialOf returns a shell with kubectl and the programs in its PATH.
func (k *cluster) tutorialOf() *tutorial {
	k.t.Helper()
	page, err := os.ReadFile("../../docs/tutorials/3-kubernetes-first-pod.md")
	if err != nil {
		k.t.Fatal(err)
	}
	s := &tutorial{cluster: k, dir: filepath.Join(k.dir, "clone"), page: string(page)}
	write(k.t, filepath.Join(s.dir, "bin/kubectl"),
		"#!/bin/sh\nexec "+filepath.Join(k.bin, "hyperkube")+" kubectl \"$@\"\n")
	source, err := filepath.Abs("..")
	err = errors.Join(err, os.Chmod(filepath.Join(s.dir, "bin/kubectl"), 0o755), //nolint:gosec // a program
		os.Symlink(source, filepath.Join(s.dir, "kubernetes")),
		os.Symlink(k.program("plimsoll-kubernetes"), filepath.Join(s.dir, "bin/plimsoll-kubernetes")))
	if err != nil {
		k.t.Fatal(err)
	}
	return s
}

// step returns the text of a step of the page, by its number.
func (s *tutorial) step(number int) string {
	s.t.Helper()
	_, text, found := strings.Cut(s.page, fmt.Sprintf("\n## %d. ", number))
	if !found {
		s.t.Fatalf("the tutorial has no step %d", number)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// run runs the commands of a step, with other words for some of the page's, and returns what they print.
func (s *tutorial) run(number int, words ...string) string {
	s.t.Helper()
	commands := regexp.MustCompile(`(?m)^    \$ (.*)$`).FindAllStringSubmatch(s.step(number), -1)
	if len(commands) == 0 {
		s.t.Fatalf("step %d has no command", number)
	}
	var all strings.Builder
	for _, c := range commands {
		out, err := s.sh(strings.NewReplacer(words...).Replace(c[1]))
		all.WriteString(out)
		if err != nil {
			s.t.Fatalf("step %d: %v", number, err)
		}
	}
	return all.String()
}

func (s *tutorial) sh(command string) (string, error) {
	c := exec.CommandContext(s.t.Context(), "sh", "-c", command)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig,
		"PATH="+filepath.Join(s.dir, "bin")+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	s.t.Logf("$ %s\n%s", command, out)
	if err != nil {
		err = fmt.Errorf("%s: %w", command, err)
	}
	return string(out), err
}

// schedule runs the scheduler's program with the configuration and the rights that the manifests give it. Its own pod
// has no network here that reaches the API server.
func (s *tutorial) schedule() {
	s.t.Helper()
	m, err := s.client.CoreV1().ConfigMaps(iofit.Namespace).Get(s.t.Context(), "scheduler-config", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	as := kubetest.Kubeconfig(s.config)
	as.AuthInfos["u"].Impersonate = "system:serviceaccount:" + iofit.Namespace + ":scheduler"
	as.AuthInfos["u"].ImpersonateGroups = []string{"system:serviceaccounts", "system:authenticated"}
	file := filepath.Join(s.dir, "scheduler.kubeconfig")
	if err := clientcmd.WriteToFile(as, file); err != nil {
		s.t.Fatal(err)
	}
	config := filepath.Join(s.dir, "scheduler.yaml")
	write(s.t, config, m.Data["scheduler.yaml"]+"clientConnection: {kubeconfig: "+file+"}\n")
	p := s.cluster.run("scheduler", s.program("plimsoll-kubernetes"), "scheduler", "--config="+config, "--secure-port=0")
	s.t.Cleanup(p.stop)
}

// pod creates the pod of the page's step 5, with other words for some of the page's.
func (s *tutorial) pod(name string, words ...string) {
	s.t.Helper()
	_, text, _ := strings.Cut(s.step(5), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	p := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(strings.NewReplacer(words...).Replace(text)), p); err != nil {
		s.t.Fatal(err)
	}
	p.Name, p.Spec.HostNetwork = name, true
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "test.invalid/pause:1",
		ImagePullPolicy: corev1.PullIfNotPresent}}
	if _, err := s.client.CoreV1().Pods("default").Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// says waits until an event of a pod has a reason.
func (s *tutorial) says(pod, reason string) {
	s.t.Helper()
	until(s.t, pod+" says "+reason, func() error {
		all, err := s.client.CoreV1().Events("default").List(s.t.Context(),
			metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
		if err != nil {
			return err
		}
		var others []string
		for _, e := range all.Items {
			if e.Reason == reason {
				s.t.Logf("%s  %s  %s", pod, e.Reason, e.Message)
				return nil
			}
			others = append(others, e.Reason+": "+e.Message)
		}
		return fmt.Errorf("it says %q", others)
	})
}

// The commands of the tutorial run in their order, on nodes that have no label: a pod that asks for 80% of what step 4
// prints is placed, one that asks for twice of it says why not, and nothing is left. Measuring is short here, unless
// PLIMSOLL_TUTORIAL has other settings, such as "--budget 20m".
func TestTutorial(t *testing.T) {
	k := start(t)
	kubetest.Schedule(t, k.config, nil)
	pause := k.image("pause:1", map[string]string{"/pause": filepath.Join(k.bin, "pause")}, "/pause")
	agent := k.imageNamed("plimsoll-kubernetes:"+buildinfo.Number(), map[string]string{
		"/usr/local/bin/plimsoll-kubernetes": k.program("plimsoll-kubernetes"),
		"/usr/local/bin/plimsoll":            k.program("../plimsoll"),
	}, "plimsoll-kubernetes")
	names := []string{k.add(0, "", pause, agent).name, k.add(1, "", pause, agent).name}
	s := k.tutorialOf()
	t.Cleanup(func() { // of a test that failed
		if _, err := os.Stat(node.Base); err == nil {
			_, _ = exec.Command(k.program("plimsoll-kubernetes"), "fleet", "clean", "--all", //nolint:noctx,gosec // ours
				"--kubeconfig", k.kubeconfig).CombinedOutput()
		}
	})
	words := []string{"node-7", names[0], "node-8", names[1], "--budget 20m", cmp.Or(os.Getenv("PLIMSOLL_TUTORIAL"),
		"--only randread-max,randwrite-max,C,C-small-1,C-small-2,C-large-1 --repeat 1 --runtime 500ms") +
		" --keep-free 0%"} // the disk of this machine may be as full as it is
	out := s.run(2, words...)
	if !strings.Contains(out, "2 of 2 nodes can run node.") {
		t.Error("fleet doctor does not say that nodes can be measured")
	}
	s.run(3)
	s.schedule()

	// Nodes that were labelled after they were measured have a model, too; without a label, it is said how.
	if _, err := s.sh("kubectl label node " + strings.Join(names, " ") + " plimsoll.dev/kind-"); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(s.dir, "storage/fleet.json")
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	write(t, record, strings.ReplaceAll(string(text), `"kind": "storage",`, ""))
	fails, err := s.sh("plimsoll-kubernetes fleet fit storage")
	way := regexp.MustCompile(`kubectl label node [0-9. ]+ plimsoll\.dev/kind=KIND`).FindString(fails)
	if err == nil || way == "" {
		t.Fatalf("%v: it does not say how nodes get a kind: %s", err, fails)
	}
	if _, err := s.sh(strings.Replace(way, "KIND", "storage", 1)); err != nil {
		t.Fatal(err)
	}

	out = s.run(4, words...)
	printed := regexp.MustCompile(`plimsoll\.dev/class: (\S+)  # alone, ([0-9,.]+) operations a second, 99 of 100 within ` +
		`([0-9.]+) (ms|µs|s)`).FindStringSubmatch(out)
	drive := regexp.MustCompile(`plimsoll\.dev/drive: (\S+)`).FindStringSubmatch(out)
	if printed == nil || drive == nil {
		t.Fatalf("step 4 prints no annotations to paste: %s", out)
	}
	rate, err := strconv.ParseFloat(strings.ReplaceAll(printed[2], ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	p99, err := strconv.ParseFloat(printed[3], 64)
	if err != nil {
		t.Fatal(err)
	}
	asks := func(share float64) []string {
		return []string{"class: C", "class: " + printed[1], "drive: drive", "drive: " + drive[1],
			"1000/s", fmt.Sprintf("%.0f/s", share*rate), "10ms", fmt.Sprintf("%g%s", 2*p99, printed[4])}
	}
	s.pod("placed", asks(0.8)...)
	s.says("placed", "Predicted")
	until(t, "the pod runs", func() error {
		p, err := k.client.CoreV1().Pods("default").Get(t.Context(), "placed", metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("%s: %v", p.Status.Phase, p.Status.ContainerStatuses)
		}
		return err
	})
	s.pod("waits", asks(2)...)
	s.says("waits", "FailedScheduling")
	if _, err := s.sh("kubectl delete pod placed waits --now"); err != nil {
		t.Fatal(err)
	}

	s.run(6, words...)
	if _, err := os.Stat(node.Base); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", node.Base, err)
	}
	for _, namespace := range []string{iofit.Namespace, "plimsoll-fleet"} {
		if _, err := k.client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{}); err == nil {
			t.Errorf("namespace %s is left", namespace)
		}
	}
}

// The numbers of the page itself fit: its pod asks for at most 80% of what its step 4 prints.
func TestNumbersOfTheTutorial(t *testing.T) {
	text, err := os.ReadFile("../../docs/tutorials/3-kubernetes-first-pod.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	asked := regexp.MustCompile(`least-throughput: (\d+)/s`).FindStringSubmatch(page)
	class := regexp.MustCompile(`class: (\S+) +# the workload`).FindStringSubmatch(page)
	if asked == nil || class == nil {
		t.Fatal("the page has no pod")
	}
	printed := regexp.MustCompile(`class: ` + class[1] + `  # alone, ([0-9,]+) operations`).FindStringSubmatch(page)
	if printed == nil {
		t.Fatalf("step 4 does not print class %s", class[1])
	}
	rate, _ := strconv.ParseFloat(strings.ReplaceAll(printed[1], ",", ""), 64)
	if least, _ := strconv.ParseFloat(asked[1], 64); least > 0.8*rate {
		t.Errorf("it asks for %g of %g", least, rate)
	}
}
