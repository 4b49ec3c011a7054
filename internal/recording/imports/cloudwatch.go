package imports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/recording"
)

// cloudWatchMetric is what a metric of CloudWatch becomes: a sum of its period, unless it is a mean.
type cloudWatchMetric struct {
	metric recording.Metric
	factor float64
	mean   bool
	counts bool   // it has no fractions: a value with one is no sum
	drive  string // of metrics of instances; "" for the volume
	idle   bool   // the rest of the period counts
	rank   int    // the least is taken of several that become one
}

// cloudWatchMetrics are those of EBS volumes, and of all volumes and all disks of an EC2 instance.
var cloudWatchMetrics = map[string]cloudWatchMetric{
	"VolumeReadOps":        {metric: recording.Reads, factor: 1, counts: true},
	"VolumeWriteOps":       {metric: recording.Writes, factor: 1, counts: true},
	"VolumeReadBytes":      {metric: recording.ReadBytes, factor: 1},
	"VolumeWriteBytes":     {metric: recording.WriteBytes, factor: 1},
	"VolumeTotalReadTime":  {metric: recording.RequestTime, factor: 1e6},
	"VolumeTotalWriteTime": {metric: recording.RequestTime, factor: 1e6},
	"VolumeQueueLength":    {metric: recording.RequestTime, factor: 1e6, mean: true, rank: 1},
	"VolumeIdleTime":       {metric: recording.Busy, factor: 1e6, idle: true},
	"EBSReadOps":           {metric: recording.Reads, factor: 1, counts: true, drive: "EBS"},
	"EBSWriteOps":          {metric: recording.Writes, factor: 1, counts: true, drive: "EBS"},
	"EBSReadBytes":         {metric: recording.ReadBytes, factor: 1, drive: "EBS"},
	"EBSWriteBytes":        {metric: recording.WriteBytes, factor: 1, drive: "EBS"},
	"DiskReadOps":          {metric: recording.Reads, factor: 1, counts: true, drive: "instance-store"},
	"DiskWriteOps":         {metric: recording.Writes, factor: 1, counts: true, drive: "instance-store"},
	"DiskReadBytes":        {metric: recording.ReadBytes, factor: 1, drive: "instance-store"},
	"DiskWriteBytes":       {metric: recording.WriteBytes, factor: 1, drive: "instance-store"},
}

var (
	metricWord   = regexp.MustCompile(`[A-Za-z]+`)
	volumeWord   = regexp.MustCompile(`\bvol-[0-9a-f]{8,17}\b`)
	instanceWord = regexp.MustCompile(`\bi-[0-9a-f]{8,17}\b`)
)

// periodic is a metric of CloudWatch with its values. Times are of the begins of periods.
type periodic struct {
	title  string // in problems
	line   int
	labels []string // texts that name the metric and the volume
	stat   string   // "" if the file does not say
	points []point
}

type point struct {
	line  int
	begin int64 // ms
	value float64
}

// isCloudWatchTable reports whether a text may be a table of the console: no JSON, with a metric that is known.
func isCloudWatchTable(text []byte) bool {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return false
	}
	for name := range cloudWatchMetrics {
		if bytes.Contains(text, []byte(name)) {
			return true
		}
	}
	return false
}

// lineAt returns the line of an offset.
func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
}

// rejectLine adds a problem of a line of a file.
func (b *builder) rejectLine(file string, line int, what, why, remedy string) {
	b.wrong = append(b.wrong, problem.Problem{At: problem.Position{In: file, Line: line}, Kind: problem.Invalid,
		What: what, Why: why, Remedy: remedy})
}

