package main

// stage is a set of lanes that run beside each other. A stage begins when the one before
// it has ended.
type stage []lane

// lane is suites that run one after the other.
type lane []suite

// Packages of the module kubernetes. Those that are light compile nothing of k8s.io/kubernetes, which takes eight
// minutes of processor time: make test has them alone. make kube-test has those that need it, and ./nodetest.
var (
	kubeLight = []string{"./command", "./evict", "./fleet", "./iofit", "./limits", "./node", "./replan", "./usage"}
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
		{{{name: "setup", purpose: "install what is missing", argv: []string{"scripts/setup.sh", "test"}}}},
		{{{name: "build", purpose: "build ./plimsoll", argv: mk("build")}}},
		{
			// It waits for the network more than it works.
			{{name: "image", purpose: "make the lab's image, where it is not kept",
				argv: []string{"scripts/lab-test.sh", "--image"}}},
			{
				{name: "format", purpose: "every Go file is formatted", argv: mk("format")},
				{name: "lint", purpose: "golangci-lint, go vet included", argv: mk("lint")},
				{name: "layers", purpose: "the linter's layering rules bite", argv: mk("layers")},
			},
		},
		{{{name: "measures", purpose: "Go tests that measure, with nothing beside them",
			argv: goTests("measures"), goTests: true, alone: true}}},
		{
			{{name: "lab", purpose: "tests in virtual machines", argv: []string{"scripts/lab-test.sh", "-json"}, goTests: true,
				verbose: true}},
			{{name: "host", purpose: "all other Go tests of packages that touch the host, one package at a time",
				argv: goTests("host"), goTests: true}},
			{
				{name: "pure", purpose: "Go tests of packages that leave the host alone", argv: goTests("pure"), goTests: true},
				{name: "race", purpose: "of these, and of what has goroutines, the short Go tests under the race detector",
					argv: goTests("race"), goTests: true},
				{name: "toys", purpose: "a workload, a database, a layer, a sampler, a finding are one file and one line of a " +
					"table",
					argv: mk("toys")},
				{name: "static", purpose: "the binary is static", argv: mk("static")},
				{name: "kube", purpose: "Go tests of the module kubernetes that compile nothing of k8s.io/kubernetes",
					argv: kubeTests(kubeLight), goTests: true},
				{name: "chart", purpose: "the Helm chart, by Helm's own engine",
					argv: goTests("chart"), goTests: true},
				{name: "evidence", purpose: "Go tests of the module evidence, which measures plimsoll itself",
					argv: goTests("evidence"), goTests: true},
				{name: "evlint", purpose: "golangci-lint on the module evidence", argv: mk("evidence-lint")},
			},
		},
		{{{name: "quick", purpose: "Go tests, without those that touch the host or take long", argv: goTests("quick"),
			goTests: true, byName: true}}},
		{{{name: "evvet", purpose: "the module evidence compiles, go vet included", argv: mk("evidence-vet"), byName: true}}},
		{{{name: "attack", purpose: "of all Go tests, those that do what an adversary would", argv: goTests("attack"),
			goTests: true, verbose: true, byName: true}}},
		{{
			{name: "arm64", purpose: "the binary for arm64 is static", argv: mk("static-arm64"), byName: true},
			{name: "fuzz", purpose: "each fuzz target for two minutes",
				argv: mk("FUZZTIME=2m", "fuzz"), byName: true},
		}},
		{{
			{name: "control", purpose: "the other Go tests of the module kubernetes, with a control plane in their process",
				argv: kubeTests(kubeHeavy), goTests: true, byName: true},
			{name: "nodes", purpose: "tests with kubelets and container runtimes of this machine",
				argv: mk("KUBE_TEST=-json", "kube-nodes"), goTests: true, verbose: true, byName: true},
			{name: "kuberace", purpose: "evictions and limits under the race detector", argv: goTests("kuberace"),
				goTests: true, byName: true},
			{name: "alllint", purpose: "golangci-lint on all of the module kubernetes", argv: mk("kube-lint"), byName: true},
			{name: "skew", purpose: "schedulers of each minor version of Kubernetes, with API servers that they may meet",
				argv: mk("kube-skew"), byName: true},
		}},
		{{{name: "release", purpose: "two clones make the same release", argv: mk("release-check"), byName: true}}},
		{{{name: "loaded", purpose: "make test beside programs that keep processors and disk busy",
			argv:   mk("test-under-load"),
			byName: true}}},
	}
}
