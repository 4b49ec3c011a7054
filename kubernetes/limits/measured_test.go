package limits

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/nri/pkg/api"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"plimsoll/kubernetes/iofit"
)

// measured returns a plugin that counts a container of each pod, and a function that writes files of their groups.
func measured(t *testing.T, pods ...*api.PodSandbox) (p *Plugin, majMin string, kernel func(file, text string)) {
	t.Helper()
	p, c, _ := unified(t)
	_, majMin = disk(t)
	group := filepath.Join(p.unified, groupPath(c.GetLinux().GetCgroupsPath()))
	kernel = func(file, text string) {
		if err := os.WriteFile(filepath.Join(group, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, pod := range pods {
		c.Id = string(rune('a' + i))
		if err := p.StartContainer(t.Context(), pod, c); err != nil {
			t.Fatal(err)
		}
	}
	return p, majMin, kernel
}

func classed(name string, annotations ...string) *api.PodSandbox {
	pod := &api.PodSandbox{Id: "p", Uid: "1-2", Namespace: "shop", Name: name, Annotations: map[string]string{
		iofit.ClassAnnotation: "writes"}}
	for i := 0; i < len(annotations); i += 2 {
		pod.Annotations[annotations[i]] = annotations[i+1]
	}
	return pod
}

func scrape(t *testing.T, p *Plugin) string {
	t.Helper()
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

const aPrediction = `{"drive":"nvme","operations":200,"least":150,"reads":40,"writes":60,"read_bytes":4096,` +
	`"write_bytes":8192}`

// What the kernel counts of a pod with a class is beside what was predicted of it, also after the plugin is started
// anew, and goes with the container.
func TestMeasuredBesidePredicted(t *testing.T) {
	pod := classed("db", iofit.PredictedAnnotation, aPrediction)
	p, majMin, kernel := measured(t, pod)
	var device string
	for _, c := range p.counted {
		device = c.devices[majMin]
	}
	of := `{container="mysql",device="` + device + `",namespace="shop",pod="db"} `
	if device == "" || device == majMin {
		t.Errorf("disk %s has no name", majMin)
	}
	kernel("io.stat", "")
	if text := scrape(t, p); !strings.Contains(text, "plimsoll_container_reads_total"+of+"0\n") ||
		strings.Contains(text, "waited") {
		t.Errorf("what did nothing yet: %s", text)
	}
	kernel("io.stat", "7:77 rbytes=1 wbytes=1 rios=1 wios=1\n"+majMin+
		" rbytes=10 wbytes=20 rios=3 wios=4 dbytes=0 dios=0\n")
	kernel("io.pressure", "some avg10=0.00 avg60=1.50 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 "+
		"avg300=0.00 total=500000\n")
	wants := []string{"plimsoll_container_reads_total" + of + "3", "plimsoll_container_writes_total" + of + "4",
		"plimsoll_container_read_bytes_total" + of + "10", "plimsoll_container_write_bytes_total" + of + "20",
		`plimsoll_container_io_waited_seconds_total{container="mysql",namespace="shop",pod="db",tasks="some"} 2.5`,
		`plimsoll_container_io_waited_seconds_total{container="mysql",namespace="shop",pod="db",tasks="full"} 0.5`}
	for name, n := range map[string]string{"operations": "200", "least_ratio": "0.75", "reads": "40", "writes": "60",
		"read_bytes": "4096", "write_bytes": "8192"} {
		wants = append(wants, "plimsoll_pod_predicted_"+name+`{drive="nvme",namespace="shop",pod="db"} `+n)
	}
	check := func(p *Plugin) {
		t.Helper()
		text := scrape(t, p)
		for _, want := range wants {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("%q is not in %s", want, text)
			}
		}
	}
	check(p)
	dir, _ := disk(t)
	again, _, _ := aPlugin()
	again.unified = p.unified
	c := &api.Container{Id: "a", PodSandboxId: "p", Name: "mysql", State: api.ContainerState_CONTAINER_RUNNING,
		Mounts: []*api.Mount{bind(dir, "/data")},
		Linux:  &api.LinuxContainer{CgroupsPath: "kubepods-burstable-pod1_2.slice:cri-containerd:c1"}}
	if _, err := again.Synchronize(t.Context(), []*api.PodSandbox{pod}, []*api.Container{c}); err != nil {
		t.Fatal(err)
	}
	check(again)
	if _, err := again.StopContainer(t.Context(), pod, c); err != nil {
		t.Fatal(err)
	}
	if text := scrape(t, again); strings.Contains(text, "plimsoll_container") || strings.Contains(text, "predicted") {
		t.Errorf("what has ended is counted: %s", text)
	}
}

// Nobody makes the scrape fail, or grow without end, by what pods say.
func TestAttackMetrics(t *testing.T) {
	p, _, kernel := measured(t, classed("a\xff\"\n{}"), classed("twice", iofit.PredictedAnnotation, aPrediction),
		classed("twice", iofit.PredictedAnnotation, aPrediction), classed("x", iofit.PredictedAnnotation, "fast"),
		classed("y", iofit.PredictedAnnotation, strings.Repeat("[", 1<<20)),
		classed("z", iofit.PredictedAnnotation, `{"drive":"`+strings.Repeat("\xff", 9)+`","operations":0,"least":1}`))
	kernel("io.stat", "")
	kernel("io.pressure", "so\xffme total=1\n")
	text := scrape(t, p)
	if strings.Count(text, `plimsoll_pod_predicted_reads{drive="nvme"`) != 1 || !strings.Contains(text, `pod="y"`) {
		t.Error(text)
	}
	dir, _ := disk(t)
	for i := range 2 * mostCounted {
		c := &api.Container{Id: strings.Repeat("i", i+10), Name: "c", Mounts: []*api.Mount{bind(dir, "/data")}}
		p.count(p.mounts(), classed("many"), c)
	}
	if len(p.counted) != mostCounted {
		t.Errorf("%d containers are counted", len(p.counted))
	}
}

// Queries of the dashboard and of alerts ask for metrics and labels that are exported, by these names.
func TestQueriesNameWhatIsExported(t *testing.T) {
	p, _, kernel := measured(t, classed("db", iofit.PredictedAnnotation, aPrediction))
	kernel("io.stat", "")
	kernel("io.pressure", "some total=1\nfull total=1\n")
	registry := prometheus.NewRegistry()
	registry.MustRegister(p)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]bool{"node": true} // which the ServiceMonitor adds
	exported := map[string]bool{}           // by whether it is asked for
	for _, f := range families {
		exported[f.GetName()] = false
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[l.GetName()] = true
		}
	}
	// Schedulers export their own, of which these have no scrape.
	source, err := os.ReadFile("../scheduler/metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`Name:\s*"(\w+)"`).FindAllSubmatch(source, -1) {
		exported["plimsoll_"+string(m[1])] = true
	}
	for _, m := range regexp.MustCompile(`\[\]string{"(\w+)"}`).FindAllSubmatch(source, -1) {
		labels[string(m[1])] = true
	}
	exported["scheduler_unschedulable_pods"], labels["plugin"], labels["profile"] = true, true, true
	queries := 0
	metric := regexp.MustCompile(`(?:plimsoll|scheduler)_\w+`)
	matcher := regexp.MustCompile(`(?:[{,]|label_values\([^,]*, )\s*(\w+)\s*(?:=|!=|\))`)
	grouped := regexp.MustCompile(`by \(([^)]*)\)`)
	check := func(query string) {
		queries++
		names := metric.FindAllString(query, -1)
		if len(names) == 0 {
			t.Errorf("%s asks for nothing of ours", query)
		}
		for _, name := range names {
			if _, is := exported[name]; !is {
				t.Errorf("nothing exports %s: %s", name, query)
			}
			exported[name] = true
		}
		var asked []string
		for _, m := range matcher.FindAllStringSubmatch(query, -1) {
			asked = append(asked, m[1])
		}
		for _, m := range grouped.FindAllStringSubmatch(query, -1) {
			asked = append(asked, strings.Split(m[1], ", ")...)
		}
		for _, l := range asked {
			if !labels[l] {
				t.Errorf("nothing has a label %q: %s", l, query)
			}
		}
	}
	var dashboard struct{ Data map[string]string }
	read(t, "../manifests/dashboard/dashboard.yaml", &dashboard)
	for file, text := range dashboard.Data {
		var of struct {
			Templating struct {
				List []struct{ Type, Query string }
			}
			Panels []struct{ Targets []struct{ Expr string } }
		}
		if err := json.Unmarshal([]byte(text), &of); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range of.Templating.List {
			if v.Type == "query" {
				check(v.Query)
			}
		}
		for _, panel := range of.Panels {
			for _, target := range panel.Targets {
				check(target.Expr)
			}
		}
	}
	var rules struct {
		Spec struct {
			Groups []struct{ Rules []struct{ Expr string } }
		}
	}
	read(t, "../manifests/alerts/alerts.yaml", &rules)
	for _, g := range rules.Spec.Groups {
		for _, r := range g.Rules {
			check(r.Expr)
		}
	}
	if queries < 15 {
		t.Errorf("%d queries were found", queries)
	}
	for _, name := range slices.Sorted(maps.Keys(exported)) {
		if !exported[name] {
			t.Errorf("no query asks for %s", name)
		}
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(bytes.TrimSpace(text), into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
