package growth

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"time"

	"plimsoll/internal/recording"
	"plimsoll/internal/recording/segments"
)

// containers of each recording, which use one drive.
const containers = 5

// growRecordings measures headroom on recordings of an interval a second.
func growRecordings(program, dir string, sizes []int) error {
	commands := make([][]usage, 2)
	var files []string
	for _, n := range sizes {
		path := filepath.Join(dir, "seconds-"+strconv.Itoa(n))
		err := record(path, n)
		if err != nil {
			return err
		}
		bytes, err := bytesIn(path)
		if err != nil {
			return err
		}
		files = append(files, fmt.Sprintf("%d: %.2f MB", n, float64(bytes)/1e6))
		for i, args := range [][]string{{"headroom", path}, {"headroom", "--html", path + ".html", path}} {
			used, err := measure(program, args...)
			if err != nil {
				return err
			}
			commands[i] = append(commands[i], used)
		}
	}
	row("headroom", "seconds", sizes, commands[0])
	row("headroom --html", "seconds", sizes, commands[1])
	fmt.Printf("\nRecordings of %d containers, compressed: %v\n", containers, files)
	return nil
}

// record writes a recording: rates go up and down within a day, bursts are Poisson, and memory drifts.
func record(dir string, seconds int) error {
	const (
		day      = 24 * 60 * 60
		page     = 8192
		cpus     = 8
		memory   = 64 << 30
		capacity = 20_000 // requests a second
	)
	w, err := segments.Open(dir, recording.Header{Schema: recording.SchemaVersion, Interval: 1, Source: "plimsoll watch",
		Host: recording.Host{Name: "growth", CPUs: cpus, MemoryBytes: memory}}, segments.Options{Bytes: 4 << 30, New: true})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	amounts := func(t recording.Thing, known map[recording.Metric]float64) recording.Amounts {
		var values []float64
		for _, m := range t.Kind.Metrics() {
			values = append(values, math.Round(known[m]))
		}
		return recording.Amounts{Thing: t, Values: values}
	}
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for second := range seconds {
		r := recording.Row{Time: start.Add(time.Duration(second+1) * time.Second), Seconds: 1}
		var total float64
		for i := range containers {
			mean := 200 * float64(i+1) * (1.2 + math.Sin(2*math.Pi*float64(second)/day))
			n := mean + math.Sqrt(mean)*random.NormFloat64()
			total += n
			name := "database-" + strconv.Itoa(i)
			r.Amounts = append(r.Amounts,
				amounts(recording.Thing{Kind: recording.OfContainer, Name: name}, map[recording.Metric]float64{
					recording.CPU: 300 * n, recording.Anonymous: 1e6 + n, recording.Cache: 4e6 - n, recording.ActiveFile: 3e6,
					recording.Refaults: n / 50}),
				amounts(recording.Thing{Kind: recording.OfUse, Name: name, Drive: "nvme0n1"}, map[recording.Metric]float64{
					recording.Reads: n, recording.Writes: n / 4, recording.ReadBytes: n * page, recording.WriteBytes: n * page / 4}))
		}
		r.Amounts = append(r.Amounts,
			amounts(recording.Thing{Kind: recording.OfHost}, map[recording.Metric]float64{recording.CPU: 400 * total,
				recording.Available: 3e7, recording.Cache: 2e7}),
			amounts(recording.Thing{Kind: recording.OfDrive, Name: "nvme0n1"}, map[recording.Metric]float64{
				recording.Reads: total, recording.Writes: total / 4, recording.ReadBytes: total * page,
				recording.WriteBytes: total * page / 4, recording.RequestTime: 100 * total,
				recording.Busy: 1e6 * total / capacity}))
		w.Add(r)
	}
	return w.Close()
}

// bytesIn returns the size of all files of a directory.
func bytesIn(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		total += info.Size()
		return err
	})
	return total, err
}