// cloudWatchJSON reads the answer of get-metric-data.
func (b *builder) cloudWatchJSON(f File) {
	var answer struct {
		Results   []json.RawMessage `json:"MetricDataResults"`
		NextToken string            `json:"NextToken"`
	}
	if err := json.Unmarshal(f.Text, &answer); err != nil {
		b.reject(f.Name, "the answer of get-metric-data was not read", err.Error(),
			"save its output as it is, with --output json")
		return
	}
	if answer.NextToken != "" {
		b.reject(f.Name, "the answer of get-metric-data has a NextToken", "it has a part of the values", "save all pages: "+
			"aws cloudwatch does so without --no-paginate and --max-items")
		return
	}
	offset := 0
	for i, raw := range answer.Results {
		offset += max(0, bytes.Index(f.Text[offset:], raw))
		line := lineAt(f.Text, int64(offset))
		offset += len(raw)
		var result struct {
			ID         string    `json:"Id"`
			Label      string    `json:"Label"`
			Timestamps []string  `json:"Timestamps"`
			Values     []float64 `json:"Values"`
			Status     string    `json:"StatusCode"`
		}
		title := fmt.Sprintf("result %d", i+1)
		err := json.Unmarshal(raw, &result)
		switch {
		case err != nil:
			b.rejectLine(f.Name, line, title, err.Error(), "save the answer of get-metric-data as it is")
			continue
		case len(result.Timestamps) != len(result.Values):
			b.rejectLine(f.Name, line, title, fmt.Sprintf("it has %d times and %d values", len(result.Timestamps),
				len(result.Values)), "save the answer as it is")
			continue
		case result.Status != "" && result.Status != "Complete":
			b.rejectLine(f.Name, line, title, fmt.Sprintf("its status is %.40q: values are missing", result.Status),
				"ask for it again, page by page")
			continue
		}
		p := periodic{title: fmt.Sprintf("%s, %.80q", title, result.Label), line: line,
			labels: []string{result.Label, result.ID}}
		for k, text := range result.Timestamps {
			moment, err := time.Parse(time.RFC3339, text)
			if err != nil {
				b.rejectLine(f.Name, line, p.title, fmt.Sprintf("%.40q is no time", text),
					"write times of ISO 8601 with their zone")
				break
			}
			p.points = append(p.points, point{line, moment.UnixMilli(), result.Values[k]})
		}
		b.takeCloudWatch(f.Name, p)
	}
}

// consoleTimes are forms of times in tables of the console, in UTC if they have no zone.
var consoleTimes = []string{"2006/01/02 15:04:05", time.RFC3339, "2006-01-02T15:04:05.000Z", "2006-01-02 15:04:05",
	"2006-01-02T15:04:05", "01/02/2006 15:04:05"}

// cloudWatchTable reads a table of the console: rows of a key and a text for each metric, then rows of a time and
// values.
func (b *builder) cloudWatchTable(f File) {
	rows := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(f.Text, []byte("\ufeff"))))
	rows.FieldsPerRecord, rows.ReuseRecord = -1, true
	var metrics []periodic
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.reject(f.Name, "the table was not read", err.Error(), "download it again as CSV")
			return
		}
		line, _ := rows.FieldPos(0)
		for len(metrics) < len(row)-1 && len(metrics) < mostSeries {
			metrics = append(metrics, periodic{title: fmt.Sprintf("column %d", len(metrics)+2), line: line})
		}
		key := strings.TrimSpace(row[0])
		moment, isTime := timeIn(key, consoleTimes)
		if !isTime && len(key) > 0 && key[0] >= '0' && key[0] <= '9' {
			b.rejectLine(f.Name, line, fmt.Sprintf("%.40q", key), "it is a time in no form that is known",
				"write times as 2026/01/31 23:59:00, in UTC")
			return
		}
		for i, text := range row[1:min(len(row), len(metrics)+1)] {
			text = strings.TrimSpace(text)
			switch {
			case text == "":
			case !isTime && strings.HasPrefix(strings.ToLower(key), "stat"):
				metrics[i].stat = text
			case !isTime:
				metrics[i].labels = append(metrics[i].labels, text)
			default:
				value, err := strconv.ParseFloat(text, 64)
				if err != nil {
					b.rejectLine(f.Name, line, metrics[i].title, fmt.Sprintf("%.40q is no number", text), "download it again as CSV")
					return
				}
				metrics[i].points = append(metrics[i].points, point{line, moment.UnixMilli(), value})
			}
		}
	}
	for _, p := range metrics {
		b.takeCloudWatch(f.Name, p)
	}
}

func timeIn(text string, forms []string) (moment time.Time, ok bool) {
	for _, form := range forms {
		if moment, err := time.Parse(form, text); err == nil {
			return moment, true
		}
	}
	return moment, false
}

