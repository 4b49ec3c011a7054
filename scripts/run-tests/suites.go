package main

import "strings"

// stage is a set of lanes that run beside each other. A stage begins when the one before
// it has ended.
type stage []lane

// lane is suites that run one after the other.
type lane []suite

// Packages of the module kubernetes. Those that are light compile nothing of k8s.io/kubernetes, which takes eight
// minutes of processor time: make test has them alone. make kube-test has those that need it, and ./nodetest.
var (
	kubeLight = []string{"./command", "./evict", "./fleet", "./iofit", "./limits", "./node", "./replan"}
	kubeHeavy = []string{"./cmd/plimsoll-kubernetes", "./scheduler"}
)

// suites returns all suites in the order in which they run. Those that measure have the
// machine to themselves; what waits for the disk or for emulated machines runs beside what
// keeps processors busy.
func suites() []stage {
	mk := func(args ...string) []string { return append([]string{"make", "--no-print-directory"}, args...) }
	goTests := func(share string) []string { return []string{"scripts/go-test.sh", share} }
	kubeTests := func(packages []string) []string { return append(goTests("kubernetes"), packages...) }
	return []stage{
		{{{name: "setup", what: "install what is missing", argv: []string{"scripts/setup.sh", "test"}}}},
		{{{name: "build", what: "build ./plimsoll", argv: mk("build")}}},
		{
			// It waits for the network more than it works.
			{{name: "image", what: "make the lab's image, where it is not kept",
				argv: []string{"scripts/lab-test.sh", "--image"}}},
			{
				{name: "format", what: "every Go file is formatted", argv: mk("format")},
				{name: "lint", what: "golangci-lint, go vet included", argv: mk("lint")},
				{name: "layers", what: "the linter's layering rules bite", argv: mk("layers")},
			},
		},
		{{{name: "measures", what: "Go tests that measure, with nothing beside them",
			argv: goTests("measures"), goTests: true}}},
		{
			{{name: "lab", what: "tests in virtual machines", argv: []string{"scripts/lab-test.sh", "-json"}, goTests: true,
				verbose: true}},
			{{name: "host", what: "all other Go tests of packages that touch the host, one package at a time",
				argv: goTests("host"), goTests: true}},
			{
				{name: "pure", what: "Go tests of packages that leave the host alone", argv: goTests("pure"), goTests: true},
				{name: "toys", what: "a workload, a database, a layer, a sampler, a finding are one file and one line of a table",
					argv: mk("toys")},
				{name: "static", what: "the binary is static", argv: mk("static")},
				{name: "kube", what: "Go tests of the module kubernetes that compile nothing of k8s.io/kubernetes",
					argv: kubeTests(kubeLight), goTests: true},
				{name: "chart", what: "the Helm chart, by Helm's own engine",
					argv: goTests("chart"), goTests: true},
				{name: "kubelint", what: "golangci-lint on the same packages",
					argv: mk("KUBE_PACKAGES="+strings.Join(kubeLight, " "), "kube-lint")},
			},
		},
		{{{name: "quick", what: "Go tests, without those that touch the host or take long", argv: goTests("quick"),
			goTests: true, byName: true}}},
		{{{name: "attack", what: "of all Go tests, those that do what an adversary would", argv: goTests("attack"),
			goTests: true, verbose: true, byName: true}}},
		{{
			{name: "arm64", what: "the binary for arm64 is static", argv: mk("static-arm64"), byName: true},
			{name: "fuzz", what: "each fuzz target for two minutes",
				argv: mk("FUZZTIME=2m", "fuzz"), byName: true},
		}},
		{{
			{name: "control", what: "the other Go tests of the module kubernetes, with a control plane in their process",
				argv: kubeTests(kubeHeavy), goTests: true, byName: true},
			{name: "nodes", what: "tests with kubelets and container runtimes of this machine",
				argv: mk("KUBE_TEST=-json", "kube-nodes"), goTests: true, verbose: true, byName: true},
			{name: "alllint", what: "golangci-lint on all of the module kubernetes", argv: mk("kube-lint"), byName: true},
		}},
		{{{name: "release", what: "two clones make the same release", argv: mk("release-check"), byName: true}}},
		{{{name: "loaded", what: "make test beside programs that keep processors and disk busy", argv: mk("test-under-load"),
			byName: true}}},
	}
}
