package fio

import "testing"

func TestLoadOf(t *testing.T) {
	for _, c := range []struct {
		declared string
		want     Load
		ok       bool
	}{
		{"{rw: randread, bs: 4KiB, jobs: 2, iodepth: 16, size: 256MiB, engine: libaio, direct: true}\n",
			Load{"randread", 4096, 2, 16, true}, true},
		{"{rw: read, size: 1GiB, runtime: 5s, ramp: 1s}", Load{"read", 4096, 1, 1, true}, true},
		{"{rw: read, size: 1GiB, thinktime: 1s}", Load{}, false},
		{"rw: write\nbs: 131072\n", Load{"write", 131072, 1, 1, true}, true},
		{"{rw: randread, jobs: 8, iodepth: 4, engine: psync, direct: false}", Load{"randread", 4096, 8, 1, false}, true},
		{"[global]\nrw=randwrite\nsize=1g\nioengine=libaio\ndirect=1\n[a]\nbs=4k\niodepth=32\nnumjobs=16\n",
			Load{"randwrite", 4096, 16, 32, true}, true},
		{"[a]\nrw=randread\nsize=1g\niodepth=32\n", Load{"randread", 4096, 1, 1, false}, true}, // psync does one at a time
		{"[a]\nrw=read\nsize=1g\n[b]\nrw=write\nsize=1g\n", Load{}, false},
		{"[a]\nrw=read\nbs=4k-64k\nsize=1g\n", Load{}, false},
		{"{rw: randread, bs: huge}", Load{}, false},
		{"{bs: 4KiB}", Load{}, false},
		{"", Load{}, false},
		{"- a\n- b\n", Load{}, false},
		{"\x00\xff", Load{}, false},
	} {
		if got, ok := LoadOf(c.declared); got != c.want || ok != c.ok {
			t.Errorf("%q is %+v, %t; want %+v, %t", c.declared, got, ok, c.want, c.ok)
		}
	}
}
