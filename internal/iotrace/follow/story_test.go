package follow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// TestStories follows requests that are told event by event. A line is
//
//	MICROSECONDS EVENT MAJ:MIN RWBS SECTOR+SECTORS [from=MAJ:MIN/SECTOR] [rest=SECTOR] [cpu=] [pid=] [cgroup=] [error=]
//	MICROSECONDS name MAJ:MIN pid=PID NAME
//
// and what is made of it is every bio, and what each device counted.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "follow" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			capture, err := tell(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			var out strings.Builder
			a, err := Analyze(t.Context(), capture, Options{PerIO: func(r *iotrace.IO) error {
				describe(&out, r)
				return nil
			}})
			if err != nil {
				fmt.Fprintf(&out, "error: %v\n", err)
			}
			if a == nil {
				return out.String()
			}
			for _, dev := range a.Devices {
				fmt.Fprintf(&out, "device %s: %s\n", dev.Name, counters(&dev))
			}
			for _, r := range a.By(iotrace.ByOp) {
				fmt.Fprintf(&out, "%s: %d requests, %d bytes:", r.Label, r.Requests, r.Bytes)
				for i, dist := range r.Intervals {
					if dist != nil {
						fmt.Fprintf(&out, " %v %d/%gus", iotrace.Interval(i), dist.Count, dist.MeanNS()/1000)
					}
				}
				out.WriteByte('\n')
			}
			for _, m := range a.Missing {
				fmt.Fprintf(&out, "missing: %s\n", m)
			}
			return out.String()
		})
	})
}

func describe(out *strings.Builder, r *iotrace.IO) {
	fmt.Fprintf(out, "%s %v %d+%d", r.Device, r.Op, r.Sector, r.Bytes>>9)
	for i, at := range []int64{r.Q, r.G, r.M, r.I, r.D, r.N, r.C} {
		if at >= 0 {
			fmt.Fprintf(out, " %c%g", "QGMIDNC"[i], float64(at)/1000)
		}
	}
	if r.Merged > 0 {
		fmt.Fprintf(out, " merged %d", r.Merged)
	}
	if r.Requeued > 0 {
		fmt.Fprintf(out, " requeued %d", r.Requeued)
	}
	if r.Error != 0 {
		fmt.Fprintf(out, " error %d", r.Error)
	}
	fmt.Fprintf(out, " for %s\n", r.Owner)
}

func counters(d *iotrace.Device) string {
	s := fmt.Sprintf("%d requests, %d bytes, depth at most %d", d.Requests, d.Bytes, d.MaxDepth)
	for _, c := range []struct {
		n    uint64
		name string
	}{
		{d.BackMerges, "back merges"}, {d.FrontMerges, "front merges"}, {d.OtherMerges, "other merges"}, {d.Splits, "splits"},
		{d.Remaps, "remaps"}, {d.Requeues, "requeues"}, {d.Plugs, "plugs"}, {d.Unplugs, "unplugs"},
		{d.UnpluggedByTimer, "unplugged by timer"}, {d.Unfinished, "unfinished"},
	} {
		if c.n > 0 {
			s += fmt.Sprintf(", %d %s", c.n, c.name)
		}
	}
	return s
}

var letters = map[string]blktrace.Action{
	"Q": blktrace.Queue | blktrace.CatQueue, "G": blktrace.GetRequest | blktrace.CatQueue,
	"I": blktrace.Insert | blktrace.CatQueue,
	"D": blktrace.Issue | blktrace.CatIssue, "C": blktrace.Complete | blktrace.CatComplete,
	"M": blktrace.BackMerge | blktrace.CatQueue,
	"F": blktrace.FrontMerge | blktrace.CatQueue, "X": blktrace.Split, "A": blktrace.Remap | blktrace.CatQueue,
	"R": blktrace.Requeue | blktrace.CatRequeue, "P": blktrace.Plug | blktrace.CatQueue,
	"U":  blktrace.Unplug | blktrace.CatQueue,
	"UT": blktrace.UnplugTimer | blktrace.CatQueue, "S": blktrace.Sleep | blktrace.CatQueue, "B": blktrace.Bounce,
	"N":    blktrace.Submit,
	"name": blktrace.NoteProcess | blktrace.CatNotify, "message": blktrace.NoteMessage | blktrace.CatNotify,
}

