package placement

import (
	"cmp"
	"slices"
)

// top keeps those of many that score most. Of equal ones the first are kept.
type top[T any] struct {
	most int
	all  []scored[T] // at most twice as many, of which the last were not looked at
	bar  float64     // below which none is kept
}

type scored[T any] struct {
	score float64
	is    T
}

func newTop[T any](most int) *top[T] { return &top[T]{most: most} }

func (t *top[T]) add(score float64, is T) {
	full := len(t.all) >= t.most
	if full && score <= t.bar {
		return
	}
	t.all = append(t.all, scored[T]{score, is})
	if len(t.all) == 2*t.most {
		t.cut()
	}
}

func (t *top[T]) cut() {
	slices.SortStableFunc(t.all, func(a, b scored[T]) int { return cmp.Compare(b.score, a.score) })
	t.all = t.all[:min(len(t.all), t.most)]
	if len(t.all) == t.most {
		t.bar = t.all[t.most-1].score
	}
}

// sorted returns them, the greatest score first.
func (t *top[T]) sorted() (all []T) {
	t.cut()
	for _, s := range t.all {
		all = append(all, s.is)
	}
	return all
}
