// Command go-ycsb runs a workload of github.com/pingcap/go-ycsb, with its bindings of the databases that plimsoll
// has too, and without those that need libraries in C. make bench NAME=clients compares it with plimsoll's own clients.
//
//	go-ycsb DATABASE SECONDS NAME=VALUE...
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/magiconair/properties"
	_ "github.com/pingcap/go-ycsb/db/cassandra"
	_ "github.com/pingcap/go-ycsb/db/mongodb"
	_ "github.com/pingcap/go-ycsb/db/mysql"
	_ "github.com/pingcap/go-ycsb/db/pg"
	"github.com/pingcap/go-ycsb/pkg/client"
	"github.com/pingcap/go-ycsb/pkg/measurement"
	_ "github.com/pingcap/go-ycsb/pkg/workload"
	"github.com/pingcap/go-ycsb/pkg/ycsb"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "go-ycsb:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("which database, and for how long?")
	}
	limit, err := time.ParseDuration(args[1] + "s")
	if err != nil {
		return err
	}
	p := properties.NewProperties()
	for _, arg := range args[2:] {
		name, value, _ := strings.Cut(arg, "=")
		if _, _, err := p.Set(name, value); err != nil {
			return err
		}
	}
	measurement.InitMeasure(p)
	work := ycsb.GetWorkloadCreator("core")
	if work == nil {
		return fmt.Errorf("it has no workload core")
	}
	core, err := work.Create(p)
	if err != nil {
		return err
	}
	creator := ycsb.GetDBCreator(args[0])
	if creator == nil {
		return fmt.Errorf("it has no database %s", args[0])
	}
	db, err := creator.Create(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	client.NewClient(p, core, client.DbWrapper{DB: db}).Run(ctx)
	measurement.Output()
	return db.Close()
}
