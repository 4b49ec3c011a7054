package loader

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload/loadgen"
	"plimsoll/internal/workload/ycsb"
)

// tpccPlan asks for all transactions as often, for a while.
func tpccPlan(name string, server database.Address) *ycsb.Plan {
	return &ycsb.Plan{
		Client: name, At: server, Output: "out", Dataset: database.TPCC(1),
		Mix: ycsb.Mix{ycsb.NewOrder: 0.45, ycsb.Payment: 0.43, ycsb.OrderStatus: 0.04, ycsb.Delivery: 0.04,
			ycsb.StockLevel: 0.04},
		Distribution: ycsb.Uniform, Threads: threads, Timeout: time.Minute, Seed: 1, Runtime: 2 * time.Second,
	}
}

// transact has the generator run a plan, and returns how many of each transaction there were.
func transact(ctx context.Context, t *testing.T, plan *ycsb.Plan) (did map[string]uint64) {
	t.Helper()
	var out bytes.Buffer
	o := loadgen.Options{Dial: client.Dial, Output: &out}
	if err := loadgen.Run(ctx, plan, o); err != nil {
		t.Error(err)
		return nil
	}
	did = map[string]uint64{}
	for text := range bytes.Lines(out.Bytes()) {
		l, err := ycsb.ReadLine(text)
		if err != nil {
			t.Error(err)
		}
		for _, o := range l.Operations {
			did[o.Name] += o.Count
			if o.Errors > 0 && l.End != nil {
				t.Logf("%d errors of %s: %s", o.Errors, o.Name, l.End.Error)
			}
		}
	}
	return did
}

// lines calls a function with each line that is written.
type lines func(text []byte)

func (f lines) Write(text []byte) (int, error) {
	f(text)
	return len(text), nil
}

// TPC-C's tables are laid out, all its transactions run, its conditions hold then, and after a
// kill; and one that does not is named.
func TestTPCC(t *testing.T) {
	hosttest.Exclusive(t)
	for _, d := range databases {
		if d.open == nil {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			if d.name != hosttest.Database {
				hosttest.Soak(t)
			}
			b := lay(t, d.name, database.TPCC(1))
			if err := Run(t.Context(), b.config); err != nil {
				t.Fatalf("%v\n%s", err, b.output)
			}
			name := b.server.Client().Name
			b.serve(func(ctx context.Context, server database.Address) {
				c, err := client.Dial(ctx, name, client.Config{At: server, Warehouses: 2})
				if err == nil || !strings.Contains(err.Error(), "1 warehouses, and not 2") {
					t.Errorf("with another number of warehouses: %v, %v", c, err)
				}
				did := map[string]uint64{}
				for least := uint64(0); least == 0 && !t.Failed(); { // however long a slow server takes
					least = 100
					for kind, count := range transact(ctx, t, tpccPlan(name, server)) {
						did[kind] += count
					}
					for _, kind := range []string{"new-order", "payment", "order-status", "delivery", "stock-level"} {
						least = min(least, did[kind])
					}
				}
				if err := loadgen.Check(ctx, tpccPlan(name, server)); err != nil {
					t.Error(err)
				}
				if share := float64(did["payment"]) / float64(did["new-order"]); share < 0.4 || share > 2.5 {
					t.Errorf("%v", did)
				}
			})
			killed := b.config
			killed.Plan.Serve = b.server.Serve(database.DataDir).Argv
			if err := killed.serve(t.Context(), nil, nil, func(ctx context.Context, server database.Address) error {
				plan := tpccPlan(name, server)
				plan.Sample, plan.Runtime = 50*time.Millisecond, time.Minute
				kill := sync.OnceFunc(func() { killAll(t, killed.Dir) })
				return loadgen.Run(ctx, plan, loadgen.Options{Dial: client.Dial, Output: lines(func(text []byte) {
					l, err := ycsb.ReadLine(text)
					if err != nil {
						t.Error(err)
					}
					if slices.ContainsFunc(l.Operations, func(o ycsb.Done) bool { return o.Count > 0 }) {
						kill()
					}
				})})
			}); err == nil {
				t.Error("it survived a kill")
			}
			b.serve(func(ctx context.Context, server database.Address) {
				config := client.Config{At: server, Warehouses: 1}
				if err := client.CheckTPCC(ctx, name, config); err != nil {
					t.Errorf("after a kill: %v", err)
				}
				db := d.open(server, database.TPCCDatabase)
				defer db.Close()
				for _, text := range []string{"UPDATE warehouse SET w_ytd = w_ytd + 1",
					"DELETE FROM order_line WHERE ol_number = 3 AND ol_o_id = 7 AND ol_d_id = 2"} {
					if _, err := db.ExecContext(ctx, text); err != nil {
						t.Error(err)
					}
				}
				err := client.CheckTPCC(ctx, name, config)
				if err == nil || !strings.Contains(err.Error(), "3.3.2.1") || !strings.Contains(err.Error(), "3.3.2.4") ||
					strings.Contains(err.Error(), "3.3.2.2") || strings.Contains(err.Error(), "3.3.2.3") {
					t.Errorf("torn, it says %v", err)
				}
			})
		})
	}
}
