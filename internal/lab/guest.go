package lab

import (
	"debug/elf"
	_ "embed" // the guest's programs
	"errors"
	"fmt"
	"slices"
)

// What a guest starts with; it is packed anew for each machine, so that a
// change of it needs no new image.
var (
	//go:embed guest/init.sh
	initProgram string
	//go:embed guest/lab-init.sh
	labInitProgram string
)

// checkBinary returns an error if a binary cannot run in a guest.
func checkBinary(binary string) error {
	f, err := elf.Open(binary)
	if err != nil {
		return fmt.Errorf("read plimsoll itself: %w", err)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return fmt.Errorf("the machines of a lab are x86-64, and this plimsoll is for %s: run the lab on an x86-64 "+
			"host", f.Machine)
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return errors.New("this plimsoll needs the libraries of the host that it was built on, which guests do not " +
			"have: build it with CGO_ENABLED=0, as make build does")
	}
	return nil
}
