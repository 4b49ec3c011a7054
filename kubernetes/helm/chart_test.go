package helm

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const chartDir = "../manifests"

// render returns what the chart makes of values, by kind, namespace and name; and its notes.
func render(t *testing.T, version, values string) (map[string]map[string]any, string, error) {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	can := chartutil.DefaultCapabilities.Copy()
	can.KubeVersion.Version = version
	all, err := chartutil.ToRenderValues(
		c,
		given,
		chartutil.ReleaseOptions{Name: "p", Namespace: "io", IsInstall: true},
		can,
	)
	if err != nil {
		return nil, "", err
	}
	out, err := engine.Render(c, all)
	if err != nil {
		return nil, "", err
	}
	objects := map[string]map[string]any{}
	for _, doc := range strings.Split(out["plimsoll/templates/plimsoll.yaml"], "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v: %s", err, doc)
		}
		if o == nil {
			continue
		}
		key := strings.TrimSpace(
			fmt.Sprintf("%v %v/%v", o["kind"], at(o, "metadata", "namespace"), at(o, "metadata", "name")),
		)
		if objects[key] != nil {
			t.Errorf("%s twice", key)
		}
		objects[key] = o
	}
	return objects, out["plimsoll/templates/NOTES.txt"], nil
}

// at returns what is at a path of keys and indices; "" where there is nothing.
func at(o any, path ...any) any {
	for _, step := range path {
		switch in := o.(type) {
		case map[string]any:
			o = in[fmt.Sprint(step)]
		case []any:
			if i, is := step.(int); is && i < len(in) {
				o = in[i]
			} else {
				return ""
			}
		}
	}
	if o == nil {
		return ""
	}
	return o
}

const everything = "{scheduler: {enabled: %t}, extender: {enabled: %t}, limits: {enabled: %t}, fleet: {enabled: %t}, " +
	"policy: {enabled: %t}, defaults: {enabled: %t}, monitor: {enabled: %t}, alerts: {enabled: %t}, " +
	"dashboard: {enabled: %t}}"

// defaultClasses is the index of the part that takes a newer API server than the others.
const defaultClasses = 5