// tell makes a capture, of one file a CPU, of a story.
func tell(story string) ([]Source, error) {
	files := map[uint32]*bytes.Buffer{}
	w := blktrace.NewWriter(func(cpu uint32) (io.Writer, error) {
		files[cpu] = new(bytes.Buffer)
		return files[cpu], nil
	})
	for line := range strings.Lines(story) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		r, err := parse(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
		if err := w.Write(r); err != nil {
			return nil, err
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	var sources []Source
	for cpu := range uint32(len(files)) {
		sources = append(sources, Source{Name: blktrace.FileName("story", cpu), From: files[cpu]})
	}
	return sources, nil
}

func parse(words []string) (*blktrace.Record, error) {
	if len(words) < 3 {
		return nil, errors.New("too short")
	}
	us, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		return nil, err
	}
	action, ok := letters[words[1]]
	if !ok {
		return nil, errors.New("unknown event")
	}
	r := &blktrace.Record{Time: uint64(us*1000) + 1e9, Action: action, PID: 1}
	if r.Device, err = number(words[2]); err != nil {
		return nil, err
	}
	words = words[3:]
	if !action.IsNote() && len(words) > 0 {
		if i := slices.IndexFunc(words,
			func(w string) bool { return strings.ContainsAny(w, "RWDFSP") && !strings.Contains(w, "=") }); i == 0 {
			r.Action |= categories(words[0])
			words = words[1:]
		}
	}
	if action.Event() == blktrace.DriverData {
		r.PDU = []byte(blktrace.SubmitPDU)
	}
	for _, word := range words {
		if err := option(r, word); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func number(s string) (uint32, error) {
	var major, minor uint32
	_, err := fmt.Sscanf(s, "%d:%d", &major, &minor)
	return blktrace.DeviceNumber(major, minor), err
}

func categories(rwbs string) (a blktrace.Action) {
	for i, c := range rwbs {
		switch {
		case c == 'R':
			a |= blktrace.CatRead
		case c == 'W':
			a |= blktrace.CatWrite
		case c == 'D':
			a |= blktrace.CatDiscard | blktrace.CatWrite
		case c == 'S':
			a |= blktrace.CatSync
		case c == 'F' && i == 0:
			a |= blktrace.CatFlush
		case c == 'F':
			a |= blktrace.CatFUA
		case c == 'P':
			a |= blktrace.CatPassthrough
		}
	}
	return a
}

func option(r *blktrace.Record, word string) error {
	name, value, ok := strings.Cut(word, "=")
	if !ok {
		if r.Action.IsNote() {
			r.PDU = []byte(strings.ReplaceAll(word, "_", " "))
			return nil
		}
		var sectors uint32
		if _, err := fmt.Sscanf(word, "%d+%d", &r.Sector, &sectors); err != nil {
			return err
		}
		r.Bytes = sectors << 9
		return nil
	}
	if name == "from" {
		device, sector, _ := strings.Cut(value, "/")
		from, err := number(device)
		if err != nil {
			return err
		}
		at, err := strconv.ParseUint(sector, 10, 64)
		r.PDU = blktrace.RemapPDU(from, r.Device, at)
		return err
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return err
	}
	switch name {
	case "rest":
		r.PDU = blktrace.CountPDU(n)
	case "cpu":
		r.CPU = uint32(n)
	case "pid":
		r.PID = uint32(n)
	case "cgroup":
		r.Cgroup = n
	case "error":
		r.Error = uint16(-int16(n))
	case "sequence":
		r.Sequence = uint32(n)
	default:
		return fmt.Errorf("unknown option %s", name)
	}
	return nil
}
