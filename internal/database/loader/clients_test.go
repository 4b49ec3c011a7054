package loader

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/stats"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload/ycsb"
)

// clientsVariable has the directory of the programs that make bench NAME=clients builds.
const clientsVariable = "PLIMSOLL_BENCH_CLIENTS"

// A comparison of clients: pairs of runs, which take turns at being first, each of so many seconds.
const (
	clientPairs   = 5
	clientSeconds = 5
	clientThreads = 8
)

// benched is the dataset of the comparison, and its keys are go-ycsb's with 19 digits.
var benched = database.Dataset{Records: 20000, Fields: 10, FieldBytes: 100, Seed: 7}

// did is a client's report of a run.
type did struct {
	count, rate, mean, p99 float64 // operations, and a second; seconds
	packets                float64 // of TCP, an operation: of client and server
	cpu                    float64 // seconds of processors that the client took for an operation
}

// compared is a database whose clients are compared.
type compared struct {
	name  string
	tcp   func(argv []string) []string                           // has a server answer on 127.0.0.1 too
	ready func(t testing.TB, of known, at database.Address)      // lets clients in
	dsn   func(socket string) string                             // of our own client; "" for address
	ycsb  func(socket string) (kind string, properties []string) // of go-ycsb
	tpcc  []string                                               // options of go-tpc; nil for none

	cpu time.Duration // that clients have taken
}

var comparedClients = []compared{
	{
		name: "postgresql",
		tcp:  func(argv []string) []string { return append(argv, "-c", "listen_addresses=127.0.0.1") },
		dsn: func(string) string {
			return "postgres://" + database.PostgresqlUser + "@127.0.0.1:5432/postgres?sslmode=disable"
		},
		ycsb: func(string) (string, []string) {
			return "pg", []string{"pg.user=" + database.PostgresqlUser, "pg.db=postgres"}
		},
		tpcc: []string{"-d", "postgres", "-P", "5432", "-U", database.PostgresqlUser, "--conn-params", "sslmode=disable"},
	},
	{
		name: "mysql",
		tcp: func(argv []string) []string {
			at := slices.Index(argv, "--skip-networking")
			return slices.Replace(slices.Clone(argv), at, at+1, "--bind-address=127.0.0.1")
		},
		ready: func(t testing.TB, kind known, server database.Address) {
			db := kind.open(server, "")
			defer db.Close()
			for _, text := range []string{"CREATE USER IF NOT EXISTS 'bench'@'127.0.0.1'",
				"GRANT ALL ON *.* TO 'bench'@'127.0.0.1'"} {
				if _, err := db.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
		},
		dsn: func(string) string { return "bench@tcp(127.0.0.1:3306)/" },
		ycsb: func(string) (string, []string) {
			return "mysql", []string{"mysql.user=bench", "mysql.db=" + database.MysqlDatabase}
		},
		tpcc: []string{"-d", "mysql", "-P", "3306", "-U", "bench"},
	},
	{
		name: "cassandra",
		ycsb: func(string) (string, []string) {
			return "cassandra", []string{"cassandra.keyspace=" + database.CassandraKeyspace, "cassandra.connections=4"}
		},
	},
	{
		name: "mongodb",
		dsn: func(socket string) string {
			return "mongodb://" + strings.ReplaceAll(socket, "/", "%2F") + "/?directConnection=true"
		},
		ycsb: func(socket string) (string, []string) {
			return "mongodb", []string{"mongodb.url=mongodb://" + strings.ReplaceAll(socket, "/", "%2F") + "/ycsb?w=1"}
		},
	},
}

// client is the name of ours.
func (c *compared) client() string {
	kinds := database.All()
	server, _ := kinds[slices.IndexFunc(kinds, func(k database.Kind) bool { return k.Name == c.name })].Decode(nil)
	return server.Client().Name
}

// BenchmarkClients has our clients and those of go-ycsb and go-tpc drive the same server with the same data by the
// same address, in pairs, and prints ratios. It is make bench NAME=clients.
func BenchmarkClients(b *testing.B) {
	programs := os.Getenv(clientsVariable)
	if programs == "" {
		b.Skip("make bench NAME=clients builds what is compared")
	}
	hosttest.Exclusive(b)
	fmt.Println("| database | workload | what | ours | theirs | ours / theirs | interval |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, c := range comparedClients {
		b.Run(c.name, func(b *testing.B) {
			b.Run("ycsb", func(b *testing.B) { c.compareYCSB(b, programs) })
			if c.tpcc != nil {
				b.Run("tpcc", func(b *testing.B) { c.compareTPCC(b, programs) })
			}
		})
	}
}

// serveTCP serves data while something is done with it; reach runs programs where they reach the server.
func (c *compared) serveTCP(
	b *testing.B, d database.Dataset, do func(socket string, remote database.Address, reach func(argv ...string) []byte),
) {
	bed := lay(b, c.name, d)
	if err := Run(b.Context(), bed.config); err != nil {
		b.Fatalf("%v\n%s", err, bed.output)
	}
	step := bed.server.Serve(database.DataDir)
	if c.tcp != nil {
		step.Argv = c.tcp(step.Argv)
	}
	bed.serveStep(step, func(ctx context.Context, server database.Address) {
		if c.ready != nil {
			c.ready(b, named(c.name), server)
		}
		remote := database.Address{Remote: "127.0.0.1:9042"}
		if c.dsn != nil {
			b.Setenv("PLIMSOLL_BENCH_DSN", c.dsn(server.Socket))
			remote.Remote, remote.Credentials = "env:PLIMSOLL_BENCH_DSN", "env:PLIMSOLL_BENCH_DSN"
		}
		network := strings.Replace(server.Network, "self", strconv.Itoa(os.Getpid()), 1)
		do(server.Socket, remote, func(argv ...string) []byte {
			// Our client of PostgreSQL sets what go-tpc's panics at.
			cmd := exec.CommandContext(ctx, "nsenter",
				append([]string{"--net=" + network, "env", "-u", "PGSERVICEFILE"}, argv...)...)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				b.Fatalf("%q: %v\n%s", argv, err, out)
			}
			c.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			return out
		})
	})
}

