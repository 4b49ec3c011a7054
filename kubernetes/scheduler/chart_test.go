package scheduler

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

// files is what a chart's templates see as .Files.
type files struct{ dir string }

func (f files) Glob(pattern string) (map[string]string, error) {
	found, err := filepath.Glob(filepath.Join(f.dir, pattern))
	all := map[string]string{}
	for _, name := range found {
		rel, err := filepath.Rel(f.dir, name)
		if err != nil {
			return nil, err
		}
		all[rel] = f.Get(rel)
	}
	return all, err
}

func (f files) Get(name string) string {
	text, _ := os.ReadFile(filepath.Join(f.dir, name))
	return string(text)
}

// The chart has what Kustomize has, each once, of what is enabled, with the image that values
// name. Helm's functions are those that its template uses.
func TestChart(t *testing.T) {
	dir := filepath.Join("..", "manifests")
	functions := template.FuncMap{
		"dict": func(pairs ...any) map[string]any {
			d := map[string]any{}
			for i := 0; i < len(pairs); i += 2 {
				d[fmt.Sprint(pairs[i])] = pairs[i+1]
			}
			return d
		},
		"hasSuffix": func(suffix, s string) bool { return strings.HasSuffix(s, suffix) },
		"replace":   func(old, with, s string) string { return strings.ReplaceAll(s, old, with) },
	}
	file := filepath.Join(dir, "templates/plimsoll.yaml")
	chart, err := template.New("plimsoll.yaml").Funcs(functions).ParseFiles(file)
	if err != nil {
		t.Fatal(err)
	}
	for enabled, want := range map[string]int{"": 0, "scheduler": 11, "extender": 8, "limits": 3, "fleet": 7, "all": 27} {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(files{dir}.Get("values.yaml")), &values); err != nil {
			t.Fatal(err)
		}
		values["image"] = "registry.example/p:2"
		for part, v := range values {
			if m, is := v.(map[string]any); is {
				m["enabled"] = part == enabled || enabled == "all"
			}
		}
		var out bytes.Buffer
		if err := chart.Execute(&out, map[string]any{"Values": values, "Files": files{dir}}); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, doc := range strings.Split(out.String(), "\n---\n") {
			var o struct {
				Kind     string
				Metadata struct{ Name, Namespace string }
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Errorf("%v: %s", err, doc)
			}
			if o.Kind == "" {
				continue
			}
			key := o.Kind + " " + o.Metadata.Namespace + "/" + o.Metadata.Name
			if seen[key] {
				t.Errorf("%s twice", key)
			}
			seen[key] = true
		}
		if len(seen) != want {
			t.Errorf("%q: %d objects, not %d: %v", enabled, len(seen), want, seen)
		}
		images := strings.Count(out.String(), "image: registry.example/p:2\n")
		runs := strings.Count(out.String(), "kind: Deployment") + strings.Count(out.String(), "kind: DaemonSet")
		if images != runs {
			t.Errorf("%q: %d of %d have the image that was asked for", enabled, images, runs)
		}
	}
}
