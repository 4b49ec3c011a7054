package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Calibration is how a class was carried to another host or drive by what a run measured there.
type Calibration struct {
	Class  string `json:"class"`
	Run    string `json:"run"`
	Points int    `json:"points"` // of the run
	Before Number `json:"before"` // mean absolute error of rates there, as a share
	After  Number `json:"after"`  // and with the calibration
	Pace   Number `json:"pace"`   // times as long as operations take there
}

// mostPace is how many times as long, or as short, operations may take elsewhere: what is more is another class.
const mostPace = 20.0

// Calibrated returns the model as it is on the host of a run, with these drives: all that an operation takes of time
// (its latency, its processor time, what it holds inside its server) is so many times as long that the rates of the
// run are met. Reads, writes and limits of a host stay what they are. It returns the run's host, too. The error says
// what the run does not show of the named classes.
func (m *Model) Calibrated(run *result.Run, drives []HostDrive, names []string) (*Model, Host, error) {
	observed, _, left := Observe(run)
	out := *m
	out.Classes, out.calibrations = slices.Clone(m.Classes), nil
	var host Host
	for _, name := range names {
		at := slices.IndexFunc(out.Classes, func(f Fitted) bool { return f.Name == name })
		if at < 0 {
			continue // who asks about it learns that
		}
		f := &out.Classes[at]
		var points []Point
		for _, o := range observed {
			if like := m.like(o.Class); like != nil && like.Name == name {
				points = append(points, o.Points...)
			}
		}
		if len(points) == 0 {
			return nil, host, fmt.Errorf("run %s measured no %s alone on one stack: %s", run.ID, name,
				strings.Join(append([]string{"one point of it is enough"}, left...), "; "))
		}
		host = points[0].Host
		c, err := out.calibrate(f, points, drives)
		if err != nil {
			return nil, host, err
		}
		c.Run = run.ID
		out.calibrations = append(out.calibrations, c)
	}
	return &out, host, nil
}

// calibrate makes a class as slow as points of it were.
func (m *Model) calibrate(f *Fitted, points []Point, drives []HostDrive) (c Calibration, err error) {
	c = Calibration{Class: f.Name, Points: len(points)}
	stood := m.stood(f)
	// far returns by how much more the points are said to do than was seen, as a mean logarithm, and the mean error.
	far := func(pace float64) (apart, off float64) {
		params := f.Params.paced(pace)
		for i := range points {
			in := params.at(&points[i])
			in.stood = stood
			if len(drives) > 0 {
				in.host, in.drive = &HostKind{points[i].Host, drives}, 0
			}
			var n network
			n.lay([]instances{in}, 1)
			rates, _, ok := n.solve(nil)
			if !ok {
				return math.NaN(), math.NaN()
			}
			apart += math.Log(rates[0]/points[i].Rate()) / float64(len(points))
			off += math.Abs(rates[0]/points[i].Rate()-1) / float64(len(points))
		}
		return apart, off
	}
	_, before := far(1)
	low, high := -math.Log(mostPace), math.Log(mostPace) // of the pace: the longer operations take, the fewer are done
	fast, _ := far(math.Exp(low))
	slow, _ := far(math.Exp(high))
	if !(fast > 0 && slow < 0) {
		return c, fmt.Errorf("%s did %s operations a second in %s of the run, and no pace of operations "+
			"explains that to the model, which is %s off: what binds there is a limit. Fit the run together with the others "+
			"instead", f.Name, units.Rate(points[0].Rate()), points[0].Mix, units.Percent(before))
	}
	for range halved {
		middle := (low + high) / 2
		if apart, _ := far(math.Exp(middle)); apart > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	pace := math.Exp(low)
	_, after := far(pace)
	c.Before, c.After, c.Pace = Number(before), Number(after), Number(pace)
	f.Params = f.Params.paced(pace)
	f.Drawn = slices.Clone(f.Drawn)
	for i := range f.Drawn {
		f.Drawn[i] = f.Drawn[i].paced(pace)
	}
	f.Check.Laws, f.Check.Trials = nil, nil // they are of the host that the class was measured on
	f.calibrated = true
	return c, nil
}

// paced returns parameters of which all that an operation takes of time is so many times as long.
func (p Params) paced(pace float64) Params {
	by := Number(pace)
	for _, l := range []*Line{&p.CPU, &p.HostCPU, &p.Latency} {
		l.Base, l.More = by*l.Base, by*l.More
	}
	if p.Locked != nil {
		p.Locked = &Locked{by * p.Locked.Base, by * p.Locked.More}
	}
	p.Drive *= by
	p.Tail = slices.Clone(p.Tail)
	for i := range p.Tail {
		p.Tail[i].Mean *= by
	}
	return p
}

// Text says of a calibration how far off the model was before it, and what it made of it.
func (c *Calibration) Text() string {
	text := fmt.Sprintf("calibrated by %s of run %s: without it, %s was %s off there. Operations take %s times as long",
		plural.Count(c.Points, "point"), c.Run, c.Class, units.Percent(float64(c.Before)), units.Digits(float64(c.Pace)))
	if c.Points > 1 {
		return text + ", and these points are " + units.Percent(float64(c.After)) + " off on average"
	}
	return text + ". One point does not show how far off others are"
}
