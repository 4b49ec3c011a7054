// Command mongod is FerretDB, started as MongoDB's server is: tests have it where MongoDB itself cannot be had.
//
// FerretDB speaks MongoDB's protocol and keeps documents in SQLite: what it does of a load is right or wrong as
// MongoDB's answers are, and how fast it is says nothing of MongoDB. Asked for its version it names itself.
//
// It takes those of mongod's options that Plimsoll has, of which the cache, the compressor and the intervals
// have no effect.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// parameters are the server parameters that it tells, of those that mongod has.
var parameters = []string{"quiet"}

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// serve serves the data of a directory until it is asked to end.
func serve(args []string) error {
	options := flag.NewFlagSet("mongod", flag.ContinueOnError)
	options.SetOutput(io.Discard)
	dir := options.String("dbpath", "/data/db", "")
	port := options.Int("port", 27017, "")
	sockets := options.String("unixSocketPrefix", "/tmp", "")
	options.Bool("quiet", false, "")
	options.String("bind_ip", "", "")
	options.Float64("wiredTigerCacheSizeGB", 0, "")
	options.String("wiredTigerCollectionBlockCompressor", "", "")
	options.Int("journalCommitInterval", 0, "")
	options.Int("syncdelay", 0, "")
	options.Func("setParameter", "", func(text string) error {
		if name, _, _ := strings.Cut(text, "="); !slices.Contains(parameters, name) {
			return fmt.Errorf("Unknown --setParameter '%s'", name)
		}
		return nil
	})
	if err := options.Parse(args); err != nil {
		_, unknown, found := strings.Cut(err.Error(), "flag provided but not defined: -")
		if found {
			return fmt.Errorf("Error parsing command line: unrecognised option '--%s'", unknown)
		}
		return err
	}
	lock, err := locked(*dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	f, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{Unix: filepath.Join(*sockets, fmt.Sprintf("mongodb-%d.sock", *port))},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Handler:  "sqlite", SQLiteURL: "file:" + *dir + "/",
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return f.Run(ctx)
}

// locked holds a directory as mongod does, for itself alone, for as long as the file is open.
func locked(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, "mongod.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("DBPathInUse: Unable to lock the lock file: %s (%w)", lock.Name(), err)
	}
	return lock, nil
}
