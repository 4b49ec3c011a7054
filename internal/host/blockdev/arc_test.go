package blockdev

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
)

const arcstats = `9 1 0x01 147 39984 4181529 3911826553915
name                            type data
hits                            4    900
demand_data_hits                4    %HITS
demand_data_iohits              4    3
demand_data_misses              4    40
memory_direct_count             4    18446744073709551616
`

func TestCountersOfTheARC(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := hostfs.Roots{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	write("sys/dev/block/8:0/stat", "1 0 8 0 1 0 8 0 0 0 0")
	device := result.Device{Name: "sda", MajMin: "8:0", Pool: "tank"}
	read := func() (Counters, error) { return ReadCounters(roots, []result.Device{device}) }
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "arcstats") {
		t.Errorf("without the counters: %v", err)
	}
	write("proc/spl/kstat/zfs/arcstats", strings.Replace(arcstats, "%HITS", "100", 1))
	before, err := read() // before OpenZFS 2.3, no pool has iostats
	if err != nil || *before[0].ARC != (result.ARC{Hits: 100, Misses: 43}) {
		t.Fatalf("got %+v, %v", before, err)
	}
	write("proc/spl/kstat/zfs/arcstats", strings.Replace(arcstats, "%HITS", "150", 1))
	write("proc/spl/kstat/zfs/tank/iostats", "name type data\ndirect_read_count 4 7\ndirect_write_count 4 9\n")
	after, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if got := *after.Since(before)[0].ARC; got != (result.ARC{Hits: 50, DirectReads: 7, DirectWrites: 9}) {
		t.Errorf("got %+v", got)
	}
	write("proc/spl/kstat/zfs/arcstats", "name type data\nhits 4 1\n")
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "demand_data_hits") {
		t.Errorf("other counters: %v", err)
	}
}
