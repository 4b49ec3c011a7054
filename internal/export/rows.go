package export

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/hist"
	"plimsoll/internal/result"
)

// Row is one trial with what is needed to read it by itself.
type Row struct {
	Run            string             `json:"run"`
	Experiment     string             `json:"experiment"`
	Host           string             `json:"host"`
	Seq            int                `json:"seq"`
	Block          int                `json:"block"`
	Repeat         int                `json:"repeat"`
	BringUp        int                `json:"bring_up,omitempty"` // of the stack; 0 when not known
	Region         int                `json:"region,omitempty"`   // of the disk; 0 for none of the run's making
	Stack          string             `json:"stack"`
	Control        string             `json:"control,omitempty"` // the stack that this one is an unnamed twin of
	Line           string             `json:"line"`
	Marks          []result.Mark      `json:"marks"`
	Workload       string             `json:"workload"`
	Levels         map[string]string  `json:"levels,omitempty"` // of the factors of stack and workload
	Status         result.TrialStatus `json:"status"`
	Reason         string             `json:"reason,omitempty"` // why failed or skipped
	Started        time.Time          `json:"started,omitzero"`
	ElapsedSeconds float64            `json:"elapsed_seconds,omitempty"`
	Measured       *measured          `json:"measured,omitempty"` // nil when there was nothing to measure
	Honesty        *result.Honesty    `json:"honesty,omitempty"`

	Stop            *result.Stop            `json:"stop,omitempty"`           // nil for a trial of a fixed time
	WarmupSeconds   float64                 `json:"warmup_seconds,omitempty"` // that the measurement leaves out at the beginning, beside the ramp
	Preconditioning *result.Preconditioning `json:"preconditioning,omitempty"`
	Neighbours      *result.Neighbours      `json:"neighbours,omitempty"`
	Trace           *trace                  `json:"trace,omitempty"`    // nil for a trial that was not traced
	Untraced        string                  `json:"untraced,omitempty"` // why it was not although it was to be
}

// measured is a measurement with the sums of both directions, which readers
// would otherwise have to make.
type measured struct {
	IOPS           float64 `json:"iops"`
	BytesPerSecond float64 `json:"bytes_per_second"`
	measurement
}

// Rows makes the rows of a run, in the order in which the trials were planned.
func Rows(run *result.Run) []Row {
	stacks := map[string]result.Stack{}
	for _, s := range run.Stacks {
		stacks[s.Name] = s
	}
	rows := make([]Row, len(run.Trials))
	workloads := map[string]result.Workload{}
	for _, w := range run.Workloads {
		workloads[w.Name] = w
	}
	for i, t := range run.Trials {
		s := stacks[t.Stack]
		rows[i] = Row{
			Run: run.ID, Experiment: run.Experiment.Name, Host: run.Environment.Hostname,
			Seq: t.Seq, Block: t.Block, Repeat: t.Repeat, BringUp: t.BringUp, Region: t.Region,
			Stack: t.Stack, Control: s.Control, Line: s.Line, Marks: append([]result.Mark{}, s.Marks...), Workload: t.Workload,
			Status: t.Status, Started: t.Started, ElapsedSeconds: t.ElapsedSeconds,
			Honesty: t.Honesty, Stop: t.Stop, Preconditioning: t.Preconditioning,
			Neighbours: t.Neighbours, Trace: newTrace(t.Trace), Untraced: t.Untraced,
		}
		if t.Series != nil {
			rows[i].WarmupSeconds = float64(t.Series.Warmup) * t.Series.IntervalSeconds
		}
		if levels := [...]map[string]string{s.Levels, workloads[t.Workload].Levels}; len(levels[0])+len(levels[1]) > 0 {
			rows[i].Levels = map[string]string{}
			maps.Copy(rows[i].Levels, levels[0])
			maps.Copy(rows[i].Levels, levels[1])
		}
		if t.Problem != nil {
			rows[i].Reason = t.Problem.What + ": " + t.Problem.Why
		}
		if t.Measurement != nil {
			rows[i].Measured = &measured{t.Measurement.IOPS(), t.Measurement.BytesPerSecond(), *newMeasurement(t.Measurement)}
		}
	}
	return rows
}

