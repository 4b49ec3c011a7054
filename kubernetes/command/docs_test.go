package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/cli/buildinfo"
	"plimsoll/kubernetes/iofit"
)

var (
	ourCommand = regexp.MustCompile("(?m)(?:^ +(?:\\$ )?|`)(?:plimsoll-kubernetes|kubectl plimsoll) ([a-z][^`\n#]*)")
	folder     = regexp.MustCompile(`kubectl (?:apply|delete) -k\s+(\S*[a-z])`)
)

// The commands of pages are there, with the flags that they show, and what they apply has manifests.
func TestCommandsOfPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	commands, folders := 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ourCommand.FindAllStringSubmatch(string(text), -1) {
			commands++
			line := strings.TrimSpace(m[1])
			if err := parses(line); err != nil {
				t.Errorf("%s: plimsoll-kubernetes %s: %v", page, line, err)
			}
		}
		for _, m := range folder.FindAllStringSubmatch(string(text), -1) {
			folders++
			_, err := os.Stat(filepath.Join("../..", m[1], "kustomization.yaml"))
			if err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if commands < 8 || folders < 5 {
		t.Errorf("only %d commands and %d folders were found", commands, folders)
	}
	for _, line := range []string{"fleet rum density", "fleet run density --nods x=y"} {
		if parses(line) == nil {
			t.Errorf("%s is taken for a command", line)
		}
	}
}

// The resources of operators that a page shows name the scheduler, with annotations that it reads.
func TestRecipesOfOperators(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Databases that an operator runs\n")
	_, recipes, _ := strings.Cut(section, "```yaml\n")
	recipes, _, _ = strings.Cut(recipes, "```")
	docs := strings.Split(recipes, "\n---\n")
	if len(docs) != 3 {
		t.Fatalf("%d recipes", len(docs))
	}
	for _, doc := range docs {
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(doc), &o); err != nil {
			t.Fatalf("%v: %s", err, doc)
		}
		schedulers, classed := 0, 0
		var walk func(any)
		walk = func(value any) {
			fields, _ := value.(map[string]any)
			if fields["schedulerName"] == "plimsoll-scheduler" {
				schedulers++
			}
			if _, has := fields[iofit.ClassAnnotation]; has {
				classed++
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
				for key, v := range fields {
					p.Annotations[key] = fmt.Sprint(v)
				}
				if d, err := iofit.DemandOf(p); err != nil || !d.Limited() {
					t.Errorf("%v: %v", err, fields)
				}
			}
			for _, v := range fields {
				walk(v)
			}
		}
		walk(o)
		if schedulers != 1 || classed != 1 {
			t.Errorf("%v names %d schedulers, and has %d classes", o["kind"], schedulers, classed)
		}
	}
}

// What manifests and the chart start is the image of this version.
func TestVersionsOfManifests(t *testing.T) {
	number := buildinfo.Number()
	for file, want := range map[string]string{
		"Chart.yaml":                   "version: " + number + "\nappVersion: \"" + number + "\"",
		"scheduler/kustomization.yaml": "newTag: " + number,
		"extender/kustomization.yaml":  "newTag: " + number, "limits/kustomization.yaml": "newTag: " + number,
	} {
		text, err := os.ReadFile(filepath.Join("../manifests", file))
		if err != nil || !strings.Contains(string(text), want+"\n") {
			t.Errorf("%s does not say %q: %v", file, want, err)
		}
	}
	all, err := filepath.Glob("../manifests/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		images, policies := strings.Count(
			string(text),
			"          image: ",
		), strings.Count(
			string(text),
			"imagePullPolicy: IfNotPresent",
		)
		if err != nil || images != policies {
			t.Errorf("%s: %d images, and %d are taken from the node where it has them: %v", file, images, policies, err)
		}
	}
}

// parses returns what is wrong with a command line.
func parses(line string) error {
	words := strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(line))
	found, rest, err := Root(buildinfo.Build{}, nil).Find(words)
	if err != nil {
		return err
	}
	found.InitDefaultHelpFlag()
	err = found.ParseFlags(rest)
	if err != nil {
		return err
	}
	if found.HasSubCommands() && found.Flags().NArg() > 0 {
		return fmt.Errorf("there is no command %s", found.Flags().Arg(0))
	}
	return nil
}
