package store

import (
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/result"
)

// BenchmarkList lists a run of 3,000 trials with full histograms: in a time that
// does not depend on how much was measured.
func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	run := plannedRun(3000)
	run.ID, run.Started = "long", time.Now()
	for i, t := range run.Trials {
		run.Trials[i] = done(t, 1000)
	}
	run.Status = result.RunComplete
	s, err := Create(filepath.Join(root, "long"), run) // trials that ended are stored with the plan
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if all, err := List(root); err != nil || len(all) != 1 || all[0].Done != 3000 {
				b.Fatal(all, err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := Read(filepath.Join(root, "long")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ids", func(b *testing.B) {
		for b.Loop() {
			if ids, err := IDs(root); err != nil || len(ids) != 1 {
				b.Fatal(ids, err)
			}
		}
	})
}
