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

	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// Row is one instance of a trial with what is needed to read it by itself; a
// trial that was not run is one row.
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
	Mix            string             `json:"mix"`
	Instance       int                `json:"instance"` // from 0, in its trial
	Tenant         string             `json:"tenant,omitempty"`
	Workload       string             `json:"workload"`
	Limited        *result.Limited    `json:"limited,omitempty"` // nil for an instance without limits
	Usage          *result.Usage      `json:"usage,omitempty"`
	Levels         map[string]string  `json:"levels,omitempty"` // of the factors of stack and workload
	Status         result.TrialStatus `json:"status"`
	Reason         string             `json:"reason,omitempty"` // why failed or skipped
	Started        time.Time          `json:"started,omitzero"`
	ElapsedSeconds float64            `json:"elapsed_seconds,omitempty"`
	Measured       *totals            `json:"measured,omitempty"` // nil when there was nothing to measure
	Honesty        *result.Honesty    `json:"honesty,omitempty"`

	Stop *result.Stop `json:"stop,omitempty"` // nil for a trial of a fixed time
	// that the measurement leaves out at the beginning, beside the ramp
	WarmupSeconds   float64                 `json:"warmup_seconds,omitempty"`
	Preconditioning *result.Preconditioning `json:"preconditioning,omitempty"`
	Neighbours      *result.Neighbours      `json:"neighbours,omitempty"`
	Trace           *trace                  `json:"trace,omitempty"`    // nil for a trial that was not traced
	Untraced        string                  `json:"untraced,omitempty"` // why a planned trace failed
}

// totals adds the sums over all operations to a measurement, so that readers need not compute them.
type totals struct {
	Rate           float64 `json:"rate"`
	BytesPerSecond float64 `json:"bytes_per_second"`
	measurement
}

// Rows returns the rows of a run, in the order in which the trials were planned.
func Rows(run *result.Run) []Row {
	stacks := map[string]result.Stack{}
	for _, s := range run.Stacks {
		stacks[s.Name] = s
	}
	workloads := map[string]result.Workload{}
	for _, w := range run.Workloads {
		workloads[w.Name] = w
	}
	var rows []Row
	for _, t := range run.Trials {
		s := stacks[t.Stack]
		row := Row{
			Run: run.ID, Experiment: run.Experiment.Name, Host: run.Environment.Hostname,
			Seq: t.Seq, Block: t.Block, Repeat: t.Repeat, BringUp: t.BringUp, Region: t.Region,
			Stack: t.Stack, Control: s.Control, Line: s.Line, Marks: append([]result.Mark{}, s.Marks...), Mix: t.Mix,
			Workload: t.Mix,
			Status:   t.Status, Started: t.Started, ElapsedSeconds: t.ElapsedSeconds,
			Honesty: t.Honesty(), Stop: t.Stop, Preconditioning: t.Preconditioning,
			Neighbours: t.Neighbours, Trace: newTrace(t.Trace), Untraced: t.Untraced,
		}
		if t.Rates != nil {
			row.WarmupSeconds = float64(t.Rates.Warmup) * t.Rates.IntervalSeconds
		}
		if levels := [...]map[string]string{s.Levels, workloads[t.Mix].Levels}; len(levels[0])+len(levels[1]) > 0 {
			row.Levels = map[string]string{}
			maps.Copy(row.Levels, levels[0])
			maps.Copy(row.Levels, levels[1])
		}
		if t.Problem != nil {
			row.Reason = t.Problem.Text()
		}
		if len(t.Instances) == 0 {
			rows = append(rows, row)
		}
		for _, in := range t.Instances {
			one := row.withInstance(in)
			if on, known := stacks[in.Stack]; known {
				one.Stack, one.Line, one.Marks = on.Name, on.Line, append([]result.Mark{}, on.Marks...)
			}
			rows = append(rows, one)
		}
	}
	return rows
}

// withInstance returns a copy of r with the columns of one instance.
func (r Row) withInstance(in result.Instance) Row {
	r.Instance, r.Tenant, r.Limited, r.Usage = in.Index, in.Tenant, in.Limited, in.Usage
	if in.Workload != "" {
		r.Workload = in.Workload
	}
	if in.Problem != nil {
		r.Status, r.Reason = in.Status, in.Problem.Text()
	}
	if m := newMeasurement(in.Measurement); m != nil {
		r.Measured = &totals{in.Measurement.IOPS(), in.Measurement.BytesPerSecond(), *m}
	}
	return r
}

