package site

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
	complete := make(chan struct{})
	go func() { begun.Wait(); close(complete) }()
	return func() error {
		begun.Done()
		select {
		case <-complete:
			return nil
		case <-time.After(deadlockLimit):
			return errors.New("the others have not begun")
		}
	}
}

func manyInstances(n int) (all Together) {
	for i := range n {
		all = append(all, &Instance{Instance: experiment.Instance{Index: i}})
	}
	return all
}

// Places of all instances are made at the same time, and so are their servers started and ended.
func TestInstancesAreSetUpTogether(t *testing.T) {
	instances := manyInstances(8)
	meet := rendezvous(len(instances))
	err := instances.placed(func(in *Instance) (*upPlace, error) { return &upPlace{number: in.Index}, meet() })
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range instances {
		if in.Placed == nil || in.Placed.number != i {
			t.Errorf("instance %d has place %+v", i, in.Placed)
		}
	}
	meet = rendezvous(len(instances))
	err = instances.Each(func(*Instance) error { return meet() })
	if err != nil {
		t.Fatal(err)
	}
}

// The reasons of all instances without a place are in the error.
func TestPlacesThatFailAreAllSaid(t *testing.T) {
	errs := []error{errors.New("no device"), nil, errors.New("no memory")}
	err := manyInstances(3).placed(func(in *Instance) (*upPlace, error) { return nil, errs[in.Index] })
	if !errors.Is(err, errs[0]) || !errors.Is(err, errs[2]) {
		t.Errorf("it says %v", err)
	}
}
