package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/model/modeltest"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/story"
	"plimsoll/kubernetes/fleet"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// says runs a command line, and returns what it prints.
func says(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := root()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// A model goes from a file to the cluster, and a plan comes of it that says what to move.
func TestFromModelToPlan(t *testing.T) {
	dir := t.TempDir()
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	path := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	modelFile := path("model.json", file.String())
	fast := path("fast.yaml", "{cpus: 8, memory: 8GiB, drives: {nvme: fast}}")
	slow := path("slow.yaml", "{cpus: 8, memory: 8GiB, drives: {sata: slow}}")

	printed, err := says(t, "fleet", "fit", "--kind", "fast", "--model", modelFile, "--host", fast, "--dry-run")
	if err != nil {
		t.Fatal(err)
	}
	var m corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(printed), &m); err != nil {
		t.Fatal(err)
	}
	if k, err := iofit.ParseKind(&m); err != nil || k.Name != "fast" || m.Namespace != "plimsoll" {
		t.Fatalf("%v of %s", err, printed)
	}
	for _, wrong := range [][]string{
		{"fleet", "fit", "--kind", "fast"}, {"fleet", "fit", t.TempDir()}, {"fleet", "fit", "--model", modelFile},
		{"fleet", "fit", "--kind", "fast", "--model", modelFile, "last"},
		{"fleet", "fit", "--kind", "a b/c", "--model", modelFile, "--dry-run"},
		{"fleet", "fit", "--kind", "fast", "--model", fast, "--dry-run"},
		{"plan", "--headroom", "2"}, {"plan", "--objective", "speed"}, {"plan", "--moves", "-1"}} {
		if out, err := says(t, wrong...); err == nil {
			t.Errorf("%q: %s", wrong, out)
		}
	}

	config := kubetest.Start(t)
	client := kubernetes.NewForConfigOrDie(config)
	clientConfig := api.NewConfig()
	clientConfig.Clusters["c"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData,
		CertificateAuthority: config.CAFile, TLSServerName: config.ServerName}
	clientConfig.AuthInfos["u"] = &api.AuthInfo{Token: config.BearerToken}
	clientConfig.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	clientConfig.CurrentContext = "x"
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*clientConfig, kubeconfig); err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "plimsoll"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := says(t, "plan", "--kubeconfig", kubeconfig)
	if err == nil || !strings.Contains(err.Error(), "has no model") {
		t.Errorf("%v: %s", err, out)
	}
	for name, host := range map[string]string{"fast": fast, "slow": slow} {
		_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name + "-1",
			Labels: map[string]string{iofit.KindLabel: name}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // once more, in the place of the first
			out, err := says(t, "fleet", "fit", "--kind", name, "--model", modelFile, "--host", host, "--kubeconfig", kubeconfig)
			if err != nil || !strings.Contains(out, "Nodes of kind "+name+" have a model: ConfigMap plimsoll/model-"+name+
				", 1 nodes.") {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
	for _, name := range []string{"orders-0", "orders-1", "orders-2"} {
		_, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{iofit.ClassAnnotation: "writes"}}, Spec: corev1.PodSpec{NodeName: "slow-1",
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "c", Image: "none"}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(dir, "plan.html")
	out, err = says(t, "plan", "--kubeconfig", kubeconfig, "--page", page)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"slow-1", "fast-1", "default/orders-"} {
		if !strings.Contains(out, word) {
			t.Errorf("%q is not in the plan:\n%s", word, out)
		}
	}
	t.Log(out)
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "fast-1") {
		t.Error(err)
	}
}

// Who reads a kubeconfig that is none is told so.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, command := range []string{"plan", "extender"} {
		if _, err := says(t, command); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// A run of a fleet has all kinds of its nodes, each with all that was measured of it.
func TestFitsOfAFleet(t *testing.T) {
	dir := t.TempDir()
	r := &fleet.Record{ID: "density-1", Namespace: "plimsoll-fleet", Experiment: "density"}
	for name, kind := range map[string]string{"a": "fast", "b": "fast", "c": "slow", "d": ""} {
		run := story.Density(true)
		run.ID = name
		for i := range run.Trials {
			run.Trials[i].Seq = i + 1
		}
		err := store.Keep(filepath.Join(dir, name), *run, func(result.Trial) map[string][]byte { return nil })
		if err != nil {
			t.Fatal(err)
		}
		r.Nodes = append(r.Nodes, fleet.Node{Name: name, Kind: kind, State: fleet.Done})
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	printed, err := says(t, "fleet", "fit", dir, "--dry-run")
	if strings.Count(printed, "kind: ConfigMap") != 2 || !strings.Contains(printed, "name: model-fast") ||
		!strings.Contains(printed, "name: model-slow") || err == nil || !strings.Contains(err.Error(), "without a kind") {
		t.Errorf("%v: %s", err, printed)
	}
}

// Nothing is started, and nothing is written, where the command line would do harm or say nothing.
func TestFleetRunIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	beside := filepath.Join(t.TempDir(), "mine.yaml")
	text := "name: mine\nquestion: What?\nstacks: {here: \"dir:.\"}\nworkloads:\n  A: {fio: {file: other.fio}}\n"
	if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says string
		args []string
	}{
		{"which experiment, on which nodes?", nil},
		{"which experiment, on which nodes?", []string{"density"}},
		{"is another device on another node", []string{"density", "--nodes", "a=b", "--destroy", "/dev/sda"}},
		{"it is the serial of a device", []string{"density", "--nodes", "a=b", "--on", "/dev/sda"}},
		{"no such file", []string{"nothing.yaml", "--nodes", "a=b"}},
		{"other.fio is not taken along", []string{beside, "--nodes", "a=b"}},
		{"give nothing else with it", []string{"--resume", "x", "--budget", "5m"}},
		{"is no run of a fleet", []string{"--resume", t.TempDir()}},
		{"it is a number of nodes", []string{"density", "--nodes", "a=b", "--each-kind", "-1"}},
		{"is there already", []string{"density", "--nodes", "a=b", "--out", t.TempDir()}},
		{"unknown flag: --state", []string{"density", "--nodes", "a=b", "--state", "/"}},
	} {
		_, err := says(t, append([]string{"fleet", "run"}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v does not say %q", c.args, err, c.says)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
