package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var testRules = Rules{BrokenFor: 5 * time.Minute, Cooldown: 30 * time.Minute, Budget: 2}

var testStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is containers on engines, whose p99s a test makes.
type world struct {
	engineOf map[string]string
	now      time.Time
	places   []string
	moves    []string
}

func (w *world) look(
	t *testing.T,
	decide func(Look) []Decision,
	observe func(name, engine string) Observed,
) []Decision {
	t.Helper()
	l := Look{Time: w.now}
	for _, name := range w.places {
		o := observe(name, w.engineOf[name])
		o.Name, o.Engine = name, w.engineOf[name]
		l.Containers = append(l.Containers, o)
	}
	decisions := decide(l)
	for _, d := range decisions {
		if d.Why == "" {
			t.Errorf("%+v has no reason", d)
		}
		if d.Do == Move {
			w.engineOf[d.Container] = d.To
			w.moves = append(w.moves, fmt.Sprintf("%s %s>%s", d.Container, d.From, d.To))
		}
	}
	return decisions
}

func rooms(engines ...string) (all []Room) {
	for _, e := range engines {
		all = append(all, Room{Engine: e, P99: 0.005})
	}
	return all
}

// A container whose p99 breaks on one engine is moved once, however the p99 is there, and each refusal has its reason.
func TestABrokenLimitMovesItsContainerOnce(t *testing.T) {
	for name, test := range map[string]struct {
		slowOn string // engines on which the p99 is above the limit
		change func(*Observed)
		rules  func(*Rules)
		moves  string
		why    string // in the last decision
	}{
		"moved": {slowOn: "a",
			moves: "[x a>b]", why: "keeps to the limit"},
		"slow all over": {slowOn: "ab",
			moves: "[x a>b]", why: "it broke on a, too"},
		"never slow": {moves: "[]", why: "keeps to the limit"},
		"volumes": {slowOn: "a", change: func(o *Observed) { o.Volumes = true },
			moves: "[]", why: "volumes are here"},
		"no room": {slowOn: "a", change: func(o *Observed) { o.Rooms[0] = Room{Engine: "b", Full: "no memory"} },
			moves: "[]", why: "no memory"},
		"room too near": {slowOn: "a", change: func(o *Observed) { o.Rooms[0].P99 = 0.009 },
			moves: "[]", why: "too near"},
		"no budget": {slowOn: "a", rules: func(r *Rules) { r.Budget = 0 },
			moves: "[]", why: "budget of 0 moves"},
		"no other": {slowOn: "a", change: func(o *Observed) { o.Rooms = nil },
			moves: "[]", why: "no other engine"},
		"nothing known": {slowOn: "a", change: func(o *Observed) { o.P99 = 0 },
			moves: "[]", why: "not known"},
		"a long patience": {slowOn: "a", rules: func(r *Rules) { r.BrokenFor = 9 * time.Hour },
			moves: "[]", why: "not known for long enough"},
		"a long cooldown": {slowOn: "ab", rules: func(r *Rules) { r.Cooldown = 9 * time.Hour },
			moves: "[x a>b]", why: "the cooldown is 9h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			rules := testRules
			if test.rules != nil {
				test.rules(&rules)
			}
			w := &world{engineOf: map[string]string{"x": "a"}, now: testStart, places: []string{"x"}}
			k := NewKeeper(rules)
			var last []Decision
			for range 240 {
				last = w.look(t, k.Decide, func(_, engine string) Observed {
					o := Observed{P99: 0.004, Limit: 0.01, Rooms: rooms("b")}
					if engine == "b" {
						o.Rooms = rooms("a")
					}
					if strings.Contains(test.slowOn, engine) {
						o.P99 = 0.02
					}
					if test.change != nil {
						test.change(&o)
					}
					return o
				})
				w.now = w.now.Add(30 * time.Second)
			}
			if got := fmt.Sprint(w.moves); got != test.moves || !strings.Contains(last[0].Why, test.why) {
				t.Errorf("moves %s, at last %+v", got, last)
			}
		})
	}
}

