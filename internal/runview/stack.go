package runview

import (
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
)

// Find returns the first stack with such a line, or nil.
func (v *View) Find(l line.Line) *Stack {
	text := Canonical(l)
	i := slices.IndexFunc(v.Stacks, func(s *Stack) bool { return len(s.Parsed.Nodes) > 0 && Canonical(s.Parsed) == text })
	if i < 0 {
		return nil
	}
	return v.Stacks[i]
}

// InContainer reports whether the workload ran in a container on the stack.
func (s *Stack) InContainer() bool {
	_, _, view := Split(s.Parsed)
	return view != nil
}

// DiesWithContainer reports whether data is in a container's writable layer,
// which is removed with the container.
func (s *Stack) DiesWithContainer() bool {
	_, _, view := Split(s.Parsed)
	return view != nil && view.Name != NodeVolume
}

// LosesOnCrash returns the option, of a layer or of its mount, by which fsync returns before data is safe, so that a
// crash of the host loses what was written last; "" for none. Of several options of one kind the last counts, as mount
// has it.
func (s *Stack) LosesOnCrash() string {
	for _, n := range s.Parsed.Nodes {
		barrier := ""
		for _, o := range slices.Concat(n.Options, n.MountOptions()) {
			switch {
			case o.Key == "volatile":
				return o.String()
			case o.Key == "nobarrier", o.Key == "barrier" && o.Value == "0":
				barrier = o.String()
			case o.Key == "barrier":
				barrier = ""
			}
		}
		if barrier != "" {
			return barrier
		}
	}
	return ""
}

// Names is the stack's name, alone; nothing for one of mixes that name their own.
func (s *Stack) Names() []string {
	if s.Name == "" {
		return nil
	}
	return []string{s.Name}
}

// Stack is a stack with its parsed line, which is empty when it does not parse.
type Stack struct {
	result.Stack
	Parsed line.Line
}