// Each part is there where it is enabled, each object once, with an image of this version, and what outlives a release
// is kept.
func TestParts(t *testing.T) {
	version, err := os.ReadFile("../../internal/cli/buildinfo/VERSION")
	if err != nil {
		t.Fatal(err)
	}
	image := "plimsoll-kubernetes:" + strings.TrimSpace(string(version))
	for i, want := range []int{13, 6, 6, 8, 2, 2, 2, 1, 1} {
		on := make([]any, 9)
		for j := range on {
			on[j] = i == j
		}
		server := "v1.35.4"
		if on[defaultClasses] == true {
			server = "v1.36.3"
		}
		all, _, err := render(t, server, fmt.Sprintf(everything, on...))
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != want {
			t.Errorf("part %d: %d objects, not %d: %v", i, len(all), want, slices.Sorted(mapKeys(all)))
		}
		for key, o := range all {
			if strings.HasPrefix(key, "Namespace") && at(o, "metadata", "annotations", "helm.sh/resource-policy") != "keep" {
				t.Errorf("%s goes with the release", key)
			}
			if key == "Namespace /plimsoll" || strings.Contains(key, " plimsoll/") ||
				strings.Contains(fmt.Sprint(o), "namespace:plimsoll ") {
				t.Errorf("%s is not of the release's namespace: %v", key, o)
			}
			if at(o, "metadata", "labels", "app.kubernetes.io/instance") != "p" {
				t.Errorf("%s is not labelled", key)
			}
			if !strings.HasPrefix(key, "D") {
				continue
			}
			c := at(o, "spec", "template", "spec", "containers", 0)
			if at(c, "image") != image || at(c, "imagePullPolicy") != "IfNotPresent" {
				t.Errorf("%s: %v", key, c)
			}
			// The image's user is not root: who needs that says so.
			root := at(c, "securityContext", "runAsUser") == int64(0) || at(c, "securityContext", "runAsUser") == float64(0)
			if root != (key == "DaemonSet plimsoll-limits/limits") {
				t.Errorf("%s is root: %t", key, root)
			}
			if at(c, "securityContext", "privileged") == true || at(o, "spec", "template", "spec", "hostPID") == true ||
				at(c, "securityContext", "capabilities", "drop", 0) != "ALL" {
				t.Errorf("%s has rights of the node: %v", key, at(o, "spec", "template", "spec"))
			}
			selector := at(o, "spec", "selector", "matchLabels").(map[string]any)
			for name, value := range selector {
				if at(o, "spec", "template", "metadata", "labels", name) != value || len(selector) != 1 {
					t.Errorf("%s selects other pods, or cannot be upgraded: %v", key, selector)
				}
			}
		}
	}
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// With cgroups of version 1 alone, limits run in a privileged pod. Else paths of the node may be added, to be read.
func TestLimitsByVersionOfCgroups(t *testing.T) {
	for values, wants := range map[string]func(pod any) bool{
		"{cgroupV1: true, enabled: true, nodeSelector: {a: b}}": func(pod any) bool {
			return at(pod, "containers", 0, "securityContext", "privileged") == true && at(pod, "hostPID") == true &&
				at(pod, "nodeSelector", "a") == "b" && at(pod, "$patch") == ""
		},
		"{enabled: true, paths: [/mnt/nvme]}": func(pod any) bool {
			return at(pod, "containers", 0, "volumeMounts", 3, "mountPath") == "/mnt/nvme" &&
				at(pod, "containers", 0, "volumeMounts", 3, "readOnly") == true &&
				at(pod, "volumes", 3, "hostPath", "path") == "/mnt/nvme" && at(pod, "hostPID") == ""
		},
	} {
		all, _, err := render(t, "v1.35.4", "{limits: "+values+"}")
		if err != nil {
			t.Fatal(err)
		}
		pod := at(all["DaemonSet plimsoll-limits/limits"], "spec", "template", "spec")
		if !wants(pod) || at(pod, "containers", 0, "readinessProbe", "httpGet", "path") != "/readyz" {
			t.Errorf("%s: %v", values, pod)
		}
	}
	if _, _, err := render(t, "v1.35.4", "{limits: {enabled: true, paths: [mnt]}}"); err == nil {
		t.Error("a path that is none is taken")
	}
}

// What operators set arrives, and a new configuration makes new pods.
func TestValues(t *testing.T) {
	all, notes, err := render(t, "v1.36.0", `
image: {registry: registry.example:5000, repository: io/p, tag: "2", pullPolicy: Always}
imagePullSecrets: [{name: secret}]
scheduler:
  schedulerName: mine
  weight: 3
  replicas: 2
  args: {unknown: Deny, limitNamespaces: [db]}
  nodeSelector: {a: b}
  tolerations: [{operator: Exists}]
  priorityClassName: high
  podAnnotations: {c: d}
extender: {enabled: true, extraArgs: [--unknown=Deny]}
`)
	if err != nil {
		t.Fatal(err)
	}
	d := all["Deployment io/scheduler"]
	pod := at(d, "spec", "template", "spec")
	for what, is := range map[string][2]any{
		"image":  {at(pod, "containers", 0, "image"), "registry.example:5000/io/p:2"},
		"policy": {at(pod, "containers", 0, "imagePullPolicy"), "Always"},
		"secret": {at(pod, "imagePullSecrets", 0, "name"), "secret"}, "nodes": {at(pod, "nodeSelector", "a"), "b"},
		"tolerations": {at(pod, "tolerations", 0, "operator"), "Exists"}, "priority": {at(pod, "priorityClassName"), "high"},
		"replicas": {fmt.Sprint(at(d, "spec", "replicas")), "2"},
		"note":     {at(d, "spec", "template", "metadata", "annotations", "c"), "d"},
	} {
		if is[0] != is[1] {
			t.Errorf("%s: %v, not %v", what, is[0], is[1])
		}
	}
	config := fmt.Sprint(at(all["ConfigMap io/scheduler-config"], "data", "scheduler.yaml"))
	var k map[string]any
	if err := yaml.Unmarshal([]byte(config), &k); err != nil {
		t.Fatal(err)
	}
	profile := at(k, "profiles", 0)
	if at(profile, "plugins", "bind", "enabled", 0, "name") != "IOFit" {
		t.Errorf("it binds nothing: %s", config)
	}
	if at(profile, "schedulerName") != "mine" ||
		fmt.Sprint(at(profile, "plugins", "multiPoint", "enabled", 0, "weight")) != "3" ||
		at(k, "leaderElection", "resourceNamespace") != "io" ||
		fmt.Sprint(at(profile, "pluginConfig", 0, "args")) != "map[limitNamespaces:[db] namespace:io unknown:Deny]" {
		t.Error(config)
	}
	command := fmt.Sprint(at(all["DaemonSet io/extender"], "spec", "template", "spec", "containers", 0, "command"))
	if !strings.Contains(command, "--unknown=Deny --namespace=io") {
		t.Error(command)
	}
	for _, want := range []string{"are placed by mine", "--namespace io", `"helm uninstall" leaves them`} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in the notes: %s", want, notes)
		}
	}
	sum := func(values string) any {
		all, _, err := render(t, "v1.35.0", values)
		if err != nil {
			t.Fatal(err)
		}
		return at(all["Deployment io/scheduler"], "spec", "template", "metadata", "annotations", "checksum/config")
	}
	if a, b := sum("{}"), sum("{scheduler: {weight: 11}}"); a == b || a == "" {
		t.Errorf("%v and %v: a new configuration makes no new pods", a, b)
	}
}