func (c *compared) compareYCSB(b *testing.B, programs string) {
	schema := map[string]string{"postgresql": "public", "mysql": database.MysqlDatabase,
		"cassandra": database.CassandraKeyspace, "mongodb": "ycsb"}[c.name]
	c.serveTCP(b, benched, func(socket string, remote database.Address, reach func(argv ...string) []byte) {
		if c.name == "mongodb" {
			c.copyMongodb(b, remote, reach, programs) // go-ycsb's database is always called so
			// Its driver makes all of a socket's path small letters.
			dir, err := os.MkdirTemp("", "plimsoll-bench-")
			if err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := os.Symlink(filepath.Dir(socket), filepath.Join(dir, "at")); err != nil {
				b.Fatal(err)
			}
			socket = filepath.Join(dir, "at", filepath.Base(socket))
		}
		for _, w := range []struct {
			name         string
			read, update float64
		}{{"C", 1, 0}, {"A", 0.5, 0.5}} {
			plan := &ycsb.Plan{
				Client: c.client(), At: remote, Output: "out", Dataset: benched,
				Options: map[string]string{database.SchemaOption: schema},
				Mix:     ycsb.Mix{ycsb.Read: w.read, ycsb.Update: w.update}, Distribution: ycsb.Zipfian, Threads: clientThreads,
				Timeout: 10 * time.Second, Seed: 1, Runtime: clientSeconds * time.Second,
			}
			kind, properties := c.ycsb(socket)
			properties = append(properties, "recordcount="+strconv.FormatInt(benched.Records, 10), "operationcount=1000000000",
				"insertorder=ordered", "zeropadding=19", "requestdistribution=zipfian", "readallfields=true",
				fmt.Sprintf("readproportion=%g", w.read), fmt.Sprintf("updateproportion=%g", w.update), "scanproportion=0",
				"insertproportion=0", "threadcount="+strconv.Itoa(clientThreads), "outputstyle=json", "silence=true",
				"loginterval=10000")
			argv := append([]string{filepath.Join(programs, "go-ycsb"), kind, strconv.Itoa(clientSeconds)}, properties...)
			rate := c.compare(b, w.name, reach,
				func() did { return plimsoll(b, plan, programs, reach) }, func() did { return readYCSB(b, reach(argv...)) })
			// At a third of that, neither is short of processors, and what is left is how they count.
			plan.Rate, plan.Constant = math.Floor(rate/3), true
			argv = append(argv, fmt.Sprintf("target=%.0f", plan.Rate))
			c.compare(b, fmt.Sprintf("%s at %.0f/s", w.name, plan.Rate), reach,
				func() did { return plimsoll(b, plan, programs, reach) }, func() did { return readYCSB(b, reach(argv...)) })
		}
	})
}

