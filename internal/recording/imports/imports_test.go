package imports

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/recording"
)

// matrix returns the answer to a range query: of each series, its labels in JSON, and values at times 60 s apart.
func matrix(series ...[2]string) File {
	var results []string
	for _, s := range series {
		var values []string
		for i, v := range strings.Fields(s[1]) {
			if v != "." {
				values = append(values, fmt.Sprintf(`[%d.5,%q]`, 1_700_000_000+60*i, v))
			}
		}
		results = append(results, fmt.Sprintf(`{"metric":{%s},"values":[%s]}`, s[0], strings.Join(values, ",")))
	}
	return File{"metrics.json", []byte(`{"status":"success","data":{"resultType":"matrix","result":[` +
		strings.Join(results, ",") + `]}}`)}
}

func node(name, labels string) string {
	return fmt.Sprintf(`"__name__":%q,"instance":"db1:9100"%s`, name, labels)
}

func imported(t *testing.T, files ...File) (*recording.Recording, []string) {
	t.Helper()
	made, problems := Read(files)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := recording.New(made.Header)
	for _, row := range made.Rows {
		if added, err := r.Add(row); !added || err != nil {
			t.Fatal(added, err)
		}
	}
	return r, made.Notes
}

// Counters become amounts of intervals. One that goes back, and a time without values, are unknown.
func TestPrometheus(t *testing.T) {
	pod := `,"namespace":"shop","container":"db","image":"x"`
	r, notes := imported(t, matrix(
		[2]string{node("node_cpu_seconds_total", `,"cpu":"0","mode":"user"`), "10 20 30 40 . 60 70"},
		[2]string{node("node_cpu_seconds_total", `,"cpu":"1","mode":"system"`), "1 2 3 4 . 6 7"},
		[2]string{node("node_cpu_seconds_total", `,"cpu":"0","mode":"idle"`), "1 1 1 1 . 1 1"},
		[2]string{node("node_cpu_seconds_total", `,"cpu":"1","mode":"idle"`), "1 1 1 1 . 1 1"},
		[2]string{node("node_memory_MemTotal_bytes", ""), "4096 4096 4096 4096 . 4096 4096"},
		[2]string{node("node_memory_MemAvailable_bytes", ""), "2048 1024 1024 NaN . 1024 +Inf"},
		[2]string{node("node_disk_reads_completed_total", `,"device":"sda"`), "5 10 3 9 . 100 110"},
		[2]string{node("node_disk_writes_completed_total", `,"device":"sda"`), "0 6 12 18 . 30 36"},
		[2]string{node("container_cpu_usage_seconds_total", pod+`,"pod":"db-7d4b9c6f8-x2z5k","id":"/a"`), "1 2 3 . . . ."},
		[2]string{node("container_cpu_usage_seconds_total", pod+`,"pod":"db-7d4b9c6f8-k9z2x","id":"/b"`), ". . . 1 . 2 4"},
		[2]string{node("container_cpu_usage_seconds_total", pod+`,"pod":"db-7d4b9c6f8-q4z2x","id":"/c"`), "1 1 1 1 . 1 1"},
		[2]string{node("container_cpu_usage_seconds_total", `,"namespace":"shop","pod":"db-7d4b9c6f8-x2z5k"`),
			"9 9 9 9 . 9 9"},
		[2]string{node("container_fs_reads_total", pod+`,"pod":"db-7d4b9c6f8-q4z2x","id":"/c","device":"/dev/sda"`),
			"0 60 120 180 . 300 360"},
		[2]string{node("go_goroutines", ""), "7 7 7 7 . 7 7"},
	))
	if r.Header.Host.CPUs != 2 || r.Header.Host.MemoryBytes != 4096 || r.Header.Host.Name != "db1" ||
		r.Header.Interval != 60 {
		t.Errorf("%+v", r.Header)
	}
	for key, want := range map[string]string{
		"host  0  cpu_us":                "[1.1e+07 1.1e+07 1.1e+07 1.1e+07]",
		"host  0  available_kib":         "[1 1 NaN NaN]",
		"drive sda 0  reads":             "[5 NaN 6 10]",
		"drive sda 0  writes":            "[6 6 6 6]",
		"container shop/db/db 1  cpu_us": "[1e+06 1e+06 NaN 2e+06]",
		"container shop/db/db 2  cpu_us": "[0 0 0 0]",
		"use shop/db/db 2 sda reads":     "[60 60 60 60]",
	} {
		found := false
		for _, c := range r.Courses {
			for _, m := range c.Thing.Kind.Metrics() {
				name := fmt.Sprintf("%s %s %d %s %s", c.Thing.Kind, c.Thing.Name, c.Thing.Copy, c.Thing.Drive, m)
				if name == key {
					found = true
					if got := fmt.Sprint(c.Values(m)); got != want {
						t.Errorf("%s is %s, want %s", key, got, want)
					}
				}
			}
		}
		if !found {
			t.Errorf("there is no %s", key)
		}
	}
	if len(r.Gaps) != 1 || r.Gaps[0].Seconds() != 120 {
		t.Errorf("gaps %v", r.Gaps)
	}
	text := strings.Join(notes, "; ")
	for _, want := range []string{"1 gap", "1 counter reset", "2 values left out: no amount", "go_goroutines"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

// Real outputs of sysstat 12.6.1.
func TestSysstat(t *testing.T) {
	for name, want := range map[string]float64{"iostat.json": 5, "sadf.json": 5} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		r, notes := imported(t, File{name, text})
		if n := float64(len(r.Times)); n < want || r.Header.Host.CPUs != 2 {
			t.Errorf("%s: %g intervals, %+v, %v", name, n, r.Header, notes)
		}
		drive := r.OfKind(recording.OfDrive)
		cpu := r.Find(recording.Key{Kind: recording.OfHost}).Values(recording.CPU)
		if len(drive) == 0 || math.IsNaN(float64(drive[0].Values(recording.Reads)[1])) || !(cpu[1] > 0 && cpu[1] < 4e6) {
			t.Errorf("%s: drives %v, processors %v", name, drive, cpu)
		}
	}
}

func TestAttackImports(t *testing.T) {
	two := matrix([2]string{node("go_info", ""), "1 2"})
	for name, c := range map[string]struct{ text, want string }{
		"nothing":    {"", "no range query"},
		"other JSON": {`{"a": 1}`, "no range query"},
		"failed":     {`{"status":"error","errorType":"bad_data","error":"parse error"}`, "parse error"},
		"instant":    {`{"status":"success","data":{"resultType":"vector","result":[]}}`, "query_range"},
		"cut off":    {string(two.Text[:len(two.Text)-5]), "unexpected end"},
		"deep":       {`{"resultType":` + strings.Repeat("[", 100_000), "depth"},
		"rate":       {strings.Replace(string(two.Text), `"__name__":"go_info",`, "", 1), "rate()"},
		"two hosts": {string(matrix([2]string{node("a", ""), "1 2"}, [2]string{`"__name__":"a","instance":"db2:1"`,
			"1 2"}).Text), "is of host"},
		"twice":          {string(matrix([2]string{node("a", ""), "1 2"}, [2]string{node("a", ""), "1 2"}).Text), "twice"},
		"no number":      {strings.Replace(string(two.Text), `"1"`, `1`, 1), "no value of a time"},
		"huge time":      {strings.Replace(string(two.Text), "1700000000.5", "1e300", 1), "no value of a time"},
		"nothing to use": {string(two.Text), "fewer than two"},
		"no stamp":       {`{"sysstat":{"hosts":[{"nodename":"a","statistics":[{"disk":[]}]}]}}`, "-t"},
		"odd stamp": {`{"sysstat":{"hosts":[{"nodename":"a","statistics":[{"timestamp":"yesterday"}]}]}}`,
			"S_TIME_FORMAT"},
	} {
		_, problems := Read([]File{{"file", []byte(c.text)}})
		if text := fmt.Sprint(problems.Join("; ")); !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
	// Times that go back are left out, and said.
	text := strings.Replace(string(matrix([2]string{node("node_disk_reads_completed_total", `,"device":"sda"`),
		"1 2 3 4"}).Text),
		"1700000120.5", "1600000120.5", 1)
	_, notes := imported(t, File{"back", []byte(text)})
	if !strings.Contains(strings.Join(notes, ";"), "not later") {
		t.Errorf("notes %q", notes)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(string(matrix([2]string{node("node_disk_reads_completed_total", `,"device":"sda"`), "1 2 NaN 4"}).Text))
	f.Add(`{"sysstat":{"hosts":[{"nodename":"a","number-of-cpus":2,"statistics":[{"timestamp":"2026-01-01T00:00:00Z",` +
		`"avg-cpu":{"idle":5},"disk":[{"disk_device":"sda","r/s":1}]}]}]}}`)
	f.Add(string(metricData(1, [2]string{"vol-0123456789abcdef0 VolumeReadOps", "1 2 . 4"}).Text))
	f.Add("Label,VolumeReadOps\n2026/03/02 00:00:00,1\n2026/03/02 00:05:00,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		made, problems := Read([]File{{"fuzzed", []byte(text)}})
		if len(problems) > 0 {
			return
		}
		r := recording.New(made.Header)
		for _, row := range made.Rows {
			if _, err := r.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	})
}