// A scheduler with several replicas survives drains, takes what kube-scheduler takes, and reads models where they are.
// What is outside of its namespace has the release's name.
func TestSchedulerIsOperated(t *testing.T) {
	all, _, err := render(t, "v1.35.4", `
scheduler:
  replicas: 2
  args: {namespace: models-of-all}
  percentageOfNodesToScore: 5
  extraArgs: [--v=2, --logging-format=json]
extender: {enabled: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	d := all["Deployment io/scheduler"]
	pod := at(d, "spec", "template", "spec")
	selector := fmt.Sprint(at(d, "spec", "selector"))
	config := fmt.Sprint(at(all["ConfigMap io/scheduler-config"], "data", "scheduler.yaml"))
	for what, is := range map[string][2]any{
		"priority":        {at(pod, "priorityClassName"), "system-cluster-critical"},
		"spread":          {fmt.Sprint(at(pod, "topologySpreadConstraints", 0, "labelSelector")), selector},
		"disruptions":     {fmt.Sprint(at(all["PodDisruptionBudget io/scheduler"], "spec", "maxUnavailable")), "1"},
		"budget's pods":   {fmt.Sprint(at(all["PodDisruptionBudget io/scheduler"], "spec", "selector")), selector},
		"start":           {at(pod, "containers", 0, "startupProbe", "httpGet", "path"), "/healthz"},
		"network":         {fmt.Sprint(at(all["NetworkPolicy io/scheduler"], "spec", "podSelector")), selector},
		"role of models":  {at(all["Role models-of-all/models"], "kind"), "Role"},
		"binding to them": {at(all["RoleBinding models-of-all/scheduler-models"], "subjects", 0, "namespace"), "io"},
		"cluster's":       {at(all["ClusterRoleBinding /p-scheduler"], "subjects", 0, "namespace"), "io"},
		"kube-system's":   {at(all["RoleBinding kube-system/p-scheduler-authentication"], "kind"), "RoleBinding"},
	} {
		if is[0] != is[1] {
			t.Errorf("%s: %v, not %v", what, is[0], is[1])
		}
	}
	for text, in := range map[string]any{
		"percentageOfNodesToScore: 5": config, "namespace: models-of-all": config,
		"--v=2 --logging-format=json": at(pod, "containers", 0, "command"),
		"--namespace=models-of-all": at(all["DaemonSet io/extender"], "spec", "template", "spec", "containers", 0,
			"command"),
	} {
		if !strings.Contains(fmt.Sprint(in), text) {
			t.Errorf("%q is not in %v", text, in)
		}
	}
	for key, o := range all {
		name := fmt.Sprint(at(o, "roleRef", "name"))
		if at(o, "roleRef", "kind") == "ClusterRole" && !strings.HasPrefix(name, "system:") &&
			all["ClusterRole /"+name] == nil {
			t.Errorf("%s is of a ClusterRole that is not there, %s", key, name)
		}
	}
	one, _, err := render(t, "v1.35.4", "{}")
	if err != nil {
		t.Fatal(err)
	}
	if one["PodDisruptionBudget io/scheduler"] != nil ||
		at(one["Deployment io/scheduler"], "spec", "template", "spec", "topologySpreadConstraints") != "" {
		t.Error("one replica has a budget that keeps its node from being drained")
	}
	own, _, err := render(t, "v1.35.4", "{scheduler: {podDisruptionBudget: {minAvailable: 50%}}}")
	if err != nil || at(own["PodDisruptionBudget io/scheduler"], "spec", "minAvailable") != "50%" ||
		at(own["PodDisruptionBudget io/scheduler"], "spec", "maxUnavailable") != "" {
		t.Errorf("%v: %v", err, own["PodDisruptionBudget io/scheduler"])
	}
}

// The notes have the tutorial's commands, in its order, but for those that Helm did.
func TestNotesAreTheTutorial(t *testing.T) {
	page, err := os.ReadFile("../../docs/tutorials/3-kubernetes-first-pod.md")
	if err != nil {
		t.Fatal(err)
	}
	_, notes, err := render(t, "v1.35.4", "{fleet: {enabled: true}}")
	if err != nil {
		t.Fatal(err)
	}
	_, steps, _ := strings.Cut(string(page), "## 2. ")
	steps, _, _ = strings.Cut(steps, "## 5. ")
	commands := regexp.MustCompile(`(?m)^    \$ (kubectl label .*|plimsoll-kubernetes .*)$`).FindAllStringSubmatch(steps, -1)
	if len(commands) < 4 {
		t.Fatalf("commands of the tutorial: %v", commands)
	}
	rest := notes
	for _, c := range commands {
		_, after, found := strings.Cut(rest, "\n    "+c[1])
		if !found {
			t.Errorf("%q is not there, or too early, in the notes:\n%s", c[1], notes)
			continue
		}
		if next, _, _ := strings.Cut(after, "\n"); next != "" && next != " --namespace io" {
			t.Errorf("the notes add %q to %q", next, c[1])
		}
		rest = after
	}
}

// Prometheus is told of limits and nothing else, at a port that they have. Nothing is there without being asked for.
func TestMonitoring(t *testing.T) {
	all, _, err := render(t, "v1.35.4", `
limits: {enabled: true}
monitor: {enabled: true, labels: {release: prometheus}}
alerts: {enabled: true, labels: {release: prometheus}, below: 2h30m}
dashboard: {enabled: true, labels: {folder: storage}, namespace: grafana}
`)
	if err != nil {
		t.Fatal(err)
	}
	service := all["Service plimsoll-limits/limits"]
	pod := at(all["DaemonSet plimsoll-limits/limits"], "spec", "template")
	monitor := all["ServiceMonitor plimsoll-limits/limits"]
	for _, selector := range []struct{ of, from any }{
		{at(service, "spec", "selector"), at(pod, "metadata", "labels")},
		{at(monitor, "spec", "selector", "matchLabels"), at(service, "metadata", "labels")},
	} {
		of, is := selector.of.(map[string]any)
		for name, value := range of {
			if !is || at(selector.from, name) != value {
				t.Errorf("%v does not select %v", selector.of, selector.from)
			}
		}
		if len(of) == 0 {
			t.Error("all is selected")
		}
	}
	port := at(service, "spec", "ports", 0)
	if at(port, "targetPort") != at(pod, "spec", "containers", 0, "ports", 0, "name") ||
		at(port, "name") != at(monitor, "spec", "endpoints", 0, "port") {
		t.Errorf("%v of %v", port, monitor)
	}
	if at(monitor, "spec", "endpoints", 0, "honorLabels") != true {
		t.Error("what is measured of a pod counts on the pod of limits")
	}
	rules := all["PrometheusRule plimsoll-limits/limits"]
	for _, o := range []any{monitor, rules} {
		if at(o, "metadata", "labels", "release") != "prometheus" {
			t.Errorf("no Prometheus selects it: %v", at(o, "metadata"))
		}
	}
	for _, r := range at(rules, "spec", "groups", 0, "rules").([]any) {
		if want := "2h30m"; (at(r, "for") == want) != (at(r, "alert") == "PlimsollBelowPrediction") {
			t.Errorf("%v: %v", at(r, "alert"), at(r, "for"))
		}
		for _, key := range []any{"expr", "for", "labels", "annotations"} {
			if at(r, key) == "" {
				t.Errorf("%v has no %s", at(r, "alert"), key)
			}
		}
	}
	board := all["ConfigMap grafana/plimsoll-dashboard"]
	if at(board, "metadata", "labels", "grafana_dashboard") != "1" ||
		at(board, "metadata", "labels", "folder") != "storage" {
		t.Errorf("%v", at(board, "metadata"))
	}
	var of map[string]any
	if err := yaml.UnmarshalStrict([]byte(fmt.Sprint(at(board, "data", "plimsoll-drives.json"))), &of); err != nil {
		t.Fatal(err)
	}
	ids := map[any]bool{}
	for _, p := range at(of, "panels").([]any) {
		x, w := at(p, "gridPos", "x").(float64), at(p, "gridPos", "w").(float64)
		if ids[at(p, "id")] || at(p, "title") == "" || at(p, "datasource", "uid") != "${datasource}" || x+w > 24 {
			t.Errorf("panel %v", p)
		}
		ids[at(p, "id")] = true
	}
	all, _, err = render(t, "v1.35.4", "{limits: {enabled: true}}")
	if err != nil {
		t.Fatal(err)
	}
	for key := range all {
		if strings.Contains(key, "dashboard") || strings.HasPrefix(key, "Service ") ||
			strings.HasPrefix(key, "ServiceMonitor") || strings.HasPrefix(key, "PrometheusRule") {
			t.Errorf("%s is there unasked", key)
		}
	}
}

// What is no value is refused, and so are API servers that the scheduler cannot be beside.
func TestWrongValues(t *testing.T) {
	for values, says := range map[string]string{
		"image: plimsoll": "image", "{scheduler: {weight: 0}}": "weight", "{schedular: {enabled: true}}": "schedular",
		"{image: {pullPolicy: Sometimes}}": "pullPolicy", "{scheduler: {args: {unknown: allow}}}": "unknown",
		"{limits: {replicas: 3}}": "replicas", "{image: {digest: sha256:1}}": "digest",
		"{alerts: {below: soon}}": "below", "{dashboard: {enabled: 1}}": "enabled",
	} {
		if _, _, err := render(t, "v1.35.4", values); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", values, err)
		}
	}
	const none = "refused"
	for version, suffix := range map[string]string{
		"v1.34.9": none, "v1.35.0-eks-1": "", "v1.35.4": "", "v1.36.1": "-k1.36", "v1.37.0-gke.1": "-k1.37",
		"v1.37.2":        "-k1.37",
		"v1.38.0-beta.0": "-k1.37", "v1.39.0": none,
	} {
		all, _, err := render(t, version, "{}")
		if (err != nil) != (suffix == none) || err != nil && !strings.Contains(err.Error(), "1.35 to 1.38") {
			t.Errorf("%s: %v", version, err)
		}
		if err == nil {
			pod := at(all["Deployment io/scheduler"], "spec", "template", "spec", "containers", 0, "image")
			if pod != "plimsoll-kubernetes:0.1.0"+suffix {
				t.Errorf("%s: the image is %v", version, pod)
			}
		}
		if _, _, err := render(t, version, "{scheduler: {enabled: false}, limits: {enabled: true}}"); err != nil {
			t.Errorf("%s, without a scheduler: %v", version, err)
		}
		_, _, err = render(t, version, "{scheduler: {enabled: false}, defaults: {enabled: true}}")
		if old := version < "v1.36"; old != (err != nil) || old && !strings.Contains(err.Error(), "1.36 or newer") {
			t.Errorf("%s, with default classes: %v", version, err)
		}
	}
}

// Helm's own lint finds nothing that is wrong.
func TestLint(t *testing.T) {
	found := lint.AllWithKubeVersion(
		chartDir,
		nil,
		"io",
		&chartutil.KubeVersion{Version: "v1.35.4", Major: "1", Minor: "35"},
	)
	for _, m := range found.Messages {
		if m.Severity >= support.WarningSev {
			t.Error(m)
		}
	}
}
