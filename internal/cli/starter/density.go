package starter

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/template"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

//go:embed density.yaml.tmpl
var densityText string

var densityPage = template.Must(template.New("density").Funcs(template.FuncMap{"plain": plain}).Parse(densityText))

// The built-in experiment density has eight servers on one and a half processors, and the data of five fill its
// memory.
const (
	serversPerCPU = 8 / 1.5
	fillAt        = 5.0 / 8
	mostServers   = 48
	recordBytes   = 1074 // of a record of 1000 bytes, as it is stored
)

// density has the values of density's template.
type density struct {
	filled
	CPUs, Memory, Counts, Source, About, Room, Data, Needs string
	Fill                                                   string
	Binds                                                  bool
	Records                                                int64
	HalfCPUs, HalfMemory                                   string
}

// WriteDensity writes an experiment that asks how many servers a host carries, which has so many processors
// and so much memory: with numbers of servers and data in proportion to them.
func WriteDensity(w io.Writer, h Host, has result.Limits) error {
	d := density{filled: fill(h), Source: "dir:.", About: "the current directory"}
	d.Name = name("density-of-" + h.Report.Environment.Hostname)
	d.CPUs, d.Memory = plural.Count(int(has.CPUs), "processor"), units.Bytes(uint64(has.MemoryBytes))
	d.HalfCPUs = fmt.Sprintf("%.3g", max(0.01, has.CPUs/2))
	d.HalfMemory = fmt.Sprintf("%dMiB", has.MemoryBytes/2>>20)
	most := int(min(mostServers, max(4, math.Round(has.CPUs*serversPerCPU))))
	fills := math.Ceil(fillAt * float64(most))
	bytes := float64(has.MemoryBytes) / fills
	room := func() float64 { return bytes * float64(most+1) } // what is loaded once, and a copy for each
	d.Needs, d.Binds = units.Bytes(uint64(room())), true
	if place, ok := roomiest(h.Mounts); ok {
		at := slices.IndexFunc(d.Directories, func(o directory) bool { return o.Source == source("dir:"+place.Dir) })
		d.Source, d.About = d.Directories[at].Source, d.Directories[at].About
		d.Directories = slices.Delete(d.Directories, at, at+1)
		if usable := leave * float64(place.FreeBytes); room() > usable {
			bytes *= usable / room()
			d.Binds = bytes*float64(most) > float64(has.MemoryBytes)
			fills = math.Ceil(float64(has.MemoryBytes) / bytes)
		}
	}
	d.Records = rounded(bytes / recordBytes)
	bytes = float64(d.Records) * recordBytes
	d.Fill, d.Data, d.Room = fmt.Sprint(fills), units.Bytes(uint64(bytes)), units.Bytes(uint64(room()))
	d.Counts = strings.Join(counts(most), ", ")
	return densityPage.Execute(w, d)
}

// leave is the share of the room in a directory that data may take.
const leave = 0.8

// roomiest is the mount with most room, of those that a file can name.
func roomiest(all []hostinfo.Mount) (best hostinfo.Mount, ok bool) {
	for _, m := range all {
		if quotable(m.Dir) && m.FreeBytes > best.FreeBytes {
			best, ok = m, true
		}
	}
	return best, ok
}

// counts are the numbers of servers from one to the most, closer where the line is expected.
func counts(most int) (all []string) {
	for _, share := range []float64{0, 3. / 8, 4. / 8, 5. / 8, 6. / 8, 7. / 8, 1} {
		n := fmt.Sprint(max(1, int(math.Round(share*float64(most)))))
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// rounded keeps two digits, and never rounds up: what fits has to.
func rounded(n float64) int64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(1000, n)))-1)
	return int64(max(1000, math.Floor(n/unit)*unit))
}
