package loader

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/image"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/imagetest"
)

// shell is a bed whose image has nothing but a shell and what a root has; its server is no
// database.
func shell(t *testing.T) *bed {
	t.Helper()
	if testing.Short() {
		t.Skip("it makes an image of packages")
	}
	built, store := made(t, image.Recipe{Name: "shell",
		Packages: []string{"dash", "coreutils", "base-files"}, Path: "/usr/bin:/bin", User: "nobody", UserID: 65534,
		Versions: "dash"})
	root, err := store.Root(t.Context(), built, imagetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(root.Release)
	dir := t.TempDir()
	b := &bed{t: t, output: &bytes.Buffer{}}
	b.config = Config{Root: root.Dir, Dir: filepath.Join(dir, "data"), Scratch: filepath.Join(dir, "scratch"),
		Account: image.Account{UID: 4711, GID: 4712}, Env: root.Env, Log: b.output,
		Plan: database.LoadPlan{Client: "postgresql", At: database.Address{Socket: "server/socket"},
			Dataset: dataset, Ends: "TERM",
			Serve: []string{"sleep", "1000"}}}
	if err := os.Mkdir(b.config.Scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

// A program of an image sees its root and the new directory, is nobody of importance, and
// writes nowhere else.
func TestProgramsOfImagesSeeNothingOfTheHost(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	b := shell(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `
id -u; id -g; ls /; ls -A /plimsoll/data /home /root 2>/dev/null
cat ` + secret + ` 2>/dev/null && echo "READS A FILE OF THE HOST"
for at in /usr/x /etc/x /x /plimsoll/x /var/x; do touch $at 2>/dev/null && echo WRITES $at; done
for at in /plimsoll/data/x /tmp/x /run/x /dev/shm/x /plimsoll/server/x; do touch $at || echo CANNOT WRITE $at; done
cp /usr/bin/dash /plimsoll/data/dash && chmod 4755 /plimsoll/data/dash; ls /sys /dev
mknod /data/disk b 254 0 2>/dev/null && echo MAKES DEVICES
cat /dev/null > /dev/zero || echo NO ZERO
tr "\0" "\n" < /proc/self/environ
exit 7`
	b.config.Plan.Make = [][]string{{"sh", "-c", script}}
	err := Run(t.Context(), b.config)
	if err == nil || !strings.Contains(err.Error(), "sh: exit status 7") {
		t.Errorf("it ends with %v", err)
	}
	output := b.output.String()
	for _, bad := range []string{"READS", "WRITES", "CANNOT", "MAKES", "NO ZERO", "SUDO", "vda"} {
		if strings.Contains(output, bad) {
			t.Errorf("it says %s:\n%s", bad, output)
		}
	}
	if !strings.HasPrefix(output, "4711\n4712\n") || !strings.Contains(output, "urandom") {
		t.Errorf("it says\n%s", output)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
	if left, _ := os.ReadDir(b.config.Scratch); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What fails says what, and leaves no process, no mount and no directory but that of the data.
func TestLoadingThatFails(t *testing.T) {
	hosttest.Exclusive(t)
	b := shell(t)
	b.config.Plan.Patience = time.Second
	ready := b.config
	always := func(change func(c *Config)) func(*testing.T, *Config) context.Context {
		return func(t *testing.T, c *Config) context.Context { change(c); return t.Context() }
	}
	serves := func(argv ...string) func(*testing.T, *Config) context.Context {
		return always(func(c *Config) { c.Plan.Serve = argv })
	}
	link := func(pathOf func(c *Config) string) func(*testing.T, *Config) context.Context {
		return always(func(c *Config) {
			if err := os.Symlink("/etc", pathOf(c)); err != nil {
				panic(err)
			}
		})
	}
	interrupted := func(t *testing.T, _ *Config) context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, cancel)
		return ctx
	}
	for _, c := range []struct {
		name, want string
		change     func(t *testing.T, c *Config) context.Context
	}{
		{"a program that is not there", "initdb: exit status 127: /usr/bin/env: 'initdb': No such file",
			always(func(c *Config) { c.Plan.Make = [][]string{{"initdb"}} })},
		{"a server that ends", "sh ended while records were loaded: exit status 3: no luck",
			serves("sh", "-c", "echo no luck; exit 3")},
		{"a server that ends well", "sh ended while records were loaded: it exited with code 0",
			serves("sh", "-c", "exit 0")},
		{"a server that never answers", "the server did not answer within 1s", always(func(*Config) {})},
		{"an interruption", context.Canceled.Error(), interrupted},
		{"an interruption of a program", context.Canceled.Error() + ": sleep: signal: killed",
			func(t *testing.T, c *Config) context.Context {
				c.Plan.Make = [][]string{{"sleep", "60"}}
				return interrupted(t, c)
			}},
		{"a directory that is there", "file exists", always(func(c *Config) {
			if err := os.Mkdir(c.Dir, 0o755); err != nil {
				panic(err)
			}
		})},
		{"a link in its place", "file exists", link(func(c *Config) string { return c.Dir })},
		{"a link in place of the socket's directory", "file exists",
			link(func(c *Config) string { return filepath.Join(c.Scratch, "server") })},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := hosttest.Look()
			config := ready
			config.Dir, config.Scratch = filepath.Join(t.TempDir(), "data"), t.TempDir()
			err := Run(c.change(t, &config), config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it says %v, and not %q", err, c.want)
			}
			if _, err := os.Lstat(filepath.Join(config.Scratch, "root")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("its root stays: %v", err)
			}
			if diff := before.Settle(0); diff != "" {
				t.Errorf("the host is not as it was:\n%s", diff)
			}
		})
	}
}