// copyMongodb makes the records again where go-ycsb looks for them.
func (c *compared) copyMongodb(
	b *testing.B, remote database.Address, reach func(argv ...string) []byte, programs string,
) {
	plan := &ycsb.Plan{Client: "mongodb", At: remote, Output: "out", Dataset: benched, Mix: ycsb.Mix{ycsb.Read: 1},
		Options:      map[string]string{database.SchemaOption: "ycsb", database.LoadOption: "true"},
		Distribution: ycsb.Uniform, Threads: 1, Timeout: time.Second, Runtime: time.Second}
	generateWith(b, plan, programs, reach, "--load")
}

func (c *compared) compareTPCC(b *testing.B, programs string) {
	c.serveTCP(b, database.TPCC(1), func(_ string, remote database.Address, reach func(argv ...string) []byte) {
		in := database.TPCCDatabase
		if c.name == "postgresql" {
			b.Setenv("PLIMSOLL_BENCH_DSN", strings.Replace(c.dsn(""), "/postgres?", "/"+in+"?", 1))
			in = "public"
		}
		plan := tpccPlan(c.client(), remote)
		plan.Options = map[string]string{database.SchemaOption: in}
		plan.Threads, plan.Runtime = 4, clientSeconds*time.Second
		argv := append([]string{filepath.Join(programs, "go-tpc"), "tpcc", "run", "-H", "127.0.0.1",
			"-D", database.TPCCDatabase, "--warehouses", "1", "-T", "4",
			"--time", fmt.Sprintf("%ds", clientSeconds), "--interval", "1000s"}, c.tpcc...)
		c.compare(b, "TPC-C", reach, func() did { return plimsoll(b, plan, programs, reach) },
			func() did { return readTPC(b, reach(argv...)) })
	})
}

// plimsoll has our program run a plan.
func plimsoll(b *testing.B, plan *ycsb.Plan, programs string, reach func(argv ...string) []byte) did {
	var sum ycsb.Line
	for text := range bytes.Lines(generateWith(b, plan, programs, reach)) {
		l, err := ycsb.ReadLine(text)
		if err != nil {
			b.Fatal(err)
		}
		sum.Add(&l)
		if l.End != nil && l.End.Error != "" {
			b.Logf("an error of ours: %s", l.End.Error)
		}
	}
	var count, total float64
	var bins []hist.Bin
	for _, o := range sum.Operations {
		took := o.Total
		if plan.Open() { // go-ycsb looks at the clock when an operation begins, however late that is
			took = o.Service
		}
		count, total = count+float64(o.Count), total+took.SumNS
		for _, bin := range took.Bins {
			bins = append(bins, hist.Bin{NS: bin[0], Count: bin[1]})
		}
	}
	p99, _ := hist.Percentile(hist.Pack(bins), 99)
	return did{count: count, rate: count / sum.Seconds, mean: total / count / 1e9, p99: float64(p99) / 1e9}
}

// generateWith has our program follow a plan, and returns its output.
func generateWith(
	b *testing.B, plan *ycsb.Plan, programs string, reach func(argv ...string) []byte, flags ...string,
) []byte {
	dir := b.TempDir()
	text, err := json.Marshal(plan)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plan.json"), text, 0o600); err != nil {
		b.Fatal(err)
	}
	reach(append([]string{"env", "-C", dir, filepath.Join(programs, "plimsoll"), "generate", "plan.json"}, flags...)...)
	out, _ := os.ReadFile(filepath.Join(dir, plan.Output)) // none of loading
	return out
}

