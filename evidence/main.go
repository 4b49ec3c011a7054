// Command evidence measures plimsoll itself: make bench builds and runs it. docs/evidence has the results.
//
//	make bench                                 lists what it measures
//	make bench NAME=record ARGS="-rounds 9"    measures that, with flags of its own
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "evidence:", err)
		os.Exit(1)
	}
}

// prepared is the first argument of the process that a bench has as root, when the caller has installed and built what
// it needs.
const prepared = "-prepared"

// run lists the benches, or runs the one that args name. It works at the top of the clone.
func run(args []string) error {
	if _, err := os.Stat("evidence/go.mod"); err != nil {
		return fmt.Errorf("run this at the top of the clone, by make bench: %w", err)
	}
	if len(args) == 0 {
		for _, b := range benches {
			fmt.Printf("%-13s %s\n", b.name, b.purpose)
		}
		return nil
	}
	ready := args[0] == prepared && len(args) > 1
	if ready {
		args = args[1:]
	}
	b, err := find(args[0])
	if err != nil {
		return err
	}
	if !ready {
		err := b.prepare()
		if err != nil {
			return err
		}
	}
	if b.root && b.run != nil && os.Geteuid() != 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return execute("scripts/as-root", append([]string{self, prepared}, args...)...)
	}
	if b.before != nil {
		err := b.before()
		if err != nil {
			return err
		}
	}
	if b.run != nil {
		return b.run(args[1:])
	}
	return b.goTest(args[1:])
}

// find returns the bench of a name.
func find(name string) (bench, error) {
	i := slices.IndexFunc(benches, func(b bench) bool { return b.name == name })
	if i < 0 {
		return bench{}, fmt.Errorf("no bench is called %q: make bench lists them", name)
	}
	return benches[i], nil
}

// prepare installs and builds what a bench needs.
func (b bench) prepare() (err error) {
	if b.setup != "build" { // make bench did that
		err = execute("scripts/setup.sh", b.setup)
	}
	if b.built && err == nil {
		err = execute("make", "--no-print-directory", "build")
	}
	return err
}

// goTest runs benchmarks and tests of a package, with arguments for go test.
func (b bench) goTest(args []string) error {
	test := []string{"go", "test", "-count=1", "-timeout", "6h", "-run", b.tests, "-bench", b.benchmark}
	if b.module != "" {
		test = slices.Insert(test, 2, "-C", b.module)
	}
	if b.times != "" {
		test = append(test, "-benchtime", b.times)
	}
	if b.root {
		root, err := filepath.Abs("scripts/as-root")
		if err != nil {
			return err
		}
		test = append(test, "-exec", root)
	}
	if b.tests != matchesNone {
		test = append(test, "-v")
	}
	test = slices.Concat(test, args, []string{b.pkg})
	if b.lines == "" {
		return execute("scripts/with-go", test...)
	}
	cmd := exec.Command("scripts/with-go", test...)
	cmd.Stderr = os.Stderr
	printed, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		if strings.Contains(lines.Text(), b.lines) {
			fmt.Println(lines.Text())
		}
	}
	return cmd.Wait()
}

// execute runs a program, which prints where this one does.
func execute(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(append([]string{program}, args...), " "), err)
	}
	return nil
}