// NDJSON writes one JSON object per line, for each instance of a trial.
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

// CSV writes a heading and one record for each instance of a trial. What was not
// measured is an empty field, never 0. There is a group of columns for each
// operation that a workload did, as many groups of device columns as the
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
			for _, o := range r.Measured.Operations {
				if !slices.Contains(c.operations, o.Name) {
					c.operations = append(c.operations, o.Name)
				}
				for _, l := range o.Latency {
					c.printed = c.printed || len(l.Printed) > 0
				}
			}
		}
	}
	slices.Sort(c.factors)
	slices.Sort(c.operations)
	out := csv.NewWriter(w)
	if err := out.Write(printable.Cells(record(Row{}, c).names...)); err != nil {
		return err
	}
	for _, r := range rows {
		if err := out.Write(printable.Cells(record(r, c).values...)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// columns are the groups of columns that depend on the run.
type columns struct {
	factors    []string
	operations []string // that some workload did
	devices    int      // groups of device columns
	printed    bool     // percentiles that fio printed

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
	f.add("bring_up", valueIf(r.BringUp > 0, r.BringUp))
	f.add("region", valueIf(r.Region > 0, r.Region))
	f.add("stack", r.Stack)
	f.add("control", r.Control)
	f.add("line", r.Line)
	f.add("marks", joinMarks(r.Marks))
	f.add("mix", r.Mix)
	f.add("instance", r.Instance)
	f.add("tenant", r.Tenant)
	f.add("workload", r.Workload)
	for _, factor := range c.factors {
		f.add("level_"+factor, r.Levels[factor])
	}
	f.add("status", r.Status)
	f.add("reason", r.Reason)
	f.add("started", valueIf(!r.Started.IsZero(), r.Started.Format(time.RFC3339Nano)))
	f.add("elapsed_seconds", valueIf(!r.Started.IsZero(), r.ElapsedSeconds))
	m, ok := totals{}, r.Measured != nil
	if ok {
		m = *r.Measured
	}
	f.add("seconds", valueAt(m.Seconds))
	f.add("rate", valueIf(ok, m.Rate))
	f.add("bytes_per_second", valueIf(ok && (m.BytesPerSecond > 0 || m.Rate == 0), m.BytesPerSecond))
	f.add("user_cpu_cores", valueAt(m.UserCPU))
	f.add("system_cpu_cores", valueAt(m.SystemCPU))
	for _, name := range c.operations {
		f.addOperation(name, m, c.printed)
	}
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
	f.add("stop_reason", valueIf(ok, s.Reason))
	f.add("stop_why", s.Why)
	f.add("stop_mean_iops", valueIf(interval, s.MeanIOPS))
	f.add("stop_low_iops", valueIf(interval, s.LowIOPS))
	f.add("stop_high_iops", valueIf(interval, s.HighIOPS))
	f.add("warmup_seconds", valueIf(ok, r.WarmupSeconds))
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
	f.add("preconditioning_bytes", valueIf(done.Passes > 0, done.Bytes))
	f.add("preconditioning_passes", valueIf(done.Passes > 0, done.Passes))
	f.add("preconditioning_rounds", valueIf(done.Rounds != nil, len(rounds.IOPS)))
	f.add("preconditioning_settled", valueIf(done.Rounds != nil, rounds.Settled))
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
	cpuShare, steal := cpu.OthersShare()
	f.add("others_io_share", valueIf(len(neighbours.Disks) > 0, ios))
	f.add("others_byte_share", valueIf(len(neighbours.Disks) > 0, bytes))
	f.add("others_cpu_share", valueIf(neighbours.CPU != nil, cpuShare))
	f.add("steal_share", valueIf(neighbours.CPU != nil, steal))
	f.add("other_runs", strings.Join(neighbours.Runs, "; "))
}

// partNames lists every part that a trace may have, in the order in which a request passes them.
var partNames = []result.PartName{result.PartUser, result.PartKernel, result.PartBlock, result.PartDriver,
	result.PartFabric, result.PartTarget, result.PartDevice}

func (f *fields) addTrace(r Row) {
	t, ok := trace{}, r.Trace != nil
	if ok {
		t = *r.Trace
	}
	f.add("trace_recorder", t.Recorder)
	f.add("trace_lost", valueIf(ok, t.Lost))
	f.add("untraced", r.Untraced)
	for _, d := range []struct {
		direction string
		breakdown *breakdown
	}{{"read", t.Read}, {"write", t.Write}} {
		b, ok := breakdown{}, d.breakdown != nil
		if ok {
			b = *d.breakdown
		}
		for _, part := range partNames {
			var mean any
			for _, p := range b.Parts {
				if p.Name == part {
					mean = p.MeanNS
				}
			}
			f.add("trace_"+d.direction+"_"+string(part)+"_ns", mean)
		}
		f.add("trace_"+d.direction+"_residue_ns", valueIf(ok, b.ResidueNS))
		f.add("trace_"+d.direction+"_requests_per_io", valueIf(ok, b.PerIO))
		f.add("trace_"+d.direction+"_bytes_per_io", valueIf(ok, b.BytesPerIO))
	}
}

// addOperation adds the columns of the operation of that name, which the row's
// workload may not have done.
func (f *fields) addOperation(operationName string, m totals, printed bool) {
	var o operation
	i := slices.IndexFunc(m.Operations, func(o operation) bool { return o.Name == operationName })
	ok := i >= 0
	if ok {
		o = m.Operations[i]
	}
	moved := ok && (o.Bytes > 0 || o.Rate == 0)
	f.add(operationName+"_count", valueAt(o.Count))
	f.add(operationName+"_errors", valueIf(ok && !m.RateOnly, o.Operation.Errors))
	f.add(operationName+"_bytes", valueIf(moved, o.Bytes))
	f.add(operationName+"_rate", valueIf(ok, o.Rate))
	f.add(operationName+"_bytes_per_second", valueIf(moved, o.BytesPerSecond))
	for _, stage := range result.Stages {
		l, known := o.Latency[stage]
		operationStage := operationName + "_" + string(stage)
		f.add(operationStage+"_mean_ns", valueIf(known, l.MeanNS))
		f.add(operationStage+"_min_ns", valueAt(l.MinNS))
		f.add(operationStage+"_max_ns", valueAt(l.MaxNS))
		p := Percentiles{}
		if l.Percentiles != nil {
			p = *l.Percentiles
		}
		f.add(operationStage+"_p50_ns", valueAt(p.P50))
		f.add(operationStage+"_p90_ns", valueAt(p.P90))
		f.add(operationStage+"_p95_ns", valueAt(p.P95))
		f.add(operationStage+"_p99_ns", valueAt(p.P99))
		f.add(operationStage+"_p99_9_ns", valueAt(p.P999))
		f.add(operationStage+"_p99_99_ns", valueAt(p.P9999))
		if printed {
			f.add(operationStage+"_printed_ns", valueIf(len(l.Printed) > 0, printedText(l.Printed)))
		}
	}
}

func (f *fields) addHonesty(h *result.Honesty, devices int) {
	honesty, ok := result.Honesty{}, h != nil
	if ok {
		honesty = *h
	}
	f.add("source", valueIf(ok, honesty.Source))
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
		deviceN := fmt.Sprintf("device%d", i+1)
		f.add(deviceN+"_name", c.Device.Name)
		f.add(deviceN+"_role", c.Device.Role)
		f.add(deviceN+"_reads", valueIf(ok, c.Reads))
		f.add(deviceN+"_writes", valueIf(ok, c.Writes))
		f.add(deviceN+"_read_bytes", valueIf(ok, c.ReadBytes))
		f.add(deviceN+"_write_bytes", valueIf(ok, c.WriteBytes))
		f.add(deviceN+"_ios_per_fio_io", valueIf(ok, c.PerIO))
	}
}

// valueIf returns value if known, and otherwise nil, which is written as an empty field.
func valueIf(known bool, value any) any {
	if !known {
		return nil
	}
	return value
}

// valueAt returns what is pointed to, and nil, which is written as an empty field, for nil.
func valueAt[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
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
