package fiofiles

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// environmentNotes returns notes on the known and unknown origin of the results.
func (m *importer) environmentNotes() []string {
	notes := []string{fmt.Sprintf("imported from %s: the host, its kernel and devices, and what the devices counted "+
		"were not recorded, so no number was checked", plural.Count(len(m.files), "file"))}
	if first, last, ok := m.timeRange(); ok {
		const layout = "2006-01-02 15:04:05 UTC"
		said := "fio printed the result at " + first.Format(layout)
		if !first.Equal(last) {
			said = fmt.Sprintf("fio printed the results between %s and %s", first.Format(layout), last.Format(layout))
		}
		notes = append(notes, said+", by the clock of its host")
	}
	if hosts := m.distinct(func(i *item) []string { return i.Hosts }); len(hosts) > 0 {
		notes = append(notes,
			"fio --client had the jobs run on "+strings.Join(hosts, ", ")+": rates are those of all hosts together")
	}
	if targets := m.distinct(func(i *item) []string { return i.Targets }); len(targets) > 1 && m.options.Stack != nil {
		notes = append(notes,
			fmt.Sprintf("the jobs name %s, all taken for the stack %s", strings.Join(targets, ", "), m.options.Stack.Name))
	}
	return append(append(notes, m.lackNotes()...), m.notes...)
}

// timeRange returns when fio printed the first and the last result.
func (m *importer) timeRange() (first, last time.Time, ok bool) {
	for _, i := range m.items {
		if i.Written.IsZero() {
			continue
		}
		if !ok || i.Written.Before(first) {
			first = i.Written
		}
		if i.Written.After(last) {
			last = i.Written
		}
		ok = true
	}
	return first, last, ok
}

// distinct returns the distinct values that valuesOf returns for the results.
func (m *importer) distinct(valuesOf func(*item) []string) []string {
	var out []string
	for _, i := range m.items {
		for _, s := range valuesOf(i) {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// lackNotes returns notes on missing values, one for all results that lack the same.
func (m *importer) lackNotes() []string {
	names := map[string][]string{}
	var order []string
	for _, i := range m.items {
		if len(i.Lacks) == 0 || i.Measurement == nil {
			continue
		}
		text := lackText(i.Lacks)
		if names[text] == nil {
			order = append(order, text)
		}
		if name := path.Base(i.name()); !slices.Contains(names[text], name) {
			names[text] = append(names[text], name)
		}
	}
	var notes []string
	for _, what := range order {
		notes = append(notes, "not in "+abbreviate(names[what])+": "+what)
	}
	return notes
}

// lackText names what is missing, and joins latencies that lack the same.
func lackText(lacks []fio.Lack) string {
	type lackKey struct{ missing, because string }
	kinds := map[lackKey][]string{}
	var order []lackKey
	for _, l := range lacks {
		s := lackKey{l.What, l.Because}
		if _, known := kinds[s]; !known {
			order = append(order, s)
			kinds[s] = nil
		}
		if l.Latency != "" {
			kinds[s] = append(kinds[s], l.Latency)
		}
	}
	words := make([]string, len(order))
	for i, s := range order {
		words[i] = s.missing
		if k := kinds[s]; len(k) > 0 {
			words[i] += " of " + strings.Join(k, ", ") + " latency"
		}
		if s.because != "" {
			words[i] += " (" + s.because + ")"
		}
	}
	return strings.Join(words, "; ")
}

// abbreviate joins the first few names and counts the rest.
func abbreviate(names []string) string {
	const few = 4
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few-1], ", "), len(names)-few+1)
	}
	return strings.Join(names, ", ")
}

// series writes the rates between the states of a measurement as CSV.
func series(states []fio.Sample, m *result.Measurement) []byte {
	if m != nil { // the result is the last state
		states = append(slices.Clone(states), fio.Sample{
			Seconds: m.Seconds,
			Read:    fio.Counters{IOs: m.Operation(result.Read).Count, Bytes: m.Operation(result.Read).Bytes},
			Write:   fio.Counters{IOs: m.Operation(result.Write).Count, Bytes: m.Operation(result.Write).Bytes},
		})
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"seconds", "read_iops", "write_iops", "read_bytes_per_second", "write_bytes_per_second"})
	var last fio.Sample
	for _, s := range states {
		length := s.Seconds - last.Seconds
		if length <= 0 {
			continue
		}
		rate := func(now, before uint64) string {
			return strconv.FormatFloat((float64(now)-float64(before))/length, 'f', 3, 64)
		}
		_ = w.Write([]string{
			strconv.FormatFloat(s.Seconds, 'f', 3, 64),
			rate(s.Read.IOs, last.Read.IOs), rate(s.Write.IOs, last.Write.IOs),
			rate(s.Read.Bytes, last.Read.Bytes), rate(s.Write.Bytes, last.Write.Bytes),
		})
		last = s
	}
	w.Flush()
	return b.Bytes()
}
