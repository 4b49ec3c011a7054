package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/database"
	"plimsoll/internal/result"
)

// asGenerator makes this test binary the generator on the other machine, which does what its value names.
const asGenerator = "PLIMSOLL_REMOTE_TEST"

func TestMain(m *testing.M) {
	how := os.Getenv(asGenerator)
	if how == "" {
		os.Exit(m.Run())
	}
	if how == "silent" {
		os.Exit(7)
	}
	_, _ = os.Stdout.WriteString("Last login: today\n" + strings.Repeat("x", 1<<17) + "\n")
	err := Serve(context.Background(), os.Stdin, os.Stdout,
		func(ctx context.Context, s *Session) (*result.ClientCPU, error) { return generator(ctx, s, how) })
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// generator is one that says what it was asked for, and goes on until it is told to stop.
func generator(ctx context.Context, s *Session, how string) (*result.ClientCPU, error) {
	if how == "fails" {
		return nil, errors.New("the database is not there")
	}
	if err := s.Gate(ctx); err != nil {
		return nil, err
	}
	_, _ = s.Output.Write(
		[]byte(string(s.Mode) + " " + string(s.Plan) + " " + s.Relay.Address + " " + string(s.Relay.Key)),
	)
	if how == "dies" {
		os.Exit(9)
	}
	if how == "endless" {
		for ctx.Err() == nil {
			_, _ = s.Output.Write(make([]byte, 1<<20))
		}
	}
	if how == "long" {
		_, _ = s.Output.Write(bytes.Repeat([]byte{0, '\n', 255}, 1<<20))
		<-ctx.Done()
	}
	return &result.ClientCPU{CPUs: 4, User: 1.5}, nil
}

// process is a connection to a generator of this host.
type process struct {
	io.Reader
	io.WriteCloser
	*exec.Cmd
}

func (p process) Kill() { _ = p.Process.Kill() }

func other(t *testing.T, how string) process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asGenerator+"="+how)
	up, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	down, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return process{up, down, cmd}
}

var request = Request{
	Mode:  Generate,
	Plan:  []byte(`{"a":1}`),
	Relay: database.Relay{Address: "10.0.0.1:1", Key: "00ff"},
}

const answer = `generate {"a":1} 10.0.0.1:1 00ff`

// The request arrives, the load begins once the gate opens, and what was measured comes back.
func TestControl(t *testing.T) {
	var output bytes.Buffer
	var order []string
	gate := func(context.Context) error {
		order = append(order, "gate", output.String())
		return nil
	}
	end, err := Control(t.Context(), other(t, "short"), request, Options{Output: &output, Gate: gate})
	if err != nil || end.Error != "" || end.CPU == nil || end.CPU.User != 1.5 || output.String() != answer {
		t.Errorf("%+v, %v: %s", end, err, output.String())
	}
	if !slices.Equal(order, []string{"gate", ""}) {
		t.Errorf("before the gate opened: %q", order)
	}
}

// stopper ends a context at the first output.
type stopper struct {
	bytes.Buffer
	stop func()
}

func (s *stopper) Write(text []byte) (int, error) {
	s.stop()
	return s.Buffer.Write(text)
}

// A generator that is asked to stop ends well, with all of its output.
func TestStoppedGenerator(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	output := &stopper{stop: stop}
	end, err := Control(ctx, other(t, "long"), request, Options{Output: output})
	if err != nil || end.Error != "" || output.Len() != len(answer)+3<<20 {
		t.Errorf("%+v, %v, %d bytes", end, err, output.Len())
	}
}

func TestFailures(t *testing.T) {
	end, err := Control(t.Context(), other(t, "fails"), request, Options{Output: &bytes.Buffer{}})
	if err != nil || end.Error != "the database is not there" {
		t.Errorf("a generator that fails: %+v, %v", end, err)
	}
	for how, want := range map[string]string{"dies": "exit status 9", "silent": "did not start"} {
		_, err := Control(t.Context(), other(t, how), request, Options{Output: &bytes.Buffer{}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a generator that is %s: %v", how, err)
		}
	}
	closed := errors.New("the gate fell")
	_, err = Control(t.Context(), other(t, "short"), request, Options{Output: &bytes.Buffer{},
		Gate: func(context.Context) error { return closed }})
	if !errors.Is(err, closed) {
		t.Errorf("a gate that does not open: %v", err)
	}
}

// A generator whose connection is lost ends.
func TestLostConnection(t *testing.T) {
	c := other(t, "long")
	_, _ = c.Write([]byte(`{"mode":"generate","plan":{},"relay":{"address":"","key":""}}` + "\n" + `{"go":true}` + "\n"))
	go func() { _, _ = io.Copy(io.Discard, c) }()
	_ = c.Close()
	if err := c.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// What is no request is refused, however long it is.
func TestAttackRequests(t *testing.T) {
	for _, text := range []string{"", "{}", "{", `{"mode":"generate","shell":"id"}` + "\n",
		strings.Repeat("[", mostLine+1)} {
		done := false
		err := Serve(t.Context(), strings.NewReader(text), &bytes.Buffer{},
			func(context.Context, *Session) (*result.ClientCPU, error) { done = true; return nil, nil })
		if err == nil || done {
			t.Errorf("%.40q: %v, %t", text, err, done)
		}
	}
}

// TestAttackOutputThatDoesNotStop: a generator that goes on printing does not fill this host's disk.
func TestAttackOutputThatDoesNotStop(t *testing.T) {
	usual := mostOutput
	mostOutput = 8 << 20
	t.Cleanup(func() { mostOutput = usual })
	output := &bytes.Buffer{}
	_, err := Control(t.Context(), other(t, "endless"), request, Options{Output: output})
	if err == nil || !strings.Contains(err.Error(), "output has more than") || output.Len() > mostOutput {
		t.Errorf("%v, %d bytes", err, output.Len())
	}
}
