package published

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/stack/line"
)

// declared is the flag that a stack is mounted with on demand; "" for neither.
func declared(f claims.Flag, s subject) string {
	mount, _ := s.parts.fs[0].Option("mount")
	for _, flag := range []string{f.Off, f.On} {
		if slices.Contains(strings.Split(mount, ","), flag) {
			return flag
		}
	}
	return ""
}

// withFlag leaves the stacks that are mounted as a claim wants it. One that says
// nothing is mounted with the flag where that is the default, and is taken for it
// when none says so itself, and another says the opposite.
func withFlag(v *measured.View, f claims.Flag, all []subject) []subject {
	is := func(flags ...string) func(subject) bool {
		return func(s subject) bool { return slices.Contains(flags, declared(f, s)) }
	}
	only := func(so func(subject) bool) []subject {
		return slices.DeleteFunc(slices.Clone(all), func(s subject) bool { return !so(s) })
	}
	if f.Wanted == "off" {
		return only(is(f.Off, ""))
	}
	if !slices.ContainsFunc(all, is(f.On)) && slices.ContainsFunc(all, is(f.Off)) && onByDefault(v, f) {
		return only(is(""))
	}
	return only(is(f.On))
}

// withoutFlag are the lines of a stack with the opposite of the flag, and without
// either where the opposite is the default.
func withoutFlag(v *measured.View, f claims.Flag, s subject) []line.Line {
	at := len(s.parts.device) // of the file system
	mounted := func(flag string) line.Line {
		return measured.With(s.parts.stack, at, func(n line.Node) line.Node {
			mount, _ := n.Option("mount")
			flags := slices.DeleteFunc(strings.Split(mount, ","), func(m string) bool {
				return m == "" || m == f.On || m == f.Off
			})
			if flag != "" {
				flags = append(flags, flag)
			}
			n = measured.WithoutOption(n, "mount")
			if len(flags) > 0 {
				n.Options = append(n.Options, line.Option{Key: "mount", Value: strings.Join(flags, ",")})
			}
			return n
		})
	}
	lines := []line.Line{mounted(f.Off)}
	if !onByDefault(v, f) {
		lines = append(lines, mounted(""))
	}
	return lines
}

// flagCaveats says that a stack which says nothing is mounted with the flag.
func flagCaveats(v *measured.View, f claims.Flag, s subject) []fact.Remark {
	if f.Wanted != "off" || declared(f, s) != "" || !onByDefault(v, f) {
		return nil
	}
	facts := NoLock{s.parts.fs[0].Name, v.Run.Environment.Kernel, f.Off}
	return []fact.Remark{{Case: "caveat: no lock", Facts: facts}}
}

// NoLock is a file system that reads without a lock by default, as the paper's did not.
type NoLock struct {
	FS     string `json:"fs"`
	Kernel string `json:"kernel"`
	Flag   string `json:"flag"` // of mount, that takes the lock again
}

// onByDefault reports whether the flag is the default of the run's kernel. An
// unknown kernel is taken for one of today.
func onByDefault(v *measured.View, f claims.Flag) bool {
	kernel, known := release(v.Run.Environment.Kernel)
	since, _ := release(f.DefaultSince)
	return !known || slices.Compare(kernel[:], since[:]) >= 0
}

// release reads the first two numbers of a kernel's release.
func release(text string) (numbers [2]int, ok bool) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if len(fields) < 2 {
		return numbers, false
	}
	for i := range numbers {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return numbers, false
		}
		numbers[i] = n
	}
	return numbers, true
}
