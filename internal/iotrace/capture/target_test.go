package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"pgregory.net/rapid"

	"plimsoll/internal/problem"
	"plimsoll/internal/testkit/hosttest"
)

// Whether the kernel takes the programs for the target can be told without a
// target: its types are then the programs' own.
func TestKernelTakesTheProgramsForTheTarget(t *testing.T) {
	hosttest.Exclusive(t)
	types, err := btf.LoadSpecFromReader(bytes.NewReader(programsTarget))
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []bool{false, true} {
		r := &TargetRecorder{}
		if err := r.load(old, []*btf.Spec{types}); err != nil {
			t.Fatalf("%+v", err)
		}
		if all, err := r.Requests(); err != nil || len(all) > 0 {
			t.Errorf("%d, %v before anything happened", len(all), err)
		}
		if n, err := r.Lost(); n > 0 || err != nil {
			t.Errorf("%d lost, %v before anything happened", n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLayoutOfTheTargetIsThatOfThePrograms(t *testing.T) {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(programsTarget))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]any{
		"cells": {targetKey{}, targetSums{}}, "names": {targetSubsystem{}, targetName{}}, "empty": {uint32(0), targetSums{}},
	} {
		m := spec.Maps[name]
		if int(m.KeySize) != binary.Size(want[0]) || int(m.ValueSize) != binary.Size(want[1]) {
			t.Errorf("%s: the programs have %d and %d bytes, and we %d and %d", name, m.KeySize, m.ValueSize,
				binary.Size(want[0]), binary.Size(want[1]))
		}
	}
}

// A host that is no target says so, and what would change it.
func TestAHostWithoutATargetSaysWhy(t *testing.T) {
	if exists("/sys/module", nvmetModule) {
		t.Skip("this host is a target")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root may use BPF: another reason comes first")
	}
	_, err := StartTarget()
	var cannot *problem.Problem
	if !errors.As(err, &cannot) {
		t.Fatalf("the error is %v", err)
	}
	for _, want := range []string{"NVMe-oF target", "nvmet is not loaded", "plimsoll target export"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
}

// What histogram.h does to sum up squares in 128 bits.
func TestSquaresAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var low, high uint64
		want := new(big.Int)
		for _, ns := range rapid.SliceOf(rapid.Uint64()).Draw(t, "times") {
			l, h := ns&0xffffffff, ns>>32
			cross := l * h
			square := l*l + cross<<33
			carry := func(sum, part uint64) uint64 {
				if sum < part {
					return 1
				}
				return 0
			}
			high += h*h + cross>>31 + carry(square, l*l)
			low += square
			high += carry(low, square)
			n := new(big.Int).SetUint64(ns)
			want.Add(want, n.Mul(n, n))
		}
		want.And(want, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
		got := new(big.Int).SetUint64(high)
		if got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(low)); got.Cmp(want) != 0 {
			t.Fatalf("%s, and not %s", got, want)
		}
	})
}
