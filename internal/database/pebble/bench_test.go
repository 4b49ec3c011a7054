package pebble_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/database/pebble"
)

// asServer has this test binary serve a directory, so that what a server takes of a
// CPU can be told from what its clients take.
const asServer = "PLIMSOLL_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asServer); dir != "" {
		p := params()
		p.Cache = 1 << 30
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := pebble.Serve(ctx, pebble.Config{Dir: dir, Socket: filepath.Join(dir, "s"), Params: p, Log: os.Stderr})
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process starts a server of its own and returns how it is called and its process.
func process(b *testing.B, dir string) (r *running, pid int) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"="+dir)
	cmd.Stderr = b.Output()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			b.Errorf("the server ended with: %v", err)
		}
	})
	r = &running{config: pebble.Config{Socket: filepath.Join(dir, "s")}}
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("unix", r.config.Socket); err == nil {
			_ = conn.Close()
			return r, cmd.Process.Pid
		}
		if time.Since(begin) > time.Minute {
			b.Fatal("the server does not answer")
		}
	}
}

// BenchmarkServer is reads of random records, all of which are in the block cache,
// by so many connections that ask again at once; updates without and with waiting for
// the device; and scans of 50 records.
func BenchmarkServer(b *testing.B) {
	d := database.Dataset{Records: 20000, Fields: 10, FieldBytes: 100, Seed: 1}
	r, pid := process(b, load(b, d, params()))
	warm := r.dial(b, d)
	for i := range d.Records {
		mustRead(b, warm, i, client.AllFields, value(d, i))
	}
	field := make([]byte, d.FieldBytes)
	for _, op := range []struct {
		name  string
		conns []int
		do    func(ctx context.Context, c client.Client, key []byte) error
	}{
		{"read", []int{1, 8, 64}, func(ctx context.Context, c client.Client, key []byte) error {
			_, err := c.Read(ctx, key, client.AllFields)
			return err
		}},
		{"scan", []int{8}, func(ctx context.Context, c client.Client, key []byte) error {
			_, err := c.Scan(ctx, key, 50, client.AllFields)
			return err
		}},
		{"update", []int{1, 8, 64}, func(ctx context.Context, c client.Client, key []byte) error {
			return c.Update(ctx, key, 3, field)
		}},
	} {
		for _, conns := range op.conns {
			b.Run(fmt.Sprintf("%s/conns=%d", op.name, conns), func(b *testing.B) {
				measure(b, r, pid, d, conns, op.do)
			})
		}
	}
}

func measure(b *testing.B, r *running, pid int, d database.Dataset, conns int,
	do func(context.Context, client.Client, []byte) error) {
	clients := make([]client.Client, conns)
	for i := range clients {
		clients[i] = r.dial(b, d)
	}
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var running sync.WaitGroup
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	server, ownBefore := cpuOf(b, pid), ownCPU(b)
	for i, c := range clients {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			var key []byte
			for {
				operation := next.Add(1) - 1
				if operation >= int64(b.N) {
					return
				}
				key = database.Key(key[:0], random.Int64N(d.Records))
				begin := time.Now()
				if err := do(ctx, c, key); err != nil {
					b.Error(err)
					return
				}
				took[operation] = time.Since(begin)
			}
		})
	}
	running.Wait()
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric((cpuOf(b, pid)-server).Seconds()*1e6/n, "server-µs/op")
	b.ReportMetric((ownCPU(b)-ownBefore).Seconds()*1e6/n, "client-µs/op")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// cpuOf is the CPU time of a process, in steps of 10 ms.
func cpuOf(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, behind, _ := strings.Cut(string(text), ") ")
	var ticks int64
	for _, f := range strings.Fields(behind)[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

func ownCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
