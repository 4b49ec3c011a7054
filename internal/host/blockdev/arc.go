package blockdev

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
)

// readARC reads the counters of ZFS: those of its cache, and those of a pool's I/O past the cache (kstats arcstats and
// POOL/iostats of OpenZFS; the latter since 2.3).
func readARC(roots hostfs.Roots, pool string) (*result.ARC, error) {
	cache, err := readKstat(roots.InProc("spl/kstat/zfs/arcstats"))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"demand_data_hits", "demand_data_misses"} {
		if _, ok := cache[name]; !ok {
			return nil, fmt.Errorf("counters of the ARC: there is no %s", name)
		}
	}
	direct, err := readKstat(roots.InProc("spl/kstat/zfs", pool, "iostats"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return &result.ARC{
		Hits:         cache["demand_data_hits"],
		Misses:       cache["demand_data_misses"] + cache["demand_data_iohits"], // the latter since 2.2
		DirectReads:  direct["direct_read_count"],
		DirectWrites: direct["direct_write_count"],
	}, nil
}

// readKstat reads the lines "name type value" of a kstat; others, as its two headings, are left out.
func readKstat(path string) (map[string]uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("counters of ZFS: %w", err)
	}
	values := map[string]uint64{}
	for l := range strings.Lines(string(text)) {
		f := strings.Fields(l)
		if len(f) != 3 {
			continue
		}
		if v, err := strconv.ParseUint(f[2], 10, 64); err == nil {
			values[f[0]] = v
		}
	}
	return values, nil
}
