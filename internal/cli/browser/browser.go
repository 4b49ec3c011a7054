// Package browser opens a page in the browser of whoever sits at this host.
//
// Hazards. A browser that runs as root is root to every page that it shows, so
// under sudo it is started as the user who called, with that user's home and
// session. What $BROWSER names is run without a shell.
package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/state/sudouser"
)

// NoneError says why there is no browser to open a page in.
type NoneError struct{ Why string }

func (e *NoneError) Error() string { return e.Why }

// Streams are the streams of a browser that draws on the terminal.
type Streams struct {
	In          io.Reader
	Out, Errors io.Writer
}

// Open opens a file in the browser that $BROWSER names, or in the one that the
// desktop has. It returns when the page is handed over; a browser of $BROWSER's
// may draw on the terminal, and is waited for. Where there is neither, the error
// is a *NoneError.
func Open(ctx context.Context, path string, s Streams) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	page := (&url.URL{Scheme: "file", Path: path}).String()
	env := newSession()
	if text := env.get("BROWSER"); text != "" {
		return env.first(ctx, text, page, s)
	}
	if env.get("DISPLAY") == "" && env.get("WAYLAND_DISPLAY") == "" {
		return &NoneError{"there is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set), and no BROWSER"}
	}
	opener, err := exec.LookPath("xdg-open")
	if err != nil {
		return &NoneError{"there is no xdg-open in PATH (apt-get install xdg-utils), and no BROWSER is set"}
	}
	return env.handOver(ctx, opener, page)
}

// first runs the first of the commands in $BROWSER that is there: they are
// separated by colons, and %s in them stands for the page.
func (e session) first(ctx context.Context, commands, page string, s Streams) error {
	for command := range strings.SplitSeq(commands, ":") {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		program, err := exec.LookPath(words[0])
		if err != nil {
			continue
		}
		placed := strings.Contains(command, "%s")
		for i, w := range words {
			words[i] = strings.ReplaceAll(w, "%s", page)
		}
		if !placed {
			words = append(words, page)
		}
		cmd := exec.CommandContext(ctx, program, words[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Errors
		cmd.Env, cmd.SysProcAttr = e.env, e.attributes(false)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s, which BROWSER names: %w", program, err)
		}
		return nil
	}
	return &NoneError{fmt.Sprintf("none of the programs that BROWSER names is in PATH: %s", commands)}
}

// patience is how long an opener may take to say that it failed. Some become
// the browser itself, and end with it.
const patience = 5 * time.Second

// handOver starts the desktop's opener, which outlives this process.
func (e session) handOver(ctx context.Context, opener, page string) error {
	cmd := exec.Command(opener, page)
	cmd.Env, cmd.SysProcAttr = e.env, e.attributes(true)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", opener, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 3 { // as xdg-open documents it
			return &NoneError{opener + " finds no browser"}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", opener, err)
		}
	case <-time.After(patience):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// session is as whom, and in which environment, a browser is started.
type session struct {
	env []string
	ids *syscall.Credential // nil: as this process
}

// newSession is the caller's under sudo, and this process's otherwise.
func newSession() session {
	caller, ok := sudouser.Caller()
	if !ok {
		return session{env: os.Environ()}
	}
	e := session{ids: &syscall.Credential{Uid: uint32(caller.UID), Gid: uint32(caller.GID)}}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SUDO_") {
			e.env = append(e.env, v)
		}
	}
	if u, err := user.LookupId(strconv.Itoa(caller.UID)); err == nil {
		e.set("HOME", u.HomeDir)
		e.set("USER", u.Username)
		e.set("LOGNAME", u.Username)
		groups, err := u.GroupIds()
		for _, g := range groups {
			if id, idErr := strconv.ParseUint(g, 10, 32); idErr == nil && err == nil {
				e.ids.Groups = append(e.ids.Groups, uint32(id))
			}
		}
	}
	// sudo keeps DISPLAY, but not what else leads to the user's session.
	runtime := fmt.Sprintf("/run/user/%d", caller.UID)
	if exists(runtime) {
		e.set("XDG_RUNTIME_DIR", runtime)
	}
	if bus := filepath.Join(runtime, "bus"); exists(bus) {
		e.set("DBUS_SESSION_BUS_ADDRESS", "unix:path="+bus)
	}
	if e.get("WAYLAND_DISPLAY") == "" && exists(filepath.Join(runtime, "wayland-0")) {
		e.set("WAYLAND_DISPLAY", "wayland-0")
	}
	return e
}

func (e session) get(name string) string {
	for i := len(e.env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(e.env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// set appends: of several values, a process gets the last.
func (e *session) set(name, value string) { e.env = append(e.env, name+"="+value) }

// attributes make a process the user's; apart gives it a session of its own, so
// that it does not end with the terminal.
func (e session) attributes(apart bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: e.ids, Setsid: apart}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