// takeCloudWatch adds a metric.
func (b *builder) takeCloudWatch(file string, p periodic) {
	b.header.Source = "CloudWatch"
	labels := strings.Join(p.labels, " ")
	name := ""
	for _, word := range metricWord.FindAllString(labels, -1) {
		if cloudWatchMetrics[word].metric != "" {
			name = word
			break
		}
	}
	if len(p.points) == 0 && name == "" {
		return // an empty column
	}
	m, known := cloudWatchMetrics[name]
	if !known {
		b.ignored[fmt.Sprintf("%.60s", strings.Join(p.labels, " "))]++
		return
	}
	if instance := instanceWord.FindString(labels); instance != "" || b.header.Host.Name == "" {
		if host := b.header.Host.Name; instance != "" && host != "" && host != "CloudWatch" && host != instance {
			b.rejectLine(file, p.line, p.title, fmt.Sprintf("it is of instance %s, and others are of %s", instance, host),
				"import each instance into a recording of its own")
			return
		}
		b.header.Host.Name = "CloudWatch"
		if instance != "" {
			b.header.Host.Name = instance
		}
	}
	if wanted := map[bool]string{false: "Sum", true: "Average"}[m.mean]; p.stat != "" && !strings.EqualFold(p.stat,
		wanted) {
		b.rejectLine(file, p.line, p.title, fmt.Sprintf("its statistic is %.40q", p.stat), "export "+name+" as "+wanted)
		return
	}
	drive := m.drive
	if drive == "" {
		drive = volumeWord.FindString(labels)
	}
	if drive == "" {
		drive = "volume" // a label of one volume does not name it
	}
	period, ok := b.periodOf(file, &p)
	if !ok {
		return
	}
	seconds := float64(period) / 1000
	c := cell{b.thing(recording.Thing{Kind: recording.OfDrive, Name: drive}), m.metric}
	if rank, taken := b.ranks[c]; taken && rank != m.rank {
		if rank < m.rank {
			return
		}
		delete(b.amounts, c)
	}
	b.ranks[c] = m.rank
	source := c.key.Name + " " + name
	if line, twice := b.metricLines[source]; twice {
		b.rejectLine(file, p.line, p.title, fmt.Sprintf("%s of %s is in line %d too", name, drive, line),
			"keep one of them, and labels that name the volume: '${PROP('Dim.VolumeId')} ${PROP('MetricName')}'")
		return
	}
	b.metricLines[source] = p.line
	if b.amounts[c] == nil {
		b.amounts[c] = map[int64]float64{}
	}
	for _, point := range p.points {
		v := point.value
		switch {
		case !(v >= 0) || math.IsInf(v, 0) || m.idle && v > seconds*1.01:
			b.noAmount++
			continue
		case m.counts && v != math.Trunc(v):
			b.rejectLine(file, point.line, p.title, fmt.Sprintf("%s is %g: a sum of operations has no fraction", name, v),
				"export the statistic Sum")
			return
		case m.mean:
			v *= seconds
		case m.idle:
			v = max(0, seconds-v)
		}
		end := point.begin + period
		b.lengths[end] = seconds
		b.amounts[c][end] += v * m.factor
	}
}

// sameSteps is how many equal steps in a row are another period, and no gaps.
const sameSteps = 3

// periodOf sorts the values of a metric, and returns its period in ms, which all metrics of an import share. ok is
// false if there is none, or several: values were aggregated after some days.
func (b *builder) periodOf(file string, p *periodic) (period int64, ok bool) {
	slices.SortStableFunc(p.points, func(x, y point) int { return int(max(-1, min(1, x.begin-y.begin))) })
	kept := p.points[:0]
	for _, point := range p.points {
		if len(kept) > 0 && kept[len(kept)-1].begin == point.begin {
			b.backward++
			continue
		}
		kept = append(kept, point)
	}
	p.points = kept
	if b.values += len(kept); b.values > mostCells {
		b.rejectLine(file, p.line, p.title, fmt.Sprintf("the files have more than %d values", mostCells),
			"import a part of the time")
		return 0, false
	}
	for i := 1; i < len(kept); i++ {
		step := kept[i].begin - kept[i-1].begin
		if period == 0 || step < period {
			period = step
		}
	}
	if period == 0 {
		return 0, false // a value alone has no period
	}
	run := 0
	for i := 1; i < len(kept); i++ {
		step := kept[i].begin - kept[i-1].begin
		switch {
		case step%period != 0:
			run = sameSteps
		case step == period || i < 2 || step != kept[i-1].begin-kept[i-2].begin:
			run = 1
		default:
			run++
		}
		if step != period && run >= sameSteps {
			b.rejectLine(file, kept[i].line, p.title, fmt.Sprintf("its periods are %d s, and %d s here: sums of both cannot be "+
				"compared", period/1000, step/1000), "export a time with one period, or with --period of the longest")
			return 0, false
		}
	}
	switch {
	case period > longestInterval*1000:
		b.rejectLine(file, p.line, p.title, fmt.Sprintf("its period is %d s: intervals have up to an hour", period/1000),
			"export a shorter period")
		return 0, false
	case b.period == 0:
		b.period, b.periodLine = period, p.line
	case b.period != period:
		b.rejectLine(file, p.line, p.title, fmt.Sprintf("its period is %d s, and that of line %d is %d s", period/1000,
			b.periodLine, b.period/1000), "export all metrics with one period")
		return 0, false
	}
	return period, true
}
