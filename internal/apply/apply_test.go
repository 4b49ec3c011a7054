package apply

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/result"
	engines "plimsoll/internal/stack/container"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

const (
	// sleepVariable makes the test binary the program of containers.
	sleepVariable = "PLIMSOLL_APPLY_TEST_SLEEP"
	// childVariable makes it a program that applies the plan it names, below the state directory beside it.
	childVariable = "PLIMSOLL_APPLY_TEST_CHILD"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(talkVariable); role != "" {
		talkAs(role)
	}
	if os.Getenv(sleepVariable) != "" {
		time.Sleep(time.Hour)
		os.Exit(0)
	}
	if file := os.Getenv(childVariable); file != "" {
		text, err := os.ReadFile(file)
		if err == nil {
			var t *Target
			if t, err = ReadPlan(text); err == nil && os.Getenv(keepVariable) != "" {
				err = keepSlow(context.Background(), t, filepath.Join(filepath.Dir(file), "state"), os.Getenv(keepVariable), nil)
			} else if err == nil {
				err = Apply(context.Background(), t, filepath.Join(filepath.Dir(file), "state"), func(Step) {})
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// bench is private engines that have the image app:1, and a state directory.
type bench struct {
	engines []Engine
	apis    []*client.Client
	state   string
	dir     string
}

func newBench(t *testing.T, n int) *bench {
	t.Helper()
	hosttest.Exclusive(t)
	b := &bench{dir: t.TempDir()}
	b.state = filepath.Join(b.dir, "state")
	run := fmt.Sprintf("apply-test-%d", os.Getpid())
	j, err := journal.Create(filepath.Join(b.dir, "engines"), run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(j.UndoAll(context.Background(), nil), j.Close()); err != nil {
			t.Error(err)
		}
	})
	for i := range n {
		root, err := os.MkdirTemp(b.dir, "plimsoll-"+run+"-engine")
		if err != nil {
			t.Fatal(err)
		}
		e, err := engines.Start(t.Context(), j, engines.Config{Name: "test", Run: run, Driver: "overlay2", DataRoot: root})
		if err != nil {
			t.Fatal(err)
		}
		api, err := client.New(client.WithHost("unix://" + e.Socket))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = api.Close() })
		b.apis = append(b.apis, api)
		load(t, api)
		b.engines = append(b.engines, Engine{Name: string(rune('a' + i)), Host: "unix://" + e.Socket})
	}
	hosts, err := Describe(t.Context(), b.engines)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range hosts {
		b.engines[i] = h.Engine
	}
	return b
}

// load makes the image app:1, whose program is this one.
func load(t *testing.T, api *client.Client) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	if err := w.WriteHeader(&tar.Header{Name: "app", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(program)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	output, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: &image, SourceName: "-"}, "app:1",
		client.ImageImportOptions{Changes: []string{`ENTRYPOINT ["/app"]`, "ENV " + sleepVariable + "=1"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, output)
	if err := errors.Join(err, output.Close()); err != nil {
		t.Fatal(err)
	}
}

// plan writes a plan of one service, of which so many stand on each engine, and returns its file's text.
func (b *bench) plan(t *testing.T, s Service, counts ...int) []byte {
	t.Helper()
	hosts := []map[string]any{}
	for i, n := range counts {
		s.Replicas += n
		hosts = append(hosts, map[string]any{"hosts": []string{b.engines[i].Name},
			"containers": []map[string]any{{"containers": s.Name, "count": n}}})
	}
	text, err := json.Marshal(map[string]any{"kind": "plimsoll plan", "plan": map[string]any{"hosts": hosts},
		"deployment": Deployment{Project: "shop", Engines: b.engines, Services: []Service{s}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (b *bench) target(t *testing.T, s Service, counts ...int) *Target {
	t.Helper()
	target, err := ReadPlan(b.plan(t, s, counts...))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func web() Service {
	return Service{Name: "web", Image: "app:1", Network: "none", StopSignal: "SIGKILL",
		Limits: Limits{MemoryBytes: 64 << 20, NanoCPUs: 5e8}}
}

// stands lists the containers of each engine: NAME=STATE/MEMORY.
func (b *bench) stands(t *testing.T) string {
	t.Helper()
	var containers []string
	for i, api := range b.apis {
		listed, err := api.ContainerList(context.Background(), client.ContainerListOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		var onEngine []string
		for _, c := range listed.Items {
			found, err := api.ContainerInspect(context.Background(), c.ID, client.ContainerInspectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			onEngine = append(onEngine, fmt.Sprintf("%s%s=%s/%d", b.engines[i].Name, found.Container.Name,
				found.Container.State.Status,
				found.Container.HostConfig.Memory>>20))
		}
		slices.Sort(onEngine)
		containers = append(containers, onEngine...)
	}
	return strings.Join(containers, " ")
}

func (b *bench) apply(t *testing.T, target *Target) (done []string) {
	t.Helper()
	err := Apply(t.Context(), target, b.state, func(s Step) { done = append(done, s.Do+" "+s.Engine+"/"+s.Name) })
	if err != nil {
		t.Fatal(err)
	}
	if left, err := Steps(t.Context(), target); err != nil || len(left) > 0 {
		t.Errorf("after it was applied, %+v is to do, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(b.state, "journal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a journal is left: %v", err)
	}
	return done
}

// A plan is made true, changed, and taken away; what is not the project's stays.
func TestAPlanIsMadeTrue(t *testing.T) {
	b := newBench(t, 2)
	other, err := b.apis[0].ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: "other", Image: "app:1"})
	if err != nil {
		t.Fatal(err)
	}
	const foreign = "a/other=created/0 "
	expect := func(want string) {
		t.Helper()
		if got := b.stands(t); got != want {
			t.Errorf("there stand %s, want %s", got, want)
		}
	}
	b.apply(t, b.target(t, web(), 1, 1))
	expect(foreign + "a/shop-web-1=running/64 b/shop-web-2=running/64")

	// One more, and the others stay where they are.
	if done := b.apply(t, b.target(t, web(), 1, 2)); len(done) != 2 {
		t.Errorf("%q", done)
	}
	expect(foreign + "a/shop-web-1=running/64 b/shop-web-2=running/64 b/shop-web-3=running/64")

	// One moves.
	b.apply(t, b.target(t, web(), 0, 3))
	expect(foreign + "b/shop-web-1=running/64 b/shop-web-2=running/64 b/shop-web-3=running/64")

	// What somebody changed is changed back.
	stopped := b.stop(t, 1, "shop-web-2")
	drift := limits{Memory: 32 << 20, Swap: 32 << 20}.resources()
	if _, err := b.apis[1].ContainerUpdate(t.Context(), "shop-web-1",
		client.ContainerUpdateOptions{Resources: &drift}); err != nil || !stopped {
		t.Fatal(err)
	}
	if done := b.apply(t, b.target(t, web(), 0, 3)); fmt.Sprint(done) != "[limit b/shop-web-1 start b/shop-web-2]" {
		t.Errorf("%q", done)
	}
	expect(foreign + "b/shop-web-1=running/64 b/shop-web-2=running/64 b/shop-web-3=running/64")

	// So is what somebody changed in the kernel, which the engine does not see.
	found, err := b.apis[1].ContainerInspect(t.Context(), "shop-web-3", client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	group, err := cgroup.Of(found.Container.State.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := group.Limit(result.Limits{CPUs: 0.2}, nil); err != nil {
		t.Fatal(err)
	}
	if done := b.apply(t, b.target(t, web(), 0, 3)); fmt.Sprint(done) != "[limit b/shop-web-3]" {
		t.Errorf("%q", done)
	}

	// A service that has changed is made anew.
	changed := web()
	changed.Limits.MemoryBytes = 128 << 20
	b.apply(t, b.target(t, changed, 0, 2))
	expect(foreign + "b/shop-web-1=running/128 b/shop-web-2=running/128")

	b.apply(t, b.target(t, changed, 0, 2).Nothing())
	expect(strings.TrimSpace(foreign))
	if _, err := b.apis[0].ContainerRemove(t.Context(), other.ID, client.ContainerRemoveOptions{}); err != nil {
		t.Error(err)
	}
}

func (b *bench) stop(t *testing.T, engine int, name string) bool {
	t.Helper()
	_, err := b.apis[engine].ContainerStop(t.Context(), name, client.ContainerStopOptions{})
	return err == nil
}

// Killed before and after each step of a change, it is taken back to what stood, and goes on to what is planned.
func TestAKilledApplyIsTakenBackOrFinished(t *testing.T) {
	b := newBench(t, 2)
	before := b.target(t, web(), 1, 0)
	changed := web()
	changed.Limits.MemoryBytes = 128 << 20
	file := filepath.Join(b.dir, "plan.json")
	if err := os.WriteFile(file, b.plan(t, changed, 1, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	after := b.target(t, changed, 1, 1)
	const stood, planned = "a/shop-web-1=running/64", "a/shop-web-1=running/128 b/shop-web-2=running/128"
	for _, point := range []string{"1:intent", "1:made", "2:intent", "2:made", "3:intent", "3:made", "0:committed"} {
		b.apply(t, before)
		killed := exec.CommandContext(t.Context(), os.Args[0])
		killed.Env = append(os.Environ(), childVariable+"="+file, journal.CrashVariable+"="+point)
		output, err := killed.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != -1 {
			t.Fatalf("%s: it was not killed: %v\n%s", point, err, output)
		}
		if point != "0:committed" {
			if err := Apply(t.Context(), before, b.state, func(Step) {}); err == nil {
				t.Errorf("%s: another plan was applied on top", point)
			}
			if _, err := Undo(t.Context(), before, b.state, nil); err == nil {
				t.Errorf("%s: another plan was taken back", point)
			}
			if _, err := Undo(t.Context(), after, b.state, nil); err != nil {
				t.Errorf("%s: %v", point, err)
			}
			if got := b.stands(t); got != stood {
				t.Errorf("%s: taken back, there stand %s", point, got)
			}
			if _, err := killedAgain(t, file, point); err == nil {
				t.Fatalf("%s: it was not killed", point)
			}
		}
		b.apply(t, after)
		if got := b.stands(t); got != planned {
			t.Errorf("%s: finished, there stand %s", point, got)
		}
	}
}

func killedAgain(t *testing.T, file, at string) ([]byte, error) {
	again := exec.CommandContext(t.Context(), os.Args[0])
	again.Env = append(os.Environ(), childVariable+"="+file, journal.CrashVariable+"="+at)
	return again.CombinedOutput()
}

// What is not the project's is in the way, and is neither taken nor harmed; volumes hold a container where it is.
func TestWhatIsProtected(t *testing.T) {
	b := newBench(t, 2)
	if _, err := b.apis[0].ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: "shop-web-1",
		Image: "app:1"}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*Service)
		want   string
	}{
		"name":  {func(*Service) {}, "a container of another project"},
		"image": {func(s *Service) { s.Image = "none:1" }, "docker --context a pull none:1"},
	} {
		s := web()
		test.change(&s)
		if err := Apply(t.Context(), b.target(t, s, 1, 0), b.state, func(Step) {}); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := web()
	s.Volumes = []Volume{{Name: "data", Target: "/data"}}
	b.apply(t, b.target(t, s, 0, 1))
	stood := b.stands(t)
	err := Apply(t.Context(), b.target(t, s, 1, 0), b.state, func(Step) {})
	if err == nil || !strings.Contains(err.Error(), "volumes are not") || b.stands(t) != stood {
		t.Errorf("%v; there stand %s", err, b.stands(t))
	}
	b.engines[0].ID = "another"
	err = Apply(t.Context(), b.target(t, web(), 1, 1), b.state, func(Step) {})
	if err == nil || !strings.Contains(err.Error(), "the plan was made for") || b.stands(t) != stood {
		t.Errorf("another engine: %v", err)
	}
}

// An engine that lies is found out, and one that hangs is not waited for.
func TestAttackEngine(t *testing.T) {
	id := strings.Repeat("ab", 32)
	label := `{"plimsoll.project":"shop","plimsoll.service":"web","plimsoll.number":"1"}`
	state := `"State":{"Running":true},"HostConfig":{"Memory":1},"Config":{"Labels":`
	for name, test := range map[string]struct {
		answers map[string]string // by the end of a path
		want    string
	}{
		"hangs":      {nil, "no answer within"},
		"no host":    {map[string]string{"/info": `{"ID":"X","NCPU":-1}`}, "-1 processors"},
		"no JSON":    {map[string]string{"/info": `<html>`}, "engine a"},
		"other list": {map[string]string{"/containers/json": `[{"Id":"` + id + `","Labels":` + label + `}]`, "/json": `{` + state + `{}}}`}, ""},
		"escapes in a name": {map[string]string{"/containers/json": `[{"Id":"` + id + `","Labels":` + label + `}]`,
			"/json": `{"Id":"` + id + `","Name":"/x\u001b[2J",` + state + label + `}}`}, "these are no names"},
		"path for an ID": {map[string]string{"/containers/json": `[{"Id":"` + id + `","Labels":` + label + `}]`,
			"/json": `{"Id":"../../x","Name":"/x",` + state + label + `}}`}, "these are no names"},
		"limits": {map[string]string{"/containers/create": `{"Id":"` + id + `"}`, "/images/app:1/json": "{}",
			"/json": `{"Id":"` + id + `","Name":"/shop-web-1",` + state + label + `}}`}, "limit of memory: the engine has 1,"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := Engine{Name: "a", Host: "unix://" + filepath.Join(dir, "d.sock"), ID: "X"}
			listener, err := net.Listen("unix", filepath.Join(dir, "d.sock"))
			if err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.answers == nil {
					<-stop
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Api-Version", "1.41")
				for _, end := range []string{"/containers/create", "/images/app:1/json", "/containers/json", "/networks", "/info",
					"/json"} {
					if !strings.HasSuffix(r.URL.Path, end) {
						continue
					}
					answer := test.answers[end]
					if answer == "" {
						answer = map[string]string{"/info": `{"ID":"X","NCPU":2,"MemTotal":1000000000}`,
							"/containers/json": "[]", "/networks": "[]"}[end]
					}
					if r.Method == http.MethodPost {
						w.WriteHeader(http.StatusCreated)
					}
					fmt.Fprint(w, answer)
					return
				}
				fmt.Fprint(w, "{}")
			})}
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(func() { close(stop); _ = server.Close() })
			c, err := e.connect()
			if err != nil {
				t.Fatal(err)
			}
			defer c.api.Close()
			if test.answers == nil {
				c.limit = 50 * time.Millisecond
				if _, err = c.describe(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			b := &bench{engines: []Engine{e}, state: filepath.Join(dir, "state")}
			if test.want == "" {
				steps, err := Steps(t.Context(), b.target(t, web(), 1).Nothing())
				if err != nil || len(steps) > 0 {
					t.Errorf("a container without the label is touched: %+v, %v", steps, err)
				}
				return
			}
			err = Apply(t.Context(), b.target(t, web(), 1), b.state, func(Step) {})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
