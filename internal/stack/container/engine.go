// Package container starts private Docker engines, makes images for them
// without a registry, and runs commands in their containers.
//
// Hazards. An engine runs as root and mounts, forks and makes control groups
// on its own account; it can outlive us. So everything about it has a place
// of its own that the journal knows: its data-root, its exec-root below
// /run/plimsoll, its control group, and a mark in the environment of what it
// starts. None of it is shared with an engine of the user's: sockets,
// containerd, bridge, firewall rules and configuration are its own or
// switched off. A bind whose host path is missing is refused, because the
// engine would make that path.
package container

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moby/moby/client"
	"github.com/moby/sys/mountinfo"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
)

// Config describes an engine to start.
type Config struct {
	Name     string   // the engine's purpose, for errors
	Run      string   // the run's ID, part of the engine's names
	Dockerd  string   // path of the program; "" for the one in PATH
	Driver   string   // storage driver: "overlay2", "vfs", ...; or hostinfo.ContainerdStore
	Options  []string // of the storage driver: "dm.basesize=10G"
	DataRoot string   // a directory that the caller made for it alone, and no mount point
}

// Engine is a private Docker engine that is up.
type Engine struct {
	Driver  string // storage driver, as the engine reports it
	Version string // "20.10.24"
	Socket  string

	group      *cgroup.Group // of its own processes, below that of all that runs for it; nil for none
	noGroup    error         // why there is none
	journal    *journal.Journal
	entries    []*journal.Entry // oldest first
	execRoot   string
	change     *engineChange
	api        *client.Client
	dockerd    <-chan struct{} // closed once it ended
	containerd <-chan struct{} // closed once it ended; dockerd would wait for it forever
}

// startLimit bounds the start of an engine that neither answers nor ends. It takes a few seconds on a slow disk, and
// minutes on emulated processors that other programs use.
const startLimit = 5 * time.Minute

// maxSocket is the longest path of a unix socket (sun_path, with its zero).
const maxSocket = 107

// Start journals and starts an engine and waits until it answers. An engine
// that does not start gives a *problem.Problem, and leaves nothing but files in
// the data-root.
func Start(ctx context.Context, j *journal.Journal, cfg Config) (*Engine, error) {
	programs, err := findPrograms(cfg)
	if err != nil {
		return nil, err
	}
	// Undoing an engine unmounts its data-root, which dockerd mounts on
	// itself; a mount that is not dockerd's must not go with it.
	if mounted, err := mountinfo.Mounted(cfg.DataRoot); err != nil {
		return nil, fmt.Errorf("data-root of a private engine: %w", err)
	} else if mounted {
		return nil, fmt.Errorf("data-root %s of a private engine is a mount point: give a directory below it", cfg.DataRoot)
	}
	if strings.ContainsAny(cfg.DataRoot, ",:") {
		return nil, startProblem(cfg, problem.Unsupported,
			"Docker takes a comma or a colon in the path of its data-root for a separator: "+cfg.DataRoot,
			"name a state directory (--state-dir), or a directory of the stack, without")
	}
	id := engineName(cfg.Run)
	e := &Engine{journal: j, execRoot: filepath.Join(journal.RunDir, id)}
	e.Socket = filepath.Join(e.execRoot, socketName)
	e.api, err = client.New(client.WithHost("unix://" + e.Socket))
	if err != nil {
		return nil, err
	}
	group := &journal.Cgroup{Path: cgroup.Prefix + id}
	// The engine's own processes are in a group of theirs, so that they are told
	// from others; beside it, dockerd makes the containers' groups.
	entry, err := j.Do(ctx, group, func(string) error {
		e.group, e.noGroup = cgroup.NewAt(ctx, filepath.Join(group.Path, "engine"))
		return nil
	})
	if err != nil {
		return nil, err
	}
	e.entries = append(e.entries, entry)
	e.change = &engineChange{DataRoot: cfg.DataRoot, ExecRoot: e.execRoot, Cgroup: group.Path}
	entry, err = j.Do(ctx, e.change, func(mark string) error {
		if err := e.change.makeDirs(ctx); err != nil {
			return err
		}
		return e.start(ctx, cfg, programs, mark)
	})
	if err != nil {
		return nil, errors.Join(err, e.Stop(context.WithoutCancel(ctx)))
	}
	e.entries = append(e.entries, entry)
	return e, nil
}

// engineName returns a name that distinguishes an engine of a run from its others. It begins with as much of the
// run's ID as the paths of sockets have room for.
func engineName(run string) string {
	const longest = journal.RunDir + "/-01234567/d/libnetwork/0123456789ab.sock"
	b := make([]byte, 4)
	_, _ = rand.Read(b) // never fails
	return run[:min(len(run), maxSocket-len(longest))] + "-" + hex.EncodeToString(b)
}

// programs are those that an engine consists of, and the PATH in which it
// finds the others (runc, shim, fuse-overlayfs, docker-init).
type programs struct{ dockerd, containerd, path string }

