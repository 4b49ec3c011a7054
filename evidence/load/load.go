// Package load shows how well the load generator keeps the schedule of an open loop: it runs it on one CPU, at
// several rates, against a server on the others that answers at once, and prints by how much operations began late
// (the lag) and what the generator spent.
package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/loadgen"
	"plimsoll/internal/workload/ycsb"
)

// Run prints the table, or is a process of it.
func Run(args []string) error {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	role := flags.String("role", "", "serve or generate; for the processes that this one starts")
	rate := flags.Float64("rate", 0, "operations per second; 0 for a table of rates")
	constant := flags.Bool("constant", false, "operations begin at equal distances")
	dir := flags.String("dir", ".", "of the server's socket; for the processes that this one starts")
	seconds := flags.Duration("time", 10*time.Second, "of each measurement")
	_ = flags.Parse(args) // it exits
	if *role != "" {
		err := os.Chdir(*dir)
		if err != nil {
			return err
		}
	}
	switch *role {
	case "serve":
		return serve("db.sock")
	case "generate":
		return generate(*rate, *constant, *seconds)
	}
	return table(*rate, *seconds)
}

// The records of the server, which has none: 1 KB each.
var dataset = database.Dataset{Records: 1_000_000, Fields: 10, FieldBytes: 100}

// table runs the generator at each rate.
func table(rate float64, seconds time.Duration) error {
	dir, err := os.MkdirTemp("", "plimsoll-bench-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rates := []float64{1000, 5000, 20000, 40000}
	if rate > 0 {
		rates = []float64{rate}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cpus, err := affinity()
	if err != nil {
		return err
	}
	last := cpus[len(cpus)-1]
	serverCPUs := cpus[:max(1, len(cpus)-1)]
	server, err := start(serverCPUs, self, dir, "-role=serve")
	if err != nil {
		return err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	fmt.Fprintf(os.Stdout, "generator on CPU %d, server on %v; %s each, 64 connections\n\n", last, serverCPUs, seconds)
	fmt.Fprintln(os.Stdout, "| arrivals | asked/s | done/s | lag p50 | p99 | p99.9 | max | latency p50 | p99 | CPU |")
	fmt.Fprintln(os.Stdout, "|---|---|---|---|---|---|---|---|---|---|")
	for _, rate := range rates {
		for _, constant := range []bool{true, false} {
			c, err := start([]int{last}, self, dir, "-role=generate", fmt.Sprintf("-rate=%v", rate),
				fmt.Sprintf("-constant=%v", constant), "-time="+seconds.String())
			if err == nil {
				err = c.Wait()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts this program on some CPUs, to work in a directory.
func start(cpus []int, self, dir string, args ...string) (*exec.Cmd, error) {
	before, err := affinity()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{"load", "-dir=" + dir}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// A child has the CPUs of the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = errors.Join(restrict(cpus), cmd.Start())
	return cmd, errors.Join(err, restrict(before))
}

func restrict(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(0, &set)
}

// affinity returns the CPUs that this process may use.
func affinity() (cpus []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// generate runs the generator at a rate, and prints its row of the table.
func generate(rate float64, constant bool, seconds time.Duration) error {
	p := &ycsb.Plan{
		Client: "bench", At: database.Address{Socket: "db.sock"}, Output: "out", Dataset: dataset,
		Mix:          ycsb.Mix{ycsb.Read: 1},
		Distribution: ycsb.Zipfian, Threads: 64, Rate: rate, Constant: constant, Timeout: 5 * time.Second, Seed: 1,
		Ramp: time.Second, Runtime: seconds, Sample: 250 * time.Millisecond, Patience: 10 * time.Second,
	}
	ctx := context.Background()
	if _, err := loadgen.Wait(ctx, p, dial); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := loadgen.Run(ctx, p, loadgen.Options{Dial: dial, Output: &out}); err != nil {
		return err
	}
	var sum ycsb.Line
	for text := range strings.Lines(out.String()) {
		l, err := ycsb.ReadLine([]byte(text))
		if err != nil {
			return err
		}
		if !l.Ramp {
			sum.Add(&l)
		}
	}
	if len(sum.Operations) != 1 || sum.Operations[0].Errors > 0 {
		return fmt.Errorf("the server failed: %s", sum.End.Error)
	}
	read := sum.Operations[0]
	arrivals := "Poisson"
	if constant {
		arrivals = "constant"
	}
	fmt.Fprintf(os.Stdout, "| %s | %v | %.0f | %s | %s | %s | %s | %s | %s | %s |\n", arrivals, rate,
		float64(read.Count)/sum.Seconds, percentile(sum.Lag, 50), percentile(sum.Lag, 99), percentile(sum.Lag, 99.9),
		percentile(sum.Lag, 100),
		percentile(read.Total, 50), percentile(read.Total, 99),
		units.Percent((sum.UserSeconds+sum.SystemSeconds)/sum.Seconds))
	return nil
}

// percentile prints a percentile.
func percentile(l ycsb.Latencies, percent float64) string {
	bins := make([]hist.Bin, len(l.Bins))
	for i, b := range l.Bins {
		bins[i] = hist.Bin{NS: b[0], Count: b[1]}
	}
	ns, _ := hist.Percentile(hist.Pack(bins), percent)
	return units.Latency(float64(ns))
}

// The protocol: a request has the length of its key and the key; an answer is a
// record.

func serve(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go answer(c)
	}
}

func answer(c net.Conn) {
	defer c.Close()
	record := database.Value(nil, dataset, 0)
	request := make([]byte, 1<<10)
	for {
		_, err := io.ReadFull(c, request[:4+database.KeyBytes])
		if err != nil || binary.LittleEndian.Uint32(request) != uint32(database.KeyBytes) {
			return
		}
		if _, err := c.Write(record); err != nil {
			return
		}
	}
}

// connection is a client of the server.
type connection struct {
	net  net.Conn
	room [1 << 10]byte
}

func dial(ctx context.Context, _ string, c client.Config) (client.Client, error) {
	var d net.Dialer
	n, err := d.DialContext(ctx, "unix", c.At.Socket)
	if err != nil {
		return nil, err
	}
	return &connection{net: n}, nil
}

func (c *connection) Read(ctx context.Context, key []byte, _ int) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	if err := c.net.SetDeadline(deadline); err != nil {
		return nil, err
	}
	request := binary.LittleEndian.AppendUint32(c.room[:0], uint32(len(key)))
	if _, err := c.net.Write(append(request, key...)); err != nil {
		return nil, err
	}
	record := c.room[:dataset.RecordBytes()]
	_, err := io.ReadFull(c.net, record)
	return record, err
}

var errReadOnly = errors.New("this server only reads")

// Scan is refused.
func (c *connection) Scan(context.Context, []byte, int, int) (int, error) { return 0, errReadOnly }

// Update is refused.
func (c *connection) Update(context.Context, []byte, int, []byte) error { return errReadOnly }

// Insert is refused.
func (c *connection) Insert(context.Context, []byte, []byte) error { return errReadOnly }

// Close ends the connection.
func (c *connection) Close() error { return c.net.Close() }
