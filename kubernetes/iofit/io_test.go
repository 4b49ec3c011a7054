package iofit

import "testing"

// What a pod takes of drives is its share of them: half as much with half of the load, and of both where it is split.
func TestIOOfPods(t *testing.T) {
	k := withDrivesFile(t, someDrives)
	if k.IO() != 2000 {
		t.Errorf("a node with two drives has %d", k.IO())
	}
	of := func(d *Demand) int64 {
		t.Helper()
		n, err := k.IOOf(d)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	nvme := aDemand(t, "class", "writes", "drive", "nvme")
	full := of(nvme)
	if full < 1 || full > 1000 {
		t.Fatalf("one takes %d of a drive of 1,000", full)
	}
	rate := k.Judge(Standing{}, nvme).Rate
	for _, part := range []float64{0.5, 0.25} {
		d := aDemand(t, "class", "writes", "drive", "nvme", "load", two(part*rate)+"/s")
		if n := of(d); float64(n) < 0.9*part*float64(full)-1 || float64(n) > 1.1*part*float64(full)+1 {
			t.Errorf("with %g of its load it takes %d, and %d with all", part, n, full)
		}
	}
	if sata := of(aDemand(t, "class", "writes", "drive", "sata")); sata <= full {
		t.Errorf("it takes %d of the slow drive, and %d of the fast one", sata, full)
	}
	split := nvme.split([]Part{{Name: "nvme", Reads: 0.5, Writes: 0.5}, {Name: "sata", Reads: 0.5, Writes: 0.5}})
	if n := of(split); n < full/2 || n > 2000 {
		t.Errorf("split it takes %d, and %d of the fast drive alone", n, full)
	}
	if _, err := k.IOOf(aDemand(t, "class", "nothing")); err == nil {
		t.Error("a class that no model has takes something")
	}
}