// findPrograms looks beside a dockerd that was given by path first, and then also in the directories of system
// programs, which a user's PATH may lack.
func findPrograms(cfg Config) (programs, error) {
	p := programs{path: strings.Join([]string{os.Getenv("PATH"), "/usr/local/sbin", "/usr/sbin", "/sbin"}, ":")}
	name := "dockerd"
	if cfg.Dockerd != "" {
		p.path = filepath.Dir(cfg.Dockerd) + ":" + p.path
		name = filepath.Base(cfg.Dockerd)
	}
	for name, at := range map[string]*string{name: &p.dockerd, "containerd": &p.containerd} {
		if *at = lookIn(p.path, name); *at == "" {
			return p, startProblem(cfg, problem.Unsupported, name+" is not installed", "apt-get install docker.io")
		}
	}
	return p, nil
}

func lookIn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p
		}
	}
	return ""
}

// start writes the configuration into the exec-root, starts containerd and
// dockerd, and waits until the engine answers with the wanted driver.
func (e *Engine) start(ctx context.Context, cfg Config, p programs, mark string) error {
	pathOf := func(name string) string { return filepath.Join(e.execRoot, name) }
	// Docker 29 uses containerd's store by default. Older engines ignore features that they do not know.
	stored := cfg.Driver == hostinfo.ContainerdStore
	containerdRoot, plugins := pathOf("containerd"), disabledPlugins
	if stored {
		containerdRoot = filepath.Join(cfg.DataRoot, "containerd") // the writable layers are in it
	} else {
		plugins = slices.Concat(plugins, []string{snapshotterPlugin})
	}
	files := map[string]string{
		// The only way to keep dockerd from writing /etc/docker/key.json; newer
		// ones, which write none, ignore it.
		"daemon.json": fmt.Sprintf("{%q: %q, \"features\": {\"containerd-snapshotter\": %t}}\n", "deprecated-key-path",
			pathOf("key.json"), stored),
		"containerd.toml": fmt.Sprintf(containerdConfig, containerdRoot, pathOf("containerd/state"),
			quotedList(plugins), pathOf(containerdSocket)),
	}
	for name, content := range files {
		if err := os.WriteFile(pathOf(name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	// dockerd would take the system's containerd where there is one, so this
	// engine gets one of its own.
	var err error
	e.containerd, err = e.spawn(mark, p, "containerd.log", p.containerd, "--config", pathOf("containerd.toml"))
	if err != nil {
		return err
	}
	argv := Command(cfg, e.execRoot, e.change.Cgroup)
	argv[0] = p.dockerd
	e.dockerd, err = e.spawn(mark, p, "dockerd.log", argv...)
	if err != nil {
		return err
	}
	return e.waitReady(ctx, cfg)
}

// Command is the command line of the engine with that exec-root and the control
// group of its containers.
func Command(cfg Config, execRoot, cgroup string) []string {
	pathOf := func(name string) string { return filepath.Join(execRoot, name) }
	argv := []string{
		"dockerd",
		"--config-file", pathOf("daemon.json"),
		"--data-root", cfg.DataRoot,
		"--exec-root", pathOf("d"),
		"--pidfile", pathOf("docker.pid"),
		"--host", "unix://" + pathOf(socketName),
		"--containerd", pathOf(containerdSocket),
		"--storage-driver", cfg.Driver,
		"--exec-opt", "native.cgroupdriver=cgroupfs",
		"--cgroup-parent", "/" + cgroup,
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
		"--userland-proxy=false",
		"--live-restore=false", "--shutdown-timeout", "3", "--log-level", "warn",
	}
	for _, o := range cfg.Options {
		argv = append(argv, "--storage-opt", o)
	}
	return argv
}

// These are where an engine and its containerd listen, in the exec-root.
const (
	socketName       = "docker.sock"
	containerdSocket = "containerd.sock"
)

// CheckContainerdStore returns a *problem.Problem where the engines of this host have no containerd store.
func CheckContainerdStore() error {
	cfg := Config{Driver: hostinfo.ContainerdStore}
	p, err := findPrograms(cfg)
	if err != nil {
		return err
	}
	out, err := askVersion(p.dockerd)
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", p.dockerd, err)
	}
	m := dockerVersion.FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("%s has a version of an unknown form: %q", p.dockerd, out)
	}
	if major, _ := strconv.Atoi(string(m[2])); major < hostinfo.OldestContainerdStore {
		return startProblem(cfg, problem.Unsupported, fmt.Sprintf("Docker %s keeps no containers in containerd's store",
			m[1]), fmt.Sprintf("install Docker %d or later", hostinfo.OldestContainerdStore))
	}
	return nil
}

// program is an executable file as it was found.
type program struct {
	path     string
	size     int64
	modified time.Time
}

// versions are what programs printed with --version: each stack of an experiment asks, and an answer takes 25 ms.
var versions sync.Map

// askVersion returns what a program prints with --version. It runs the program once, and again if the file has changed.
func askVersion(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	asked := program{path, info.Size(), info.ModTime()}
	if known, found := versions.Load(asked); found {
		return known.([]byte), nil //nolint:forcetypeassert // it has no other
	}
	out, err := exec.Command(path, "--version").Output()
	if err == nil {
		versions.Store(asked, out)
	}
	return out, err
}

// dockerVersion matches "Docker version 28.5.2+dfsg4, build 3ef3c07".
var dockerVersion = regexp.MustCompile(`^Docker version (([0-9]{1,4})\.[0-9.]+)`)

// snapshotterPlugin is the part of containerd that makes writable layers in its store.
const snapshotterPlugin = "io.containerd.snapshotter.v1.overlayfs"

// disabledPlugins are the parts of containerd that Docker does not use, most of all those that make directories
// elsewhere.
var disabledPlugins = []string{
	"io.containerd.grpc.v1.cri",
	"io.containerd.internal.v1.opt",
	"io.containerd.internal.v1.tracing",
	"io.containerd.tracing.processor.v1.otlp",
	"io.containerd.snapshotter.v1.aufs",
	"io.containerd.snapshotter.v1.btrfs",
	"io.containerd.snapshotter.v1.devmapper",
	"io.containerd.snapshotter.v1.zfs",
}

const containerdConfig = `version = 2
root = %q
state = %q
disabled_plugins = [%s]
[grpc]
address = %q
[debug]
level = "warn"
`

// quotedList is a list of strings in TOML.
func quotedList(values []string) string {
	var quoted []string
	for _, s := range values {
		quoted = append(quoted, strconv.Quote(s))
	}
	return strings.Join(quoted, ", ")
}

// spawn starts a process of the engine in a session of its own, so that a
// Ctrl-C at the terminal does not reach it, and with little else than the
// mark in its environment: a NOTIFY_SOCKET or a proxy is none of its business.
func (e *Engine) spawn(mark string, p programs, log string, argv ...string) (<-chan struct{}, error) {
	out, err := os.OpenFile(filepath.Join(e.execRoot, log), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = e.execRoot
	cmd.Env = []string{"PATH=" + p.path, "HOME=" + e.execRoot, "TMPDIR=" + e.execRoot, journal.MarkVariable + "=" + mark}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := e.group.Start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}()
	return ended, nil
}

// waitReady waits until the engine answers, and checks that its driver is the one asked for.
func (e *Engine) waitReady(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it gave no answer within %s", startLimit))
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		if _, err := e.api.Ping(ctx, client.PingOptions{}); err == nil {
			break
		}
		select {
		case <-e.dockerd:
			return startError(cfg, e.logTail("dockerd.log"))
		case <-e.containerd:
			return startError(cfg, e.logTail("containerd.log"))
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return startProblem(cfg, problem.Failed, cause.Error(), "").CausedBy(cause)
			}
			return ctx.Err()
		case <-poll.C:
		}
	}
	info, err := e.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return fmt.Errorf("ask the engine at %s: %w", e.Socket, err)
	}
	e.Driver, e.Version = info.Info.Driver, info.Info.ServerVersion
	if e.Driver != cfg.Driver {
		return startProblem(cfg, problem.Unsupported, "the engine took storage driver "+e.Driver+" instead", "")
	}
	return nil
}