// readYCSB reads what go-ycsb prints at its end.
func readYCSB(b *testing.B, out []byte) (d did) {
	start := bytes.LastIndex(out, []byte("[{"))
	var rows []map[string]string
	if start < 0 || json.Unmarshal(bytes.TrimSpace(out[start:]), &rows) != nil {
		b.Fatalf("go-ycsb says\n%s", out)
	}
	for _, row := range rows {
		if row["Operation"] == "TOTAL" {
			return did{count: number(b, row["Count"]), rate: number(b, row["OPS"]), mean: number(b, row["Avg(us)"]) / 1e6,
				p99: number(b, row["99th(us)"]) / 1e6}
		}
	}
	b.Fatalf("go-ycsb says nothing of all operations\n%s", out)
	return d
}

var tpcLine = regexp.MustCompile(
	`\[Summary\] (\w+) - Takes\(s\): ([0-9.]+), Count: (\d+), TPM: [0-9.]+, Sum\(ms\): ([0-9.]+)`)

// readTPC reads what go-tpc prints at its end. It has percentiles of kinds of transactions, and none of all.
func readTPC(b *testing.B, out []byte) (d did) {
	var count, sum, takes float64
	for _, m := range tpcLine.FindAllStringSubmatch(string(out), -1) {
		if strings.HasSuffix(m[1], "_ERR") {
			continue
		}
		takes, count, sum = max(takes, number(b, m[2])), count+number(b, m[3]), sum+number(b, m[4])
	}
	if count == 0 {
		b.Fatalf("go-tpc says\n%s", out)
	}
	return did{count: count, rate: count / takes, mean: sum / count / 1e3, p99: math.NaN()}
}

func number(b *testing.B, text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// packets returns how many TCP packets were sent where a server is reached.
func packets(b *testing.B, reach func(argv ...string) []byte) float64 {
	var names []string
	for line := range strings.Lines(string(reach("cat", "/proc/self/net/snmp"))) {
		fields := strings.Fields(line)
		if fields[0] != "Tcp:" {
			continue
		}
		if names != nil {
			return number(b, fields[slices.Index(names, "OutSegs")])
		}
		names = fields
	}
	b.Fatal("the kernel counts no packets of TCP")
	return 0
}

// compare runs both in turns, and prints the median of the ratios of pairs with its smallest and largest but one. It
// returns the rate of theirs.
func (c *compared) compare(
	b *testing.B, workload string, reach func(argv ...string) []byte, ours, theirs func() did,
) (rate float64) {
	counted := func(run func() did) did {
		before, cpu := packets(b, reach), c.cpu
		d := run()
		d.cpu = (c.cpu - cpu).Seconds() / d.count
		d.packets = (packets(b, reach) - before) / d.count
		return d
	}
	ours() // nobody begins with an empty cache
	var mine, other []did
	for pair := range clientPairs {
		if pair%2 == 0 {
			mine = append(mine, counted(ours))
			other = append(other, counted(theirs))
		} else {
			other = append(other, counted(theirs))
			mine = append(mine, counted(ours))
		}
	}
	for _, metric := range []struct {
		name, unit string
		value      func(did) float64
		times      float64
	}{
		{"throughput", "/s", func(d did) float64 { return d.rate }, 1},
		{"mean latency", " ms", func(d did) float64 { return d.mean }, 1e3},
		{"p99", " ms", func(d did) float64 { return d.p99 }, 1e3},
		{"packets", " an operation", func(d did) float64 { return d.packets }, 1},
		{"client's processor time", " ms", func(d did) float64 { return d.cpu }, 1e3},
	} {
		var ratios, a, z []float64
		for i := range mine {
			a, z = append(a, metric.value(mine[i])*metric.times), append(z, metric.value(other[i])*metric.times)
			ratios = append(ratios, a[i]/z[i])
		}
		if math.IsNaN(ratios[0]) {
			continue
		}
		slices.Sort(ratios)
		if metric.unit == "/s" {
			rate = stats.Median(z)
		}
		fmt.Printf("| %s | %s | %s | %.3g%s | %.3g%s | %.3f | %.3f to %.3f |\n", c.name, workload, metric.name,
			stats.Median(a), metric.unit, stats.Median(z), metric.unit, stats.Median(ratios), ratios[1], ratios[clientPairs-2])
	}
	return rate
}
