package placement

import (
	"cmp"
	"slices"
)

// top keeps the values with the greatest scores. Of equal ones the first are kept.
type top[T any] struct {
	limit   int
	entries []scored[T] // at most twice as many, of which the last were not looked at
	bar     float64     // below which none is kept
}

type scored[T any] struct {
	score float64
	value T
}

func newTop[T any](most int) *top[T] { return &top[T]{limit: most} }

func (t *top[T]) add(score float64, value T) {
	full := len(t.entries) >= t.limit
	if full && score <= t.bar {
		return
	}
	t.entries = append(t.entries, scored[T]{score, value})
	if len(t.entries) == 2*t.limit {
		t.cut()
	}
}

func (t *top[T]) cut() {
	slices.SortStableFunc(t.entries, func(a, b scored[T]) int { return cmp.Compare(b.score, a.score) })
	t.entries = t.entries[:min(len(t.entries), t.limit)]
	if len(t.entries) == t.limit {
		t.bar = t.entries[t.limit-1].score
	}
}

// sorted returns the kept values, the greatest score first.
func (t *top[T]) sorted() (values []T) {
	t.cut()
	for _, s := range t.entries {
		values = append(values, s.value)
	}
	return values
}
