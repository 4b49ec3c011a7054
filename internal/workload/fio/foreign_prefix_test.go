package fio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"
)

// prefixed puts before each line what a log collector does.
func prefixed(text []byte, prefix func(line int) string) []byte {
	var out []byte
	n := 0
	for line := range bytes.Lines(text) {
		out = append(append(out, prefix(n)...), line...)
		n++
	}
	return out
}

// inUTF16 is a text as PowerShell redirects it.
func inUTF16(text []byte, order binary.ByteOrder) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + string(text))) {
		var two [2]byte
		order.PutUint16(two[:], unit)
		out = append(out, two[:]...)
	}
	return out
}

// A document is the same behind whatever a collector of logs, a shell or a tool put around it.
func TestForeignWrapped(t *testing.T) {
	plain := foreignFileNamed(t, "json-plus.json")
	want := readOne(t, plain)
	journal := func(line int) string { return fmt.Sprintf("Mar  1 10:00:%02d node-3 fio[812]: ", line%60) }
	library := func(line int) string { return fmt.Sprintf("I0301 10:00:%02d.%06d fio.go:12] ", line%60, line) }
	docker := func(line int) string { return fmt.Sprintf("2026-03-01T10:00:%02d.%dZ ", line/100%60, line*7919) }
	for _, c := range []struct {
		name string
		text []byte
		line int // where the document begins
	}{
		{"byte order mark", join([]byte("\xef\xbb\xbf"), plain), 1},
		{"UTF-16", inUTF16(bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")), binary.LittleEndian), 1},
		{"UTF-16, big endian", inUTF16(plain, binary.BigEndian), 1},
		{"of one of several files", join([]byte("fio: a note\n\xef\xbb\xbf"), plain), 2},
		{"prompt", join([]byte("fio> a note\n>"), plain), 2},
		{"within an object", join([]byte(`{"size": "100Gi", "result":`), plain, []byte("}")), 1},
		{"within an array", join([]byte("["), plain, []byte("]\n")), 1},
		{"beside JSON of others", join([]byte("{\"level\":\"info\"}\n"), plain, []byte("{\"level\":\"info\"}\n")), 2},
		{"docker logs --timestamps", prefixed(plain, docker), 1},
		{"of a container runtime", prefixed(plain, func(n int) string { return docker(n) + "stdout F " }), 1},
		{"kubectl logs --prefix", prefixed(plain, func(int) string { return "[pod/fio-x2k/fio] " }), 1},
		{"compose", prefixed(plain, func(int) string { return "\x1b[36mfio_1  |\x1b[0m " }), 1},
		{"journal", prefixed(plain, journal), 1},
		{"of a library", prefixed(plain, library), 1},
		{"seconds since 1970", prefixed(plain, func(n int) string { return fmt.Sprintf("%d.%03d: ", 1700000000+n, n) }), 1},
		{"beside lines of others", join([]byte("Starting\n2026-03-01T10:00:00Z pulled\n"),
			prefixed(join([]byte("fio: a warning\n"), plain), docker), []byte("done\n")), 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readOne(t, c.text)
			if got.Line != c.line {
				t.Errorf("it begins in line %d, want %d", got.Line, c.line)
			}
			if !reflect.DeepEqual(got.Measurement, want.Measurement) || !reflect.DeepEqual(got.Options, want.Options) {
				t.Errorf("%+v of %+v, without anything around it %+v", got.Measurement, got.Options, want.Measurement)
			}
		})
	}
}

// Two sources whose lines a collector mixed are told apart by their prefixes, and a problem has the line of the file.
func TestForeignInterleaved(t *testing.T) {
	interleave := func(a, b []byte) []byte {
		var out []byte
		first, second := bytes.SplitAfter(a, []byte("\n")), bytes.SplitAfter(b, []byte("\n"))
		for i := range max(len(first), len(second)) {
			for j, lines := range [][][]byte{first, second} {
				if i < len(lines) && len(lines[i]) > 0 {
					out = append(fmt.Appendf(out, "fio-%d | ", 1+9*j), lines[i]...)
				}
			}
		}
		return out
	}
	a, b := foreignFileNamed(t, "json.json"), foreignFileNamed(t, "again.json")
	results := readForeign(t, interleave(a, b))
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	for _, want := range [][]byte{a, b} {
		got := results[0]
		if bytes.Equal(want, b) == (got.Measurement.IOs() != readOne(t, b).Measurement.IOs()) {
			got = results[1]
		}
		if !reflect.DeepEqual(got.Measurement, readOne(t, want).Measurement) {
			t.Errorf("%+v", got.Measurement)
		}
	}
	offset := bytes.Index(b, []byte(`"total_ios" : `))
	broken := bytes.Replace(b, []byte(`"total_ios" : `), []byte(`"total_ios" : "many", "x" : `), 1)
	_, problems := ReadForeign(interleave(a, broken))
	if want := 2 * (1 + bytes.Count(b[:offset], []byte("\n"))); len(problems) != 1 || problems[0].At.Line != want {
		t.Errorf("%v, want line %d", problems, want)
	}
}

// Results of the same job that ran at the same time and were appended to one file are no states of each other,
// although each has more I/Os than the one before.
func TestForeignAppendedAtTheSameTime(t *testing.T) {
	a := foreignFileNamed(t, "json.json")
	m := readOne(t, a)
	later := strings.Replace(string(a), fmt.Sprintf(`"total_ios" : %d`, m.Measurement.IOs()),
		fmt.Sprintf(`"total_ios" : %d`, m.Measurement.IOs()+5), 1)
	if later == string(a) {
		t.Fatal("nothing was replaced")
	}
	l := m.Measurement.Operation("read").Latency["total"]
	shorter := strings.Replace(later, fmt.Sprintf(`"max" : %d`, l.MaxNS), fmt.Sprintf(`"max" : %d`, l.MaxNS-1), 1)
	if shorter == later {
		t.Fatal("the greatest latency stayed")
	}
	if all := readForeign(t, join(a, []byte(shorter))); len(all) != 2 || all[0].From.IsZero() ||
		!all[0].From.Before(all[1].To) {
		t.Errorf("%d results, of which the second had a shorter greatest latency", len(all))
	}
	if all := readForeign(t, join(a, []byte(later))); len(all) != 1 {
		t.Errorf("%d results of a document and a later state of it", len(all))
	}
}
