package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/recording"
)

// answer is what the API of Prometheus answers a range query.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Metric map[string]string    `json:"metric"`
			Values [][2]json.RawMessage `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

// source is what a metric of Prometheus becomes.
type source struct {
	metric recording.Metric
	factor float64
}

var ofHost = map[string]source{
	"node_memory_MemAvailable_bytes":             {recording.Available, 1. / 1024},
	"node_memory_Cached_bytes":                   {recording.Cache, 1. / 1024},
	"node_pressure_cpu_waiting_seconds_total":    {recording.CPUPressure, 1e6},
	"node_pressure_memory_waiting_seconds_total": {recording.MemoryPressure, 1e6},
	"node_pressure_io_waiting_seconds_total":     {recording.IOPressure, 1e6},
}

var ofDrive = map[string]source{
	"node_disk_reads_completed_total":          {recording.Reads, 1},
	"node_disk_writes_completed_total":         {recording.Writes, 1},
	"node_disk_read_bytes_total":               {recording.ReadBytes, 1},
	"node_disk_written_bytes_total":            {recording.WriteBytes, 1},
	"node_disk_io_time_weighted_seconds_total": {recording.RequestTime, 1e6},
	"node_disk_io_time_seconds_total":          {recording.Busy, 1e6},
}

var ofContainer = map[string]source{
	"container_cpu_usage_seconds_total":               {recording.CPU, 1e6},
	"container_cpu_cfs_throttled_seconds_total":       {recording.Throttled, 1e6},
	"container_memory_rss":                            {recording.Anonymous, 1. / 1024},
	"container_memory_cache":                          {recording.Cache, 1. / 1024},
	"container_memory_total_active_file_bytes":        {recording.ActiveFile, 1. / 1024},
	"container_pressure_cpu_waiting_seconds_total":    {recording.CPUPressure, 1e6},
	"container_pressure_memory_waiting_seconds_total": {recording.MemoryPressure, 1e6},
	"container_pressure_io_waiting_seconds_total":     {recording.IOPressure, 1e6},
}

var ofUse = map[string]source{
	"container_fs_reads_total":        {recording.Reads, 1},
	"container_fs_writes_total":       {recording.Writes, 1},
	"container_fs_reads_bytes_total":  {recording.ReadBytes, 1},
	"container_fs_writes_bytes_total": {recording.WriteBytes, 1},
}

// prometheus reads the answer to a range query.
func (b *builder) prometheus(f File) {
	var a answer
	if err := json.Unmarshal(f.Text, &a); err != nil {
		b.reject(f.Name, "the answer of Prometheus was not read", err.Error(), "save what the API answers as it is")
		return
	}
	switch {
	case a.Status != "success":
		b.reject(f.Name, "the query failed", a.Error, "repeat it")
		return
	case a.Data.ResultType != "matrix":
		b.reject(f.Name, fmt.Sprintf("the answer is a %s", a.Data.ResultType), "a recording takes a value for each time",
			"ask /api/v1/query_range")
		return
	case len(a.Data.Result) > mostSeries:
		b.reject(f.Name, fmt.Sprintf("it has %d series", len(a.Data.Result)),
			fmt.Sprintf("no more than %d are imported", mostSeries), "select one instance")
		return
	}
	b.header.Source = "Prometheus"
	seen := map[string]bool{}
	for i, s := range a.Data.Result {
		labels, err := json.Marshal(s.Metric)
		if err != nil {
			continue
		}
		subject := fmt.Sprintf("series %d, %.200s", i+1, labels)
		if seen[string(labels)] {
			b.reject(f.Name, subject, "the same labels are there twice", "keep one of them")
			continue
		}
		seen[string(labels)] = true
		name := s.Metric["__name__"]
		if name == "" {
			b.reject(f.Name, subject, "it has no name: it is the result of a function such as rate()",
				"export counters as they are: the query is the name of the metric, and no more")
			continue
		}
		if !b.oneHost(f.Name, subject, s.Metric) {
			continue
		}
		values := b.read(f.Name, subject, s.Values)
		if values != nil {
			b.take(name, s.Metric, values)
		}
	}
}

// oneHost reports whether a series is of the host of those before.
func (b *builder) oneHost(file, subject string, labels map[string]string) bool {
	host := labels["node"]
	if host == "" {
		host, _, _ = strings.Cut(labels["instance"], ":")
	}
	switch {
	case host == "" || host == b.header.Host.Name:
		return true
	case b.header.Host.Name == "":
		b.header.Host.Name = host
		return true
	}
	if !slices.ContainsFunc(b.wrong, func(p problem.Problem) bool { return strings.HasPrefix(p.Why, "it is of host") }) {
		b.reject(file, subject, fmt.Sprintf("it is of host %.100q, and others are of %.100q", host, b.header.Host.Name),
			"select one instance: "+`{instance="HOST:PORT"}`)
	}
	return false
}

// read returns the values of a series by time in ms; nil if they cannot be read.
func (b *builder) read(file, subject string, points [][2]json.RawMessage) map[int64]float64 {
	values := make(map[int64]float64, len(points))
	if b.values += len(points); b.values > mostCells {
		b.reject(file, subject, fmt.Sprintf("the files have more than %d values", mostCells), "import a part of the time")
		return nil
	}
	last := int64(math.MinInt64)
	for _, p := range points {
		var moment float64
		var text string
		if json.Unmarshal(p[0], &moment) != nil || json.Unmarshal(p[1], &text) != nil || !(moment >= 0 &&
			moment < 253_402_300_799) {
			b.reject(file, subject, fmt.Sprintf("%.40s at %.40s is no value of a time", p[1], p[0]), "export it again")
			return nil
		}
		ms := int64(math.Round(moment * 1000))
		if ms <= last {
			b.backward++
			continue
		}
		last = ms
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0) || math.IsInf(v, 0) {
			b.noAmount++
			continue
		}
		values[ms] = v
	}
	return values
}

// take adds a series to the cell that it belongs to.
func (b *builder) take(name string, labels map[string]string, values map[int64]float64) {
	add := func(t recording.Thing, s source) {
		for moment, v := range values {
			values[moment] = v * s.factor
		}
		c := cell{b.thing(t), s.metric}
		b.counters[c] = append(b.counters[c], values)
	}
	latest := 0.0
	for _, v := range values {
		latest = max(latest, v)
	}
	host := recording.Thing{Kind: recording.OfHost}
	switch {
	case name == "node_memory_MemTotal_bytes", name == "machine_memory_bytes":
		b.header.Host.MemoryBytes = latest
	case name == "machine_cpu_cores":
		b.header.Host.CPUs = latest
	case name == "node_cpu_seconds_total":
		b.takeCPU(labels, func(m recording.Metric) { add(host, source{m, 1e6}) })
	case ofHost[name].metric != "":
		add(host, ofHost[name])
	case ofDrive[name].metric != "" && labels["device"] != "":
		add(recording.Thing{Kind: recording.OfDrive, Name: labels["device"]}, ofDrive[name])
	case ofContainer[name].metric != "", ofUse[name].metric != "":
		t, ok := containerOf(labels)
		t.Copy = b.runOf(t.Name, labels["pod"]+"\x00"+labels["id"], values)
		drive := path.Base(labels["device"])
		switch {
		case !ok:
			b.ignored[name]++
		case ofUse[name].metric != "" && labels["device"] == "":
			b.ignored[name]++
		case ofUse[name].metric != "":
			t.Kind, t.Drive = recording.OfUse, drive
			add(t, ofUse[name])
		default:
			add(t, ofContainer[name])
		}
	default:
		b.ignored[name]++
	}
}

// takeCPU adds the time of a processor in a mode, except idle time, and time of guests, which user has.
func (b *builder) takeCPU(labels map[string]string, add func(recording.Metric)) {
	switch labels["mode"] {
	case "idle": // each processor has one
		b.header.Host.CPUs++
	case "iowait", "guest", "guest_nice":
	case "steal":
		add(recording.Steal)
	default:
		add(recording.CPU)
	}
}

// run is one container of a service, from its first value to its last.
type run struct {
	id          string
	first, last int64
}

// runOf returns the number of the run of a service that a series is of, from 1.
func (b *builder) runOf(service, id string, values map[int64]float64) int {
	runs := b.runs[service]
	number := slices.IndexFunc(runs, func(r *run) bool { return r.id == id })
	if number < 0 {
		number = len(runs)
		b.runs[service] = append(runs, &run{id: id, first: math.MaxInt64, last: math.MinInt64})
	}
	r := b.runs[service][number]
	for moment := range values {
		r.first, r.last = min(r.first, moment), max(r.last, moment)
	}
	return number + 1
}

// numberCopies gives each run the number of a copy: the least that no other has at the same time.
func (b *builder) numberCopies() {
	copies := map[string][]int{}
	for service, runs := range b.runs {
		order := make([]int, len(runs))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(runs[x].first, runs[y].first) })
		var ends []int64 // by copy
		copies[service] = make([]int, len(runs))
		for _, i := range order {
			number := slices.IndexFunc(ends, func(end int64) bool { return end < runs[i].first })
			if number < 0 {
				number = len(ends)
				ends = append(ends, 0)
			}
			ends[number] = runs[i].last
			copies[service][i] = number + 1
		}
	}
	numbered := map[cell][]map[int64]float64{}
	for c, seriesList := range b.counters {
		if c.key.Copy > 0 {
			t := b.things[c.key]
			t.Copy = copies[c.key.Name][c.key.Copy-1]
			c.key = b.thing(t)
		}
		numbered[c] = append(numbered[c], seriesList...)
	}
	b.counters = numbered
}

// containerOf returns the container that labels of cAdvisor name. ok is false for sums over a pod, and other groups.
func containerOf(labels map[string]string) (t recording.Thing, ok bool) {
	t = recording.Thing{Kind: recording.OfContainer, Copy: 1}
	switch {
	case labels["pod"] != "":
		if labels["container"] == "" || labels["container"] == "POD" {
			return t, false
		}
		t.Name = labels["namespace"] + "/" + recording.WorkloadOf(labels["pod"]) + "/" + labels["container"]
		t.Manager = "kubernetes"
	case labels["container_label_com_docker_compose_project"] != "":
		t.Name = labels["container_label_com_docker_compose_project"] + "/" +
			labels["container_label_com_docker_compose_service"]
		t.Manager = "compose"
	case labels["name"] != "":
		t.Name, t.Manager = labels["name"], "docker"
	case strings.HasSuffix(labels["id"], ".service"):
		t.Name, t.Manager = path.Base(labels["id"]), "systemd"
	default:
		return t, false
	}
	return t, true
}
