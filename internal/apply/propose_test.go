package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/problem"
)

// unlabelled is a file with labels in each form that Compose and YAML have.
const unlabelled = `# the shop
name: shop
x-app: &app
  image: app:1
  labels: {team: one}
services:
  none: {image: "app:1"}
  block:
    image: app:1
    labels:
      team: two # theirs
  list:
    image: app:1
    labels: [team=three]
  merged: {<<: *app}
  alias: *app
  twice: {<<: [{user: "5"}, *app]}
  has: {<<: *app, labels: {plimsoll.class: own}}
  variable:
    image: db:${TAG}
    hostname: $NAME
    environment: [TOKEN]
    labels: {port: "${PORT:-5}", price: "5$$"}
`

// A proposal labels services in whatever form their labels have, and the rest of the file stays as it was.
func TestProposedClassesAreWritten(t *testing.T) {
	p, err := Propose(t.Context(), "compose.yaml", []byte(unlabelled), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Unclassed); got != "[alias block list merged none twice variable]" {
		t.Errorf("services without a class: %s", got)
	}
	if got := fmt.Sprint(p.Variables); got != "[NAME TAG TOKEN]" {
		t.Errorf("variables without a value: %s", got)
	}
	classes := map[string]string{}
	for _, name := range p.Unclassed {
		classes[name] = "class-of-" + name
	}
	text, err := p.Label(t.Context(), classes)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"NAME": "x", "TAG": "1", "TOKEN": "secret"}
	read, err := ReadCompose(t.Context(), "compose.yaml", text, env, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	labels := map[string]string{}
	for _, s := range read.Services {
		labels[s.Name] = fmt.Sprint(read.Demands[s.Name]["class"], " ", s.Labels)
	}
	for name, want := range map[string]string{
		"none": "class-of-none map[]", "block": "class-of-block map[team:two]", "list": "class-of-list map[team:three]",
		"merged": "class-of-merged map[team:one]", "alias": "class-of-alias map[team:one]",
		"twice": "class-of-twice map[team:one]", "has": "own map[]", "variable": "class-of-variable map[port:5 price:5$]",
	} {
		if labels[name] != want {
			t.Errorf("%s has %s, want %s", name, labels[name], want)
		}
	}
	for _, kept := range []string{"# the shop", "# theirs", "<<: *app", "${TAG}"} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("%q is lost:\n%s", kept, text)
		}
	}
}

// What the rewritten file would change besides is found out, and said.
func TestAProposalThatWouldChangeMoreIsRefused(t *testing.T) {
	text := `name: shop
services:
  a: {image: x, labels: &l {team: one}}
  b: {image: x, labels: *l}
`
	p, err := Propose(t.Context(), "compose.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Label(t.Context(), map[string]string{"a": "A"}); err == nil || problem.Of(err).Remedy == "" {
		t.Errorf("labels that another service shares: %v", err)
	}
}

// All problems of a file are found where classes are proposed, too, but for classes and values.
func TestProposalFindsAllProblems(t *testing.T) {
	_, err := Propose(t.Context(), "compose.yaml", []byte(`name: shop
services:
  a: {image: "${X}", privileged: true}
  b: {build: ., pid: host}
  c: {image: y, volumes: ["/etc:/x"]}
`), nil)
	var all problem.List
	if !errors.As(err, &all) || len(all) != 4 {
		t.Errorf("got %d problems, want 4: %v", len(all), err)
	}
}

// A stranger's file is refused by what it may name, however its classes are asked for.
func TestAttackProposal(t *testing.T) {
	for name, text := range map[string]string{
		"escape in a name": "name: shop\nservices: {\"a\\e[2J\": {image: x}}",
		"line in a name":   "name: shop\nservices: {\"a\\n  evil: {image: y}\": {image: x}}",
		"separator":        "name: shop\nservices: {\"a\\u2028evil\": {image: x}}",
		"escape in image":  "name: shop\nservices: {a: {image: \"x\\e]0;t\\a\"}}",
		"line in image":    "name: shop\nservices: {a: {image: \"postgres\\nprivileged: true\"}}",
		"option as image":  "name: shop\nservices: {a: {image: \"--privileged\"}}",
		"project":          "name: \"x; rm -rf ~\"\nservices: {a: {image: x}}",
		"bomb":             bomb(),
		"giant":            "name: shop\nservices: {a: {image: x}}\n#" + strings.Repeat("x", 1<<20),
		"merges of merges": "name: shop\nx-a0: &a0 {user: x}\n" + merges(60) + "services: {a: {image: x, <<: *a60}}",
		"own label":        "name: shop\nservices: {a: {image: x, labels: {plimsoll.token: x}}}",
	} {
		p, err := Propose(t.Context(), "compose.yaml", []byte(text), nil)
		if err == nil {
			t.Errorf("%s: it is taken: %+v", name, p.Project)
			continue
		}
		if strings.ContainsAny(err.Error(), "\x1b\a") {
			t.Errorf("%s: the error has escapes: %q", name, err)
		}
	}
}

func merges(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("x-a%d: &a%d {<<: [*a%d, *a%d]}\n", i+1, i+1, i, i)
	}
	return text
}

// Variables are named once each, in order, so that a command line can have them.
func TestProposedVariables(t *testing.T) {
	p, err := Propose(t.Context(), "compose.yaml", []byte("name: shop\nservices:\n  a: {image: 'x:$B', "+
		"hostname: '${A}$B', user: '${C:-5}', environment: [B]}\n"), nil)
	if err != nil || !slices.Equal(p.Variables, []string{"A", "B"}) {
		t.Errorf("%v, %v", p, err)
	}
}
