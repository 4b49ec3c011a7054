// Package loader lays out data with databases from images: on this host, before any
// instance is there, so that what is measured begins with equal bytes.
//
// A database's own programs run as the database's account in the image's root file
// system, in a mount namespace that sees nothing else of this host but the new directory
// and a directory for the socket, and in a network namespace that has a loopback and nothing
// else. Each is the first process of namespaces of processes and IPC: those of a hostile image
// may have the UID of a user of this host, and are to reach nothing of hers. All of that goes with the process.
package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/database/socket"
	"plimsoll/internal/image"
	"plimsoll/internal/workload"
)

// Config describes the data to load, and the programs that do it.
type Config struct {
	Plan    database.LoadPlan
	Root    string        // the image's root file system, unpacked; only what the plan keeps is written to it
	Dir     string        // of the data: new
	Scratch string        // a directory to work in
	Account image.Account // that the database's programs run as
	Env     []string      // that these see: "NAME=value"
	Log     io.Writer
}

// endLimit bounds the time that a server takes to end.
const endLimit = 2 * time.Minute

// Run lays out the data. On an error the directory is of no use.
func Run(ctx context.Context, c Config) error {
	if err := image.CheckNames(c.Root, c.Root); err != nil {
		return err
	}
	if err := c.Account.Own(c.Dir); err != nil {
		return err
	}
	if image.HasKept(c.Root, c.Plan.Keeps) { // made once: it takes seconds
		c.Plan.Serve = image.WithoutKept(c.Plan.Serve, c.Plan.Keeps)
		c.Plan.Keeps = ""
	}
	return c.serve(ctx, c.Plan.Make, c.Plan.Finish, func(ctx context.Context, at database.Address) error {
		return client.Load(ctx, c.Plan.Client, at, c.Plan.Dataset, c.Plan.Options)
	})
}

// task is called while a server answers.
type task func(ctx context.Context, at database.Address) error

// serve runs the programs before, one after the other, in the image's root; then the server until do has returned and
// the programs after have run.
func (c *Config) serve(ctx context.Context, before, after [][]string, do task) error {
	if os.Geteuid() != 0 {
		return errors.New("only root can run a database in an image's root")
	}
	sockets := filepath.Join(c.Scratch, workload.ServerDir)
	if err := c.Account.Own(sockets); err != nil {
		return err
	}
	in := filepath.Join(c.Scratch, "root")
	if err := os.Mkdir(in, 0o700); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends, and its namespaces
		ended <- c.inRoot(ctx, in, sockets, before, after, do)
	}()
	err := <-ended
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		// What it stopped says only that it was killed, and may be heard of first.
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if err == nil && c.Plan.Keeps != "" {
		if err := image.Keep(c.Root, c.Plan.Keeps, sockets); err != nil {
			fmt.Fprintf(c.Log, "servers of this image start no faster: %v\n", err)
		}
	}
	return errors.Join(err, os.RemoveAll(sockets), os.Remove(in))
}

// inRoot makes the root and runs the programs in it. The calling thread stays changed.
func (c *Config) inRoot(ctx context.Context, in, sockets string, before, after [][]string, do task) error {
	files := map[string]string{}
	for name, text := range c.Plan.Files {
		files[path(name)] = text
	}
	err := enter(in, c.Root, map[string]string{database.DataDir: c.Dir, path(workload.ServerDir): sockets}, files)
	if err != nil {
		return fmt.Errorf("make a root of %s: %w", c.Root, err)
	}
	network, err := socket.OwnNetwork()
	if err != nil {
		return err
	}
	defer network.Close()
	address := c.Plan.At.In(c.Scratch)
	address.Network = fmt.Sprintf("/proc/self/fd/%d", network.Fd())
	if err := c.runAll(ctx, in, before); err != nil {
		return err
	}
	server, err := c.start(ctx, in, c.Plan.Serve)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	doing, stop := context.WithCancel(ctx)
	defer stop()
	go func() { done <- c.doWhenReady(doing, address, do) }()
	select {
	case err = <-done:
	case died := <-server.ended:
		stop()
		<-done //nolint:errcheck // it was stopped
		return fmt.Errorf("%s ended while records were loaded: %w%s", server.name, orDone(died), server.output.message())
	}
	if err != nil {
		server.kill()
		return err
	}
	if err := c.runAll(ctx, in, after); err != nil {
		server.kill()
		return err
	}
	return server.end(c.Plan.Ends, c.Plan.Codes)
}

// runAll runs programs in the root, one after the other.
func (c *Config) runAll(ctx context.Context, in string, commands [][]string) error {
	for _, argv := range commands {
		p, err := c.start(ctx, in, argv)
		if err == nil {
			err = p.wait()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// path returns the server's path of a directory of the scratch directory.
func path(name string) string { return database.LoadScratch + "/" + name }

// orDone is an error for a process that ended too early without one.
func orDone(err error) error {
	if err == nil {
		return errors.New("it exited with code 0")
	}
	return err
}

// doWhenReady waits until the server answers, and then calls do.
func (c *Config) doWhenReady(ctx context.Context, address database.Address, do task) error {
	limit := cmp.Or(c.Plan.Patience, workload.DefaultPatience)
	waiting, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the server did not answer within %s", limit))
	defer cancel()
	for {
		err := client.Answers(waiting, c.Plan.Client, address)
		if err == nil {
			return do(ctx, address)
		}
		select {
		case <-waiting.Done():
			return fmt.Errorf("%w: %w", context.Cause(waiting), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// insideArgs returns a command line with paths as the program in the root sees them.
func insideArgs(argv []string) []string {
	all := make([]string, len(argv))
	for i, word := range argv {
		all[i] = strings.ReplaceAll(word, workload.ScratchDir, database.LoadScratch)
	}
	return all
}
