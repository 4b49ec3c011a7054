package imports

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/recording"
)

// metricData is an answer of get-metric-data: of each metric its label, and values at begins of periods in minutes, the
// latest first, as the program prints them.
func metricData(minutes int, metrics ...[2]string) File {
	var results []string
	for i, m := range metrics {
		var times, values []string
		for k, v := range strings.Fields(m[1]) {
			if v != "." {
				times = append([]string{fmt.Sprintf(`"2026-03-02T%02d:%02d:00+00:00"`, k*minutes/60, k*minutes%60)}, times...)
				values = append([]string{v}, values...)
			}
		}
		results = append(results, fmt.Sprintf("{\"Id\": \"m%d\", \"Label\": %q,\n\"Timestamps\": [%s],\n\"Values\": [%s],\n"+
			"\"StatusCode\": \"Complete\"}", i, m[0], strings.Join(times, ","), strings.Join(values, ",")))
	}
	return File{"data.json", []byte("{\"MetricDataResults\": [\n" + strings.Join(results, ",\n") + "]}")}
}

// Sums over periods are amounts of intervals that end with the period.
func TestCloudWatch(t *testing.T) {
	r, notes := imported(t, metricData(1,
		[2]string{"vol-0123456789abcdef0 VolumeReadOps", "60 120 . . 6 0"},
		[2]string{"vol-0123456789abcdef0 VolumeWriteOps", "6 12 . . 18 24"},
		[2]string{"vol-0123456789abcdef0 VolumeReadBytes", "4096 8192 . . 0 0"},
		[2]string{"vol-0123456789abcdef0 VolumeTotalReadTime", "1 2 . . 3 4"},
		[2]string{"vol-0123456789abcdef0 VolumeTotalWriteTime", "0.5 0.5 . . 0.5 -1"},
		[2]string{"vol-0123456789abcdef0 VolumeQueueLength", "9 9 . . 9 9"}, // times say more
		[2]string{"vol-0123456789abcdef0 VolumeIdleTime", "60 45 . . 0 61"},
		[2]string{"vol-0fedcba9876543210 VolumeQueueLength", "0.5 1 . . 1 1"},
		[2]string{"i-0123456789abcdef0 DiskReadOps", "1 2 . . 3 4"},
		[2]string{"CPUUtilization", "5 5 . . 5 5"}))
	if r.Header.Host.Name != "i-0123456789abcdef0" || r.Header.Interval != 60 || len(r.Gaps) != 1 ||
		r.Gaps[0].Seconds() != 120 || r.Times[0].Format("15:04:05") != "00:01:00" {
		t.Errorf("%+v, gaps %v, first %v", r.Header, r.Gaps, r.Times[0])
	}
	for key, want := range map[[2]string]string{
		{"vol-0123456789abcdef0", "reads"}:      "[60 120 6 0]",
		{"vol-0123456789abcdef0", "writes"}:     "[6 12 18 24]",
		{"vol-0123456789abcdef0", "read_bytes"}: "[4096 8192 0 0]",
		{"vol-0123456789abcdef0", "request_us"}: "[1.5e+06 2.5e+06 3.5e+06 4e+06]",
		{"vol-0123456789abcdef0", "busy_us"}:    "[0 1.5e+07 6e+07 NaN]",
		{"vol-0fedcba9876543210", "request_us"}: "[3e+07 6e+07 6e+07 6e+07]",
		{"instance-store", "reads"}:             "[1 2 3 4]",
	} {
		c := r.Find(recording.Key{Kind: recording.OfDrive, Name: key[0]})
		if got := fmt.Sprint(c.Values(recording.Metric(key[1]))); got != want {
			t.Errorf("%v: %s, want %s", key, got, want)
		}
	}
	if text := strings.Join(notes, "; "); !strings.Contains(text, "CPUUtilization") || !strings.Contains(text,
		"2 values") {
		t.Errorf("notes %q", text)
	}
}

