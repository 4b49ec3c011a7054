package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestString(t *testing.T) {
	for want, p := range map[string]Problem{
		"what":                   {What: "what"},
		"what: why":              {What: "what", Why: "why"},
		"what (remedy)":          {What: "what", Remedy: "remedy"},
		"what: why (remedy)":     {What: "what", Why: "why", Remedy: "remedy"},
		"why (remedy)":           {Why: "why", Remedy: "remedy"},
		"my.yaml:7: what":        {At: Position{In: "my.yaml", Line: 7}, What: "what"},
		"my.yaml:7:3: what":      {At: Position{In: "my.yaml", Line: 7, Column: 3}, What: "what"},
		"my.yaml: what: why":     {At: Position{In: "my.yaml"}, What: "what", Why: "why"},
		"line 7: what":           {At: Position{Line: 7}, What: "what"},
		"column 3: what":         {At: Position{Column: 3}, What: "what"},
		"line 7, column 3: what": {At: Position{Line: 7, Column: 3}, What: "what"},
		`stack "a": column 3: what (remedy)`: {
			At: Position{In: `stack "a"`, Column: 3}, What: "what", Remedy: "remedy"},
	} {
		if p.String() != want || p.Error() != want || fmt.Sprint(p) != want || fmt.Sprint(&p) != want {
			t.Errorf("got %q, %q, %v and %v, want %q", p.String(), p.Error(), p, &p, want)
		}
	}
}

// Results store problems: what stands there must not change.
func TestJSON(t *testing.T) {
	for want, p := range map[string]Problem{
		`{"what":"fio","why":"killed","remedy":"more memory"}`: {
			At: Position{In: "f", Line: 1, Column: 1}, What: "fio", Why: "killed", Remedy: "more memory",
			Kind: Unsupported, Cause: fs.ErrNotExist,
		},
		`{"what":"fio","why":""}`: {What: "fio"},
	} {
		got, err := json.Marshal(p)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		var back Problem
		if err := json.Unmarshal(got, &back); err != nil || back != (Problem{What: p.What, Why: p.Why, Remedy: p.Remedy}) {
			t.Errorf("%s is read as %+v, %v", got, back, err)
		}
	}
}

func TestWithin(t *testing.T) {
	lacks := &Problem{Kind: Unsupported, What: "xfs", Why: "no mkfs.xfs", Cause: fs.ErrNotExist}
	taken := &Problem{Kind: Protected, What: "/dev/sda", Why: "it is mounted"}
	wrapped := fmt.Errorf("stack a: %w", lacks)
	both := errors.Join(errors.New("other"), wrapped, taken)
	list := List{{Kind: Invalid, What: "a"}, {Kind: Invalid, What: "b", Cause: fs.ErrPermission}}
	for name, c := range map[string]struct {
		err   error
		first *Problem
		is    []error
	}{
		"nothing":          {nil, nil, nil},
		"no problem":       {fs.ErrExist, nil, []error{fs.ErrExist}},
		"itself":           {lacks, lacks, []error{Unsupported, fs.ErrNotExist}},
		"without a kind":   {&Problem{What: "a"}, &Problem{What: "a"}, []error{Failed}},
		"wrapped":          {wrapped, lacks, []error{Unsupported, fs.ErrNotExist}},
		"several":          {both, lacks, []error{Unsupported, Protected, fs.ErrNotExist}},
		"a list":           {list, &list[0], []error{Invalid, fs.ErrPermission}},
		"a list, wrapped":  {fmt.Errorf("read: %w", list), &list[0], []error{Invalid, fs.ErrPermission}},
		"caused by others": {New(Invalid, "x", "", "").CausedBy(wrapped), nil, []error{Invalid, Unsupported, fs.ErrNotExist}},
	} {
		first := Of(c.err)
		if c.first != nil && (first == nil || *first != *c.first) || c.err == nil && first != nil {
			t.Errorf("%s: the first problem is %v, want %v", name, first, c.first)
		}
		for _, target := range []error{
			Failed, Invalid, Unsupported, Protected, fs.ErrNotExist, fs.ErrPermission, fs.ErrExist,
		} {
			if is := errors.Is(c.err, target); is != slices.Contains(c.is, target) {
				t.Errorf("%s: that it is %q is %t", name, target, is)
			}
		}
	}
	if p := Of(both, Protected); p != nil {
		t.Errorf("the first is of another kind, and got %v", p)
	}
	if p := Of(both, Protected, Unsupported); p != lacks {
		t.Errorf("got %v", p)
	}
	var all List
	if !errors.As(fmt.Errorf("read: %w", list), &all) || len(all) != 2 {
		t.Errorf("the list is not found: %v", all)
	}
}

func TestList(t *testing.T) {
	var l List
	if l.Err() != nil {
		t.Error("an empty list is an error")
	}
	l.InLine(9, "last", "")
	l.InColumn(4, "of no line", "")
	l.InLine(2, "first of two", "remedy")
	l.InLine(2, "second of two", "")
	named := l.Sorted().Within("my.yaml")
	want := "my.yaml: column 4: of no line\nmy.yaml:2: first of two (remedy)\nmy.yaml:2: second of two\nmy.yaml:9: last"
	if named.Err() == nil || named.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", named, want)
	}
	if got := l[:2].Join("; "); got != "column 4: of no line; line 2: first of two (remedy)" {
		t.Errorf("the list was renamed, or is joined otherwise: %s", got)
	}
	if !errors.Is(named, Invalid) {
		t.Error("what a user wrote is not invalid")
	}
}

// Sorting keeps every problem, and the order of those of one place.
func TestSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			at := Position{Line: rapid.IntRange(0, 4).Draw(t, "line"), Column: rapid.IntRange(0, 2).Draw(t, "column")}
			l = append(l, Problem{At: at, What: fmt.Sprint(i), Kind: Kind(fmt.Sprintf("%04d", i))})
		}
		sorted := slices.Clone(l).Sorted()
		for i := range sorted {
			if !slices.Contains(l, sorted[i]) {
				t.Fatalf("%v is new", sorted[i])
			}
			if i == 0 {
				continue
			}
			a, b := sorted[i-1], sorted[i]
			if a.At.Line > b.At.Line || a.At.Line == b.At.Line && a.At.Column > b.At.Column || a.At == b.At && a.Kind >= b.Kind {
				t.Fatalf("%v before %v", a, b)
			}
		}
	})
}
