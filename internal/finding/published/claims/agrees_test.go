package claims

import "testing"

func TestAgrees(t *testing.T) {
	for _, c := range []struct {
		name, paper string
		values      []string
		agrees      bool
	}{
		{"records", "100 million", []string{"100000000"}, true},
		{"records", "100 million", []string{"10000000"}, false},
		{"records", "100 million", []string{"100000000", "200000"}, false},
		{"records", "100 million", nil, false},
		{"max_connections", "32K", []string{"32000"}, true},
		{"size", "5 GB", []string{"5GiB"}, true},
		{"size", "5 GB", []string{"6GiB"}, false},
		{"size", "5 GB", []string{"5"}, false},
		{"bs", "4 KB to 128 KB", []string{"4KiB", "32KiB", "128KiB"}, true},
		{"bs", "4 KB to 128 KB", []string{"4KiB", "64KiB"}, false},
		{"bs", "4 KB or 128 KB", []string{"128KiB", "4KiB"}, true},
		{"jobs", "1 or 32", []string{"1", "16", "32"}, false},
		{"runtime", "10 min", []string{"10m0s"}, true},
		{"runtime", "6 hours", []string{"30m0s"}, false},
		{"containers", "1 to 8", []string{"8", "1", "2"}, true},
		{"containers", "1 to 8 of each", []string{"1", "8"}, true},
		{"containers", "1 to 8", []string{"1", "8", "many"}, false},
		{"concurrent_reads", "4 and more", []string{"4", "64"}, true},
		{"concurrent_reads", "4 and more", []string{"4"}, false},
		{"scheduler", "noop", []string{"none"}, true},
		{"scheduler", "noop", []string{"mq-deadline"}, false},
		{"precondition", "steady state, after 2 to 4 hours", []string{"device,passes=2,rounds=25,round=1m0s"}, true},
		{"precondition", "steady state, after 2 to 4 hours", []string{"files once"}, false},
		{"memory", "64 GB", []string{WholeHost}, true},
		{"memory", "64 GB", []string{"2.0 GiB"}, false},
		{"memory", "64 GB or 32 GB", []string{"59.6 GiB", "29.8 GiB"}, true},
		{"memory", "64 GB or 32 GB", []string{"59.6 GiB"}, false},
		{"data", "50 GB for each server", []string{"46.7 GiB"}, true},
		{"iodepth", "32, without effect", nil, true},
		{"iodepth", "32, without effect", []string{"32"}, false},
		{"distribution", "zipfian", []string{"zipfian"}, true},
		{"distribution", "A zipfian, D uniform (text) or normal (slides)", []string{"A zipfian", "D latest"}, false},
		{"drives", "one XS1715 of 1.6 TB", []string{"loop(size=8GiB)"}, true},
		{"limits", "6 CPUs, 6 GB, 400 MB/s, or some of them",
			[]string{"none", "6 CPUs of its own", "5.6 GiB of memory", "6 CPUs of its own, reads of 381.5 MiB/s"}, true},
		{"limits", "6 CPUs, 6 GB, 400 MB/s, or some of them", []string{"6 CPUs of its own", "5.6 GiB of memory"}, false},
		{"limits", "6 CPUs, 6 GB, 400 MB/s, or some of them", nil, false},
		{"version", "2.1", []string{"2.1.22"}, true},
		{"version", "2.1", []string{"2.1"}, true},
		{"version", "2.1", []string{"2.10"}, false},
		{"version", "2.1", []string{"5.0.9"}, false},
		{"version", "2.1", nil, false},
		{"share", "1/8", []string{"1/2"}, false},
		{"share", "1/8", []string{"1/8"}, true},
		{"jobs", "", []string{"1"}, false},
		{"jobs", "1 to ", []string{"1"}, false},
		{"jobs", "99999999999999999999999999 million", []string{"1"}, false},
	} {
		if got := (Parameter{c.name, c.paper}).Agrees(c.values); got != c.agrees {
			t.Errorf("%s %q and %q agree: %v", c.name, c.paper, c.values, got)
		}
	}
}

func FuzzAgrees(f *testing.F) {
	f.Add("size", "5 GB", "5GiB")
	f.Add("jobs", "1 to 64", "1")
	f.Fuzz(func(t *testing.T, name, paper, here string) {
		p := Parameter{name, paper}
		if p.Agrees([]string{here}) != p.Agrees([]string{here, here}) {
			t.Errorf("%v agrees with %q once, or twice", p, here)
		}
	})
}