// NDJSON writes one JSON object per trial and line.
func NDJSON(w io.Writer, run *result.Run) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, row := range Rows(run) {
		if err := e.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

// CSV writes a heading and one record per trial. What was not measured is an
// empty field, never 0. There are as many groups of device columns as the
// deepest stack has devices, a column for the level of each factor, and
// columns of printed percentiles, of why trials ended when they did, and of
// preconditioning, neighbours and traces where a trial has some.
func CSV(w io.Writer, run *result.Run) error {
	rows := Rows(run)
	var c columns
	for _, r := range rows {
		for factor := range r.Levels {
			if !slices.Contains(c.factors, factor) {
				c.factors = append(c.factors, factor)
			}
		}
		c.traced = c.traced || r.Trace != nil || r.Untraced != ""
		c.stops, c.preconditioned = c.stops || r.Stop != nil, c.preconditioned || r.Preconditioning != nil
		c.neighbours = c.neighbours || r.Neighbours != nil
		if r.Honesty != nil {
			c.devices = max(c.devices, len(r.Honesty.Served))
		}
		if r.Measured != nil {
			for _, d := range []direction{r.Measured.Read, r.Measured.Write} {
				c.printed = c.printed || len(d.Submission.Printed)+len(d.Completion.Printed)+len(d.Total.Printed) > 0
			}
		}
	}
	slices.Sort(c.factors)
	out := csv.NewWriter(w)
	if err := out.Write(record(Row{}, c).names); err != nil {
		return err
	}
	for _, r := range rows {
		if err := out.Write(record(r, c).values); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// columns are those that depend on the run.
type columns struct {
	factors []string
	devices int  // groups of device columns
	printed bool // percentiles that fio printed

	stops, preconditioned, neighbours, traced bool
}

// fields is a record in the making: names and values side by side, so that
// a column has its name where it has its value.
type fields struct{ names, values []string }

func (f *fields) add(name string, value any) {
	s := ""
	switch v := value.(type) {
	case nil:
	case float64:
		s = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		s = fmt.Sprint(v)
	}
	f.names = append(f.names, name)
	f.values = append(f.values, s)
}

// record flattens a row.
func record(r Row, c columns) *fields {
	f := &fields{}
	f.add("run", r.Run)
	f.add("experiment", r.Experiment)
	f.add("host", r.Host)
	f.add("seq", r.Seq)
	f.add("block", r.Block)
	f.add("repeat", r.Repeat)
	f.add("bring_up", when(r.BringUp > 0, r.BringUp))
	f.add("region", when(r.Region > 0, r.Region))
	f.add("stack", r.Stack)
	f.add("control", r.Control)
	f.add("line", r.Line)
	f.add("marks", joinMarks(r.Marks))
	f.add("workload", r.Workload)
	for _, factor := range c.factors {
		f.add("level_"+factor, r.Levels[factor])
	}
	f.add("status", r.Status)
	f.add("reason", r.Reason)
	f.add("started", when(!r.Started.IsZero(), r.Started.Format(time.RFC3339Nano)))
	f.add("elapsed_seconds", when(!r.Started.IsZero(), r.ElapsedSeconds))
	m, ok := measured{}, r.Measured != nil
	if ok {
		m = *r.Measured
	}
	f.add("runtime_seconds", when(ok, m.RuntimeSeconds))
	f.add("iops", when(ok, m.IOPS))
	f.add("bytes_per_second", when(ok, m.BytesPerSecond))
	f.add("user_cpu_cores", when(ok, m.UserCPU))
	f.add("system_cpu_cores", when(ok, m.SystemCPU))
	f.addDirection("read", ok, m.Read, c.printed)
	f.addDirection("write", ok, m.Write, c.printed)
	f.addHonesty(r.Honesty, c.devices)
	if c.stops {
		f.addStop(r)
	}
	if c.preconditioned {
		f.addPreconditioning(r.Preconditioning)
	}
	if c.neighbours {
		f.addNeighbours(r.Neighbours)
	}
	if c.traced {
		f.addTrace(r)
	}
	return f
}

func (f *fields) addStop(r Row) {
	s, ok := result.Stop{}, r.Stop != nil
	if ok {
		s = *r.Stop
	}
	interval := s.HighIOPS > 0
	f.add("stop_reason", when(ok, s.Reason))
	f.add("stop_why", s.Why)
	f.add("stop_mean_iops", when(interval, s.MeanIOPS))
	f.add("stop_low_iops", when(interval, s.LowIOPS))
	f.add("stop_high_iops", when(interval, s.HighIOPS))
	f.add("warmup_seconds", when(ok, r.WarmupSeconds))
}

func (f *fields) addPreconditioning(p *result.Preconditioning) {
	done, rounds := result.Preconditioning{}, result.Rounds{}
	if p != nil {
		done = *p
	}
	if done.Rounds != nil {
		rounds = *done.Rounds
	}
	f.add("preconditioning_kind", done.Kind)
	f.add("preconditioning_bytes", when(done.Passes > 0, done.Bytes))
	f.add("preconditioning_passes", when(done.Passes > 0, done.Passes))
	f.add("preconditioning_rounds", when(done.Rounds != nil, len(rounds.IOPS)))
	f.add("preconditioning_settled", when(done.Rounds != nil, rounds.Settled))
}

func (f *fields) addNeighbours(n *result.Neighbours) {
	neighbours, cpu := result.Neighbours{}, result.CPUShare{}
	if n != nil {
		neighbours = *n
	}
	if neighbours.CPU != nil {
		cpu = *neighbours.CPU
	}
	var ios, bytes float64
	for _, d := range neighbours.Disks {
		i, b := d.OthersShare()
		ios, bytes = max(ios, i), max(bytes, b)
	}
	others, steal := cpu.OthersShare()
	f.add("others_io_share", when(len(neighbours.Disks) > 0, ios))
	f.add("others_byte_share", when(len(neighbours.Disks) > 0, bytes))
	f.add("others_cpu_share", when(neighbours.CPU != nil, others))
	f.add("steal_share", when(neighbours.CPU != nil, steal))
	f.add("other_runs", strings.Join(neighbours.Runs, "; "))
}

// partNames are those of all parts that a trace may have, in their order.
var partNames = []result.PartName{result.PartUser, result.PartKernel, result.PartBlock, result.PartDriver, result.PartFabric, result.PartTarget, result.PartDevice}

func (f *fields) addTrace(r Row) {
	t, ok := trace{}, r.Trace != nil
	if ok {
		t = *r.Trace
	}
	f.add("trace_recorder", t.Recorder)
	f.add("trace_lost", when(ok, t.Lost))
	f.add("untraced", r.Untraced)
	for _, d := range []struct {
		prefix string
		of     *breakdown
	}{{"trace_read_", t.Read}, {"trace_write_", t.Write}} {
		b, ok := breakdown{}, d.of != nil
		if ok {
			b = *d.of
		}
		for _, name := range partNames {
			i := slices.IndexFunc(b.Parts, func(p part) bool { return p.Name == name })
			if i < 0 {
				f.add(d.prefix+string(name)+"_ns", nil)
			} else {
				f.add(d.prefix+string(name)+"_ns", b.Parts[i].MeanNS)
			}
		}
		f.add(d.prefix+"residue_ns", when(ok, b.ResidueNS))
		f.add(d.prefix+"requests_per_io", when(ok, b.PerIO))
		f.add(d.prefix+"bytes_per_io", when(ok, b.BytesPerIO))
	}
}

func (f *fields) addDirection(prefix string, ok bool, d direction, printed bool) {
	f.add(prefix+"_ios", when(ok, d.IOs))
	f.add(prefix+"_bytes", when(ok, d.Bytes))
	f.add(prefix+"_iops", when(ok, d.IOPS))
	f.add(prefix+"_bytes_per_second", when(ok, d.BytesPerSecond))
	for _, l := range []struct {
		name string
		of   latency
	}{{"submission", d.Submission}, {"completion", d.Completion}, {"total", d.Total}} {
		name, some := prefix+"_"+l.name, l.of.Count > 0 || l.of.MaxNS > 0
		f.add(name+"_mean_ns", when(some, l.of.MeanNS))
		f.add(name+"_min_ns", when(some, l.of.MinNS))
		f.add(name+"_max_ns", when(some, l.of.MaxNS))
		p, known := Percentiles{}, l.of.Percentiles != nil
		if known {
			p = *l.of.Percentiles
		}
		f.add(name+"_p50_ns", when(known, p.P50))
		f.add(name+"_p90_ns", when(known, p.P90))
		f.add(name+"_p95_ns", when(known, p.P95))
		f.add(name+"_p99_ns", when(known, p.P99))
		f.add(name+"_p99_9_ns", when(known, p.P999))
		f.add(name+"_p99_99_ns", when(known, p.P9999))
		if printed {
			f.add(name+"_printed_ns", when(len(l.of.Printed) > 0, printedText(l.of.Printed)))
		}
	}
}

func (f *fields) addHonesty(h *result.Honesty, devices int) {
	honesty, ok := result.Honesty{}, h != nil
	if ok {
		honesty = *h
	}
	f.add("source", when(ok, honesty.Source))
	f.add("source_reason", honesty.Reason)
	if honesty.Ratio != nil {
		f.add("device_ios_per_fio_io", *honesty.Ratio)
	} else {
		f.add("device_ios_per_fio_io", nil)
	}
	for i := range devices {
		c, ok := result.DeviceCounter{}, i < len(honesty.Served)
		if ok {
			c = honesty.Served[i]
		}
		prefix := fmt.Sprintf("device%d_", i+1)
		f.add(prefix+"name", c.Device.Name)
		f.add(prefix+"role", c.Device.Role)
		f.add(prefix+"reads", when(ok, c.Reads))
		f.add(prefix+"writes", when(ok, c.Writes))
		f.add(prefix+"read_bytes", when(ok, c.ReadBytes))
		f.add(prefix+"write_bytes", when(ok, c.WriteBytes))
		f.add(prefix+"ios_per_fio_io", when(ok, c.PerIO))
	}
}

// when gives value if known, and nil, an empty field, otherwise.
func when(known bool, value any) any {
	if !known {
		return nil
	}
	return value
}

// printedText writes percentiles as "50=107008 99=3817472".
func printedText(quantiles []hist.Quantile) string {
	words := make([]string, len(quantiles))
	for i, q := range quantiles {
		words[i] = strconv.FormatFloat(q.Percent, 'f', -1, 64) + "=" + strconv.FormatUint(q.NS, 10)
	}
	return strings.Join(words, " ")
}

func joinMarks(marks []result.Mark) string {
	s := make([]string, len(marks))
	for i, m := range marks {
		s[i] = string(m)
	}
	return strings.Join(s, "; ")
}