// A table of the console has the same in columns.
func TestCloudWatchTable(t *testing.T) {
	text := "\ufeffFull label,vol-0123456789abcdef0 VolumeReadOps,vol-0123456789abcdef0 VolumeWriteOps\n" +
		"Statistic,Sum,Sum\n" +
		"Period,300,300\n2026/03/02 00:00:00,300,\n2026/03/02 00:05:00,600,5\n2026/03/02 00:10:00,900,10\n"
	r, _ := imported(t, File{"table.csv", []byte(text)})
	c := r.Find(recording.Key{Kind: recording.OfDrive, Name: "vol-0123456789abcdef0"})
	if got := fmt.Sprint(c.Values(recording.Reads), c.Values(recording.Writes)); r.Header.Interval != 300 ||
		got != "[300 600 900] [NaN 5 10]" {
		t.Errorf("%+v: %s", r.Header, got)
	}
}

func TestAttackCloudWatch(t *testing.T) {
	const volume = "vol-0123456789abcdef0 VolumeReadOps"
	ok := metricData(1, [2]string{volume, "1 2 3 4"})
	table := "Label,VolumeReadOps\n2026/03/02 00:00:00,1\n2026/03/02 00:01:00,2\n"
	for name, c := range map[string]struct{ text, want string }{
		"means": {string(metricData(1, [2]string{volume, "1 2.5 3"}).Text), "data.json:2: result 1"},
		"means, remedy": {string(metricData(1, [2]string{volume, "1 2.5 3"}).Text),
			"export the statistic Sum"},
		"two periods": {string(metricData(1, [2]string{volume, "1 2 3 4"},
			[2]string{"VolumeWriteOps", "1 . . . . 2 . . . . 3"}).Text), "data.json:6: result 2"},
		"aggregated": {string(metricData(1, [2]string{volume, "1 . . . . 2 . . . . 3 . . . . 4 5 6"}).Text),
			"its periods are 60 s, and 300 s here"},
		"odd steps": {strings.Replace(string(ok.Text), "00:03:00", "00:03:01", 1), "its periods are"},
		"days":      {"Label,VolumeReadOps\n2026/03/02 00:00:00,1\n2026/03/04 00:00:00,2\n", "up to an hour"},
		"twice":     {string(metricData(1, [2]string{volume, "1 2"}, [2]string{volume, "1 2"}).Text), "line 2 too"},
		"two instances": {string(metricData(1, [2]string{"i-0123456789abcdef0 DiskReadOps", "1 2"},
			[2]string{"i-0123456789abcdef1 DiskReadOps", "1 2"}).Text), "import each instance"},
		"pages":         {strings.Replace(string(ok.Text), "{", `{"NextToken": "x", `, 1), "all pages"},
		"partial":       {strings.Replace(string(ok.Text), "Complete", "PartialData", 1), "values are missing"},
		"lengths":       {strings.Replace(string(ok.Text), "[4,", "[", 1), "4 times and 3 values"},
		"no time":       {strings.Replace(string(ok.Text), "2026-03-02T00:00:00+00:00", "noon", 1), "no time"},
		"cut off":       {string(ok.Text[:len(ok.Text)-3]), "unexpected end"},
		"alone":         {string(metricData(1, [2]string{volume, "1"}).Text), "fewer than two"},
		"table, text":   {strings.Replace(table, ",2", ",two", 1), "table.csv:3: column 2: \"two\" is no number"},
		"table, day":    {strings.Replace(table, "2026/03/02 00:01:00", "2. 3. 2026 0:01", 1), "table.csv:3"},
		"table, mean":   {strings.Replace(table, "\n", "\nStatistic,Average\n", 1), "export VolumeReadOps as Sum"},
		"table, quotes": {table + "\"", "download it again"},
	} {
		file := "data.json"
		if strings.HasPrefix(c.text, "Label") {
			file = "table.csv"
		}
		_, problems := Read([]File{{file, []byte(c.text)}})
		if text := fmt.Sprint(problems.Join("; ")); !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
	_, problems := Read([]File{ok, matrix([2]string{node("a", ""), "1 2"})})
	if text := fmt.Sprint(problems.Join("; ")); !strings.Contains(text, "CloudWatch and Prometheus") {
		t.Errorf("two families: %q", text)
	}
}