// What rises above the limit for less than long enough, or in too few looks, moves nothing.
func TestNoiseMovesNothing(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := &world{engineOf: map[string]string{"x": "a"}, now: testStart, places: []string{"x"}}
		k := NewKeeper(testRules)
		for i := range 500 {
			w.look(t, k.Decide, func(string, string) Observed {
				o := Observed{P99: 0.001 + 0.006*random.Float64(), Limit: 0.01, Rooms: rooms("b")}
				if i%20 < 7 { // 3.5 minutes of 10
					o.P99 = 0.1
				}
				return o
			})
			w.now = w.now.Add(30 * time.Second)
		}
		if len(w.moves) > 0 {
			t.Errorf("seed %d: %q", seed, w.moves)
		}
	}
}

// Whatever is observed, budget and cooldown hold, nothing goes back to where its limit broke, only a limit that was
// broken for long enough moves anything, and the log is decided again to the same.
func TestDecisionsKeepTheirRules(t *testing.T) {
	total := 0
	for seed := range uint64(25) {
		random := rand.New(rand.NewPCG(seed, 2))
		rules := Rules{BrokenFor: time.Duration(1+random.IntN(10)) * time.Minute,
			Cooldown: time.Duration(random.IntN(90)) * time.Minute, Budget: random.IntN(4)}
		engines := []string{"a", "b", "c", "d"}[:2+random.IntN(3)]
		w := &world{engineOf: map[string]string{}, now: testStart}
		for i := range 1 + random.IntN(6) {
			name := fmt.Sprintf("x%d", i)
			w.places = append(w.places, name)
			w.engineOf[name] = engines[random.IntN(len(engines))]
		}
		places := map[string]string{}
		for name, engine := range w.engineOf {
			places[name] = engine
		}
		file := filepath.Join(t.TempDir(), "log")
		open := func() *decisions {
			log, err := openDecisions(file, "plan", rules, places)
			if err != nil {
				t.Fatal(err)
			}
			log.sync = func() error { return nil } // a crash of the host is not tried
			return log
		}
		log := open()
		type seen struct {
			lookedAt time.Time
			known    bool
			exceeded bool
		}
		history, moved, left := map[string][]seen{}, map[string]time.Time{}, map[string]time.Time{}
		var moves []time.Time
		slow := map[string]bool{}
		for i := range 240 {
			if random.IntN(40) == 0 {
				slow[w.places[random.IntN(len(w.places))]+engines[random.IntN(len(engines))]] = random.IntN(3) > 0
			}
			offered := map[string]Room{}
			engineBefore := map[string]string{}
			for name, engine := range w.engineOf {
				engineBefore[name] = engine
			}
			decisions := w.look(t, func(l Look) []Decision {
				decided, err := log.decide(l)
				if err != nil {
					t.Fatal(err)
				}
				return decided
			}, func(name, engine string) Observed {
				o := Observed{P99: 0.02 * random.Float64() * random.Float64(), Limit: 0.01, Volumes: name == "x5"}
				if slow[name+engine] {
					o.P99 += 0.01
				}
				if random.IntN(10) == 0 {
					o.P99 = 0
				}
				history[name] = append(history[name], seen{w.now, o.P99 > 0, o.P99 > margin*o.Limit})
				for _, e := range engines {
					r := Room{Engine: e, P99: 0.01 * random.Float64()}
					if random.IntN(4) == 0 {
						r = Room{Engine: e, Full: "full"}
					}
					o.Rooms = append(o.Rooms, r)
					offered[name+e] = r
				}
				return o
			})
			for _, d := range decisions {
				if d.Do != Move {
					continue
				}
				total++
				r, key := offered[d.Container+d.To], d.Container+d.To
				before, again := moved[d.Container]
				back, was := left[key]
				known, exceeded := 0, 0
				for _, s := range history[d.Container] {
					if w.now.Sub(s.lookedAt) <= rules.BrokenFor && s.known {
						known++
						if s.exceeded {
							exceeded++
						}
					}
				}
				hour := 1
				for _, m := range moves {
					if w.now.Sub(m) < time.Hour {
						hour++
					}
				}
				switch {
				case d.From != engineBefore[d.Container] || d.To == d.From:
					t.Errorf("seed %d: %+v, and it stood on %s", seed, d, engineBefore[d.Container])
				case r.Full != "" || r.P99 > 0.008 || d.Container == "x5":
					t.Errorf("seed %d: %+v, where there was %+v", seed, d, r)
				case again && w.now.Sub(before) < rules.Cooldown:
					t.Errorf("seed %d: %+v, %s after another move", seed, d, w.now.Sub(before))
				case was && w.now.Sub(back) < 24*time.Hour:
					t.Errorf("seed %d: %+v, where it broke", seed, d)
				case hour > rules.Budget:
					t.Errorf("seed %d: %d moves in an hour, the budget is %d", seed, hour, rules.Budget)
				case known < 3 || 10*exceeded < 8*known:
					t.Errorf("seed %d: %+v, with %d of %d looks above", seed, d, exceeded, known)
				}
				moves, moved[d.Container], left[d.Container+d.From] = append(moves, w.now), w.now, w.now
				history[d.Container] = nil
			}
			w.now = w.now.Add(time.Duration(10+random.IntN(30)) * time.Second)
			if i%80 == 79 { // it ends, in the middle of a line, and goes on
				log.file.Close()
				f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprint(f, `{"time":"2026`)
				f.Close()
				log = open()
				if got, want := fmt.Sprint(log.places), fmt.Sprint(w.engineOf); got != want {
					t.Fatalf("seed %d: the log has %s, and %s stands", seed, got, want)
				}
			}
		}
		log.file.Close()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Replay(bytes.NewReader(text))
		if err != nil || r.Looks != 240 || r.Moves != len(moves) {
			t.Fatalf("seed %d: %+v, %v", seed, r, err)
		}
		for _, change := range [][2]string{{`"do":"move"`, `"do":"stay"`}, {`"do":"refuse"`, `"do":"stay"`},
			{`"limit_seconds":0.01`, `"limit_seconds":0`}} {
			other := strings.Replace(string(text), change[0], change[1], 1)
			if _, err := Replay(strings.NewReader(other)); other != string(text) && err == nil {
				t.Errorf("seed %d: with %s the log is decided again to the same", seed, change[1])
			}
		}
	}
	if total < 15 {
		t.Errorf("%d moves in all: this shows nothing", total)
	}
}

