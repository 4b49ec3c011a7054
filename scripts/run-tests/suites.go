package main

// suites returns all suites in the order in which they run: what is over soon
// comes first, and what measures runs when nothing else does.
func suites() []suite {
	mk := func(target string) []string { return []string{"make", "--no-print-directory", target} }
	return []suite{
		{name: "setup", what: "install what is missing", argv: []string{"scripts/setup.sh", "test"}},
		{name: "build", what: "build ./plimsoll", argv: mk("build")},
		// It waits for the network more than it works.
		{name: "image", what: "make the lab's image", argv: []string{"scripts/lab-test.sh", "--image"}, until: "lab"},
		{name: "format", what: "every Go file is formatted", argv: mk("format")},
		{name: "vet", what: "go vet", argv: mk("vet")},
		{name: "static", what: "the binaries are static", argv: mk("static")},
		{name: "lint", what: "golangci-lint", argv: mk("lint")},
		{name: "layers", what: "the linter's layering rules bite", argv: mk("layers")},
		{name: "toys", what: "a workload, a layer, a sampler, a finding are one file and one line", argv: mk("toys")},
		{name: "quick", what: "Go tests, without those that touch the host or take long",
			argv: []string{"scripts/go-test.sh", "quick"}, goTests: true, daily: true},
		{name: "pure", what: "Go tests of packages that leave the host alone",
			argv: []string{"scripts/go-test.sh", "pure"}, goTests: true},
		{name: "host", what: "Go tests that touch the host, one package at a time",
			argv: []string{"scripts/go-test.sh", "host"}, goTests: true},
		{name: "lab", what: "tests in virtual machines", argv: []string{"scripts/lab-test.sh", "-json"}, goTests: true,
			verbose: true},
	}
}