// answerLimit bounds the time in which a healthy engine answers.
const answerLimit = 5 * time.Second

// Answers reports whether the engine is there and answers.
func (e *Engine) Answers(ctx context.Context) bool {
	if e.down(nil) != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := e.api.Ping(ctx, client.PingOptions{})
	return err == nil
}

// Log returns the last 8 KiB of the engine's output.
func (e *Engine) Log() string { return e.logTail("dockerd.log") }

func (e *Engine) logTail(name string) string {
	b, _ := os.ReadFile(filepath.Join(e.execRoot, name))
	if len(b) > tailBytes {
		b = b[len(b)-tailBytes:]
	}
	return string(b)
}

// Group returns the control group of all that runs for the engine: its own
// processes and its containers. The error is why its own are in none.
func (e *Engine) Group() (*cgroup.Group, error) {
	if e.group == nil {
		return nil, e.noGroup
	}
	return e.group.Parent(), nil
}

// Entries are the engine's changes in the journal, oldest first.
func (e *Engine) Entries() []*journal.Entry { return slices.Clone(e.entries) }

// Stop ends the engine with all its containers, and takes back everything
// that it made outside its data-root.
func (e *Engine) Stop(ctx context.Context) error {
	return errors.Join(e.journal.UndoEach(ctx, e.entries), e.api.Close())
}

// down returns the error of a request, and the engine's last message if the engine ended. For nil it returns an error
// only if the engine ended.
func (e *Engine) down(err error) error {
	if client.IsErrConnectionFailed(err) {
		// On a busy host a request fails before the end of the process is seen that had to answer it.
		select {
		case <-e.dockerd:
		case <-e.containerd:
		case <-time.After(noticeLimit):
		}
	}
	var event, log string
	select {
	case <-e.dockerd:
		event, log = "the Docker engine ended", "dockerd.log"
	case <-e.containerd:
		event, log = "the Docker engine's containerd ended", "containerd.log"
	default:
		return err
	}
	if err == nil {
		return fmt.Errorf("%s; the last it said: %s", event, lastLine(e.logTail(log)))
	}
	return fmt.Errorf("%s: %w; the last it said: %s", event, err, lastLine(e.logTail(log)))
}
