package trial

import (
	"errors"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/experiment"
)

// deadlockLimit ends a test whose parts wait for each other in vain.
const deadlockLimit = 2 * time.Minute

// rendezvous returns a function that returns once n calls of it have begun.
func rendezvous(n int) func() error {
	var begun sync.WaitGroup
	begun.Add(n)
	all := make(chan struct{})
	go func() { begun.Wait(); close(all) }()
	return func() error {
		begun.Done()
		select {
		case <-all:
			return nil
		case <-time.After(deadlockLimit):
			return errors.New("the others have not begun")
		}
	}
}

func manyInstances(n int) (all together) {
	for i := range n {
		all = append(all, &instance{Instance: experiment.Instance{Index: i}})
	}
	return all
}

// Places of all instances are made at the same time, and so are their servers started and ended.
func TestInstancesAreSetUpTogether(t *testing.T) {
	all := manyInstances(8)
	meet := rendezvous(len(all))
	err := all.placed(func(in *instance) (*upPlace, error) { return &upPlace{number: in.Index}, meet() })
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range all {
		if in.place == nil || in.place.number != i {
			t.Errorf("instance %d has place %+v", i, in.place)
		}
	}
	meet = rendezvous(len(all))
	err = all.each(func(*instance) error { return meet() })
	if err != nil {
		t.Fatal(err)
	}
}

// The reasons of all instances without a place are in the error.
func TestPlacesThatFailAreAllSaid(t *testing.T) {
	errs := []error{errors.New("no device"), nil, errors.New("no memory")}
	err := manyInstances(3).placed(func(in *instance) (*upPlace, error) { return nil, errs[in.Index] })
	if !errors.Is(err, errs[0]) || !errors.Is(err, errs[2]) {
		t.Errorf("it says %v", err)
	}
}