// A log of another plan, of other rules, or of other containers is not gone on with, nor is what is no log.
func TestOtherLogsAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	places := map[string]string{"x": "a"}
	log, err := openDecisions(file, "plan", testRules, places)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openDecisions(
		file,
		"plan",
		testRules,
		places,
	); err == nil ||
		!strings.Contains(err.Error(), "wait for it") {
		t.Errorf("opened twice: %v", err)
	}
	log.file.Close()
	other := testRules
	other.Budget++
	fifo, mine := filepath.Join(t.TempDir(), "fifo"), filepath.Join(t.TempDir(), "mine")
	if err := errors.Join(unix.Mkfifo(fifo, 0o600), os.WriteFile(mine, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for want, open := range map[string]func() error{
		"another plan": func() error { _, err := openDecisions(file, "other", testRules, places); return err },
		"other rules":  func() error { _, err := openDecisions(file, "plan", other, places); return err },
		"container y": func() error {
			_, err := openDecisions(file, "plan", testRules, map[string]string{"y": "a"})
			return err
		},
		"it is no file":        func() error { _, err := openDecisions(fifo, "plan", testRules, places); return err },
		"it has no whole line": func() error { _, err := openDecisions(mine, "plan", testRules, places); return err },
		"no log":               func() error { _, err := Replay(strings.NewReader("{}\n")); return err },
		"no whole line":        func() error { _, err := Replay(strings.NewReader(`{"kind":`)); return err },
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "mine" {
		t.Errorf("another file became %q, %v", text, err)
	}
}

// FuzzReplay reads logs that somebody has edited: no crash, and what is accepted is decided the same again.
func FuzzReplay(f *testing.F) {
	line := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		return string(text) + "\n"
	}
	head := logHead{decisionsKind, 1, "plan", testRules, map[string]string{"x": "a"}}
	look := Look{testStart, []Observed{{Name: "x", Engine: "a", P99: 0.02, Limit: 0.01, Rooms: rooms("b")}}}
	f.Add([]byte(line(head) + line(logLine{look, NewKeeper(testRules).Decide(look)})))
	f.Add([]byte(line(head) + `{"containers":[{}],"decisions":[]}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := Replay(bytes.NewReader(text))
		again, errAgain := Replay(bytes.NewReader(text))
		if (err == nil) != (errAgain == nil) || err == nil && (first.Looks != again.Looks || first.Moves != again.Moves) {
			t.Errorf("%+v %v, and %+v %v", first, err, again, errAgain)
		}
	})
}
