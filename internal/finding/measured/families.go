package measured

import "slices"

// families are things that have something in common each, in the order in which they came up.
type families[T any] struct {
	keys []string
	all  []T
}

// of returns the family of a key; first is what a new one begins with.
func (f *families[T]) of(key string, first T) *T {
	at := slices.Index(f.keys, key)
	if at < 0 {
		at = len(f.keys)
		f.keys, f.all = append(f.keys, key), append(f.all, first)
	}
	return &f.all[at]
}
