package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// talkVariable makes the test binary a server, or a client of the address that it names.
const talkVariable = "PLIMSOLL_APPLY_TEST_TALK"

// talkAs serves the secret on port 7000, or ends once the server of that name has said it. With an argument it ends at
// once, and says by its exit code whether the server is there.
func talkAs(role string) {
	if role == "serve" && len(os.Args) == 1 {
		listener, err := net.Listen("tcp", ":7000")
		for err == nil {
			var c net.Conn
			if c, err = listener.Accept(); err == nil {
				secret, _ := os.ReadFile("/run/secrets/word")
				_, _ = c.Write(secret)
				_ = c.Close()
			}
		}
		os.Exit(1)
	}
	if role == "serve" {
		role = "localhost:7000"
	}
	for {
		var received []byte
		c, err := net.Dial("tcp", role)
		if err == nil {
			received, _ = io.ReadAll(c)
			_ = c.Close()
		}
		switch {
		case string(received) == "open sesame":
			os.Exit(0)
		case len(os.Args) > 1:
			os.Exit(1)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// shopFile is a server with a secret, which is healthy once it serves, a client that ends once it has heard the secret,
// by a name of the server, and what waits for that end.
const shopFile = `name: shop
x-app: &app {image: "app:1", stop_signal: SIGKILL, labels: {plimsoll.class: C}}
services:
  db:
    <<: *app
    container_name: store
    environment: {PLIMSOLL_APPLY_TEST_TALK: serve}
    healthcheck: {test: [CMD, /app, health], interval: 100ms, retries: 1000}
    secrets: [word]
    networks: [back, front]
  client:
    <<: *app
    environment: {PLIMSOLL_APPLY_TEST_TALK: "store:7000"}
    depends_on: {db: {condition: service_healthy}}
    networks: [front]
  last:
    <<: *app
    depends_on: {client: {condition: service_completed_successfully}}
    networks: [front]
networks: {front: {}, back: {internal: true}}
secrets: {word: {file: word}}
`

// shop returns the text of a plan of shopFile, all of it on the first engine.
func (b *bench) shop(t *testing.T) []byte {
	t.Helper()
	p, err := ReadCompose(t.Context(), "compose.yaml", []byte(shopFile), nil, files{"word": "open sesame"})
	if err != nil {
		t.Fatal(err)
	}
	var placed []map[string]any
	for _, s := range p.Services {
		placed = append(placed, map[string]any{"containers": s.Name, "count": 1})
	}
	text, err := json.Marshal(map[string]any{"kind": "plimsoll plan",
		"plan":       map[string]any{"hosts": []map[string]any{{"hosts": []string{"a"}, "containers": placed}}},
		"deployment": Deployment{Project: p.Name, Engines: b.engines, Services: p.Services}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// nothingLeft sees that an engine has neither containers nor networks of the project.
func (b *bench) nothingLeft(t *testing.T, when string) {
	t.Helper()
	for i, api := range b.apis {
		listed, err := api.NetworkList(context.Background(), client.NetworkListOptions{
			Filters: make(client.Filters).Add("label", labelProject)})
		if err != nil || len(listed.Items) > 0 {
			t.Errorf("%s: engine %d has the networks %+v, %v", when, i, listed.Items, err)
		}
	}
	if stands := b.stands(t); stands != "" {
		t.Errorf("%s: there stand %s", when, stands)
	}
}

// Services of one group reach each other by their names, which the client's good end shows; they are started in their
// order. Killed at each step, the plan is taken back or finished, and nothing is left once it is removed.
func TestServicesOfAGroupReachEachOther(t *testing.T) {
	hosttest.Soak(t)
	b := newBench(t, 2)
	text := b.shop(t)
	target, err := ReadPlan(text)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(b.dir, "plan.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	const planned = "a/shop-client-1=exited/0 a/shop-db-1=running/0 a/shop-last-1=running/0"
	for _, point := range []string{"1:made", "4:intent", "0:committed"} {
		killed := exec.CommandContext(t.Context(), os.Args[0])
		killed.Env = append(os.Environ(), childVariable+"="+file, journal.CrashVariable+"="+point)
		output, err := killed.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != -1 {
			t.Fatalf("%s: it was not killed: %v\n%s", point, err, output)
		}
		if point != "0:committed" {
			if _, err := Undo(t.Context(), target, b.state, nil); err != nil {
				t.Errorf("%s: %v", point, err)
			}
			b.nothingLeft(t, point+", taken back")
			if _, err := killedAgain(t, file, point); err == nil {
				t.Fatalf("%s: it was not killed", point)
			}
		}
		b.apply(t, target)
		if got := b.stands(t); got != planned {
			t.Errorf("%s: there stand %s, want %s", point, got, planned)
		}
		b.apply(t, target.Nothing())
		b.nothingLeft(t, point+", removed")
	}
}

// A network of that name that is not the project's is in the way, and a service waits in vain for what cannot become
// healthy.
func TestNetworksOfOthersAndDependenciesThatFail(t *testing.T) {
	b := newBench(t, 1)
	text := b.shop(t)
	target, err := ReadPlan(text)
	if err != nil {
		t.Fatal(err)
	}
	made, err := b.apis[0].NetworkCreate(t.Context(), "shop.front", client.NetworkCreateOptions{Driver: "bridge"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Apply(t.Context(), target, b.state, func(Step) {}); err == nil ||
		!strings.Contains(err.Error(), "is not of project shop") {
		t.Errorf("the network of another: %v", err)
	}
	if _, err := b.apis[0].NetworkRemove(t.Context(), made.ID, client.NetworkRemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	b.nothingLeft(t, "refused")
	unhealthy := strings.Replace(string(text), `"test":["CMD","/app","health"]`, `"test":["CMD","/none"]`, 1)
	target, err = ReadPlan([]byte(strings.Replace(unhealthy, `"retries":1000`, `"retries":1`, 1)))
	if err != nil || unhealthy == string(text) {
		t.Fatal(err)
	}
	if err := Apply(t.Context(), target, b.state, func(Step) {}); err == nil ||
		!strings.Contains(err.Error(), "it is unhealthy") {
		t.Errorf("what is never healthy: %v", err)
	}
	if _, err := Undo(t.Context(), target, b.state, nil); err != nil {
		t.Error(err)
	}
	b.nothingLeft(t, "taken back")
}

// A service that is reached by ports has the address of its engine on others, under all its names, and its clients are
// made again where it moves.
func TestServicesReachPortsOfOtherEngines(t *testing.T) {
	service := func(name string, more Service) Service {
		more.Name, more.Image, more.Replicas = name, "app:1", 1
		more.Networks = []Attachment{{Name: "default", Aliases: []string{name, name + "-alias"}}}
		return more
	}
	target := &Target{Deployment: Deployment{Project: "shop", Engines: twoEngines(), Services: []Service{
		service("app", Service{Reaches: []string{"db"}, ExtraHosts: []string{"x:10.0.0.9"}}), service("db", Service{})}}}
	specs := map[string]string{}
	for arrangement, counts := range map[string][]int{"apart": {0, 1}, "together": {1, 0}} {
		target.counts = [][]int{{1, 0}, counts}
		s := &scene{target: target, networks: make([]map[string]string, 2)}
		placed, wrong := s.placed(0, 0)
		want := "[x:10.0.0.9]"
		if arrangement == "apart" {
			want = "[x:10.0.0.9 db:10.0.0.2 db-alias:10.0.0.2]"
		}
		if got := fmt.Sprint(placed.ExtraHosts); got != want || len(wrong) > 0 {
			t.Errorf("%s: it has %s, want %s; %v", arrangement, got, want, wrong)
		}
		specs[placed.spec()] = arrangement
	}
	if len(specs) != 2 {
		t.Errorf("where the server stands makes no other container: %v", specs)
	}
	target.Engines = []Engine{{Name: "a"}, {Name: "b"}}
	target.counts = [][]int{{1, 0}, {0, 1}}
	if _, wrong := (&scene{target: target}).placed(0, 0); len(wrong) != 1 || wrong[0].Remedy == "" {
		t.Errorf("an engine without an address: %v", wrong)
	}
}
