// Package segments keeps a recording in the files of a directory: segments, of which the oldest are removed when all of
// them have more than a number of bytes.
//
// A segment is only appended to. Lines have checksums, so that what a crash or a power cut left half-written is known
// when it is read. A recorder begins a segment of its own. Segments that have ended are compressed.
//
// Hazards. The directory may be of a user, and root may write in it: files are made by package sudouser. Files with
// other names are left alone.
package segments

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/recording"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Sizes of a recording.
const (
	// LeastBytes is the least bound on a recording: some segments, so that removing one removes little of it.
	LeastBytes = 1 << 20
	// UsualBytes is the bound if there is no other: weeks of a host with 20 containers at one second.
	UsualBytes = 1 << 30

	mostSegment = 8 << 20 // before it is compressed
	parts       = 8       // at least so many segments fit within the bound
	// mostRead bounds a segment in memory: no recorder writes a larger one.
	mostRead = 64 << 20
	// syncEvery bounds what a power cut takes.
	syncEvery = 30 * time.Second
)

var segmentName = regexp.MustCompile(`^recording-([0-9]{8})\.txt(\.gz)?$`)

// segment is a file of a recording.
type segment struct {
	number int
	path   string
	packed bool
	bytes  int64
}

// list returns the segments of a directory, the oldest first. A segment that was being compressed when its recorder
// ended is there twice: the whole one counts.
func list(dir string) (segments []segment, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		m := segmentName.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // the recorder removed it
		}
		if err != nil {
			return nil, err
		}
		number, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		segments = append(segments, segment{number: number, path: filepath.Join(dir, e.Name()), packed: m[2] != "",
			bytes: info.Size()})
	}
	slices.SortFunc(segments, func(a, b segment) int {
		if a.number != b.number {
			return a.number - b.number
		}
		return strings.Compare(a.path, b.path)
	})
	return segments, nil
}

// Options are the bounds of a recording.
type Options struct {
	Bytes int64 // that all segments may have; 0 for UsualBytes
	New   bool  // there must be no segment yet
	// Warn is called when intervals are lost, and when they are written again. It may be nil.
	Warn func(text string)
}

// Writer appends to a recording. Called serially.
type Writer struct {
	dir     string
	header  recording.Header
	options Options
	lock    *os.File
	encoder recording.Encoder

	file    *os.File // nil while none could be made
	number  int      // of the segment
	written int64    // bytes of the segment that are whole lines
	synced  time.Time

	lost int // intervals since the last that was written
	why  string
}

// ErrInUse is in the error of a directory that another recorder writes to.
var ErrInUse = errors.New("another recorder writes to it")

// Open begins to record into a directory, which is made if it is missing. Segments that are there stay.
func Open(dir string, header recording.Header, o Options) (*Writer, error) {
	if o.Bytes == 0 {
		o.Bytes = UsualBytes
	}
	if o.Bytes < LeastBytes {
		return nil, problem.New(problem.Invalid, "record within "+units.Bytes(uint64(max(0, o.Bytes))),
			"a recording has several segments, and the oldest is removed as a whole",
			"allow at least "+units.Bytes(LeastBytes))
	}
	if _, err := sudouser.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the directory of the recording: %w", err)
	}
	lock, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("the directory of the recording: %w", err)
	}
	if err := filelock.Try(lock, filelock.Alone); err != nil {
		_ = lock.Close() // it was only read
		if errors.Is(err, filelock.ErrHeld) {
			return nil, problem.New(problem.Invalid, "record into "+dir, ErrInUse.Error(),
				"end it, or name another directory").CausedBy(ErrInUse)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	w := &Writer{dir: dir, header: header, options: o, lock: lock}
	if err := w.takeOver(); err != nil {
		w.drop()
		_ = lock.Close() // likewise
		return nil, err
	}
	return w, nil
}

// takeOver compresses what earlier recorders left, and begins the first segment.
func (w *Writer) takeOver() error {
	old, err := list(w.dir)
	if err != nil {
		return fmt.Errorf("the directory of the recording: %w", err)
	}
	if w.options.New && len(old) > 0 {
		return problem.New(problem.Invalid, "record into "+w.dir, "it has a recording", "name another directory")
	}
	for _, s := range old {
		w.number = max(w.number, s.number)
		if !s.packed {
			w.pack(s.path)
		}
	}
	return w.begin()
}

// begin makes the next segment.
func (w *Writer) begin() error {
	if err := w.removeOldest(); err != nil {
		return err
	}
	path := filepath.Join(w.dir, fmt.Sprintf("recording-%08d.txt", w.number+1))
	f, err := sudouser.New(path, 0o644)
	if err != nil {
		return fmt.Errorf("a new segment of the recording: %w", err)
	}
	w.number++
	w.file, w.written, w.synced = f, 0, time.Now()
	return w.append(w.encoder.Begin(w.header))
}

// append appends whole lines, or nothing.
func (w *Writer) append(lines []byte) error {
	n, err := w.file.Write(lines)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, w.file.Truncate(w.written))
			_, seekErr := w.file.Seek(w.written, io.SeekStart)
			err = errors.Join(err, seekErr)
		}
		return err
	}
	w.written += int64(n)
	return nil
}

// Add appends an interval. If it cannot be written, as the disk is full, it is lost: Options.Warn is called once, later
// intervals are tried, and the first that is written says how many are missing.
func (w *Writer) Add(row recording.Row) {
	err := w.add(row)
	switch {
	case err == nil && w.lost > 0:
		w.warn(fmt.Sprintf("the recording goes on; %s lost", plural.Count(w.lost, "interval")))
		w.lost = 0
	case err != nil:
		if w.lost == 0 {
			w.warn(fmt.Sprintf("an interval is not recorded: %v; the next ones are tried", err))
		}
		w.lost++
		w.why = err.Error()
	}
}

func (w *Writer) warn(text string) {
	if w.options.Warn != nil {
		w.options.Warn(text)
	}
}

func (w *Writer) add(row recording.Row) error {
	if w.file == nil {
		if err := w.begin(); err != nil {
			w.drop()
			return err
		}
	}
	var lines []byte
	if w.lost > 0 {
		lines = w.encoder.Lost(w.lost, w.why)
	}
	if err := w.append(append(lines, w.encoder.Interval(row)...)); err != nil {
		w.encoder.Forget() // things of this interval are in no line
		return err
	}
	if time.Since(w.synced) >= syncEvery {
		w.synced = time.Now()
		if err := w.file.Sync(); err != nil {
			return fmt.Errorf("write the recording to the disk: %w", err)
		}
	}
	if w.written >= min(mostSegment, w.options.Bytes/parts) {
		w.end()
	}
	return nil
}

// drop removes a segment without a header.
func (w *Writer) drop() {
	if w.file == nil {
		return
	}
	name := w.file.Name()
	_ = w.file.Close()
	_ = sudouser.Remove(name) // else it is read as one without intervals
	w.file = nil
}

// end ends the segment. What follows begins another.
func (w *Writer) end() {
	if w.file == nil {
		return
	}
	name := w.file.Name()
	_ = w.file.Sync() // it is read back below
	_ = w.file.Close()
	w.file = nil
	w.pack(name)
}

// pack compresses a segment. One that cannot be compressed stays as it is.
func (w *Writer) pack(path string) {
	text, err := inputfile.ReadOwn(path, mostRead)
	if err != nil {
		return
	}
	err = sudouser.Replace(path+".gz", func(to io.Writer) error {
		z := gzip.NewWriter(to)
		_, err := z.Write(text)
		return errors.Join(err, z.Close())
	})
	if err == nil {
		_ = sudouser.Remove(path) // it is read once, see list
	}
}

// removeOldest removes the oldest segments until there is room for another.
func (w *Writer) removeOldest() error {
	existing, err := list(w.dir)
	if err != nil {
		return fmt.Errorf("the directory of the recording: %w", err)
	}
	total := min(mostSegment, w.options.Bytes/parts)
	for _, s := range existing {
		total += s.bytes
	}
	for _, s := range existing {
		if total <= w.options.Bytes {
			return nil
		}
		if err := sudouser.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the oldest segment: %w", err)
		}
		total -= s.bytes
	}
	return nil
}

// Close ends the recording.
func (w *Writer) Close() error {
	w.end()
	return w.lock.Close()
}

// Read reads a recording: a directory of segments, or a segment. since and until bound the intervals, unless they are
// zero.
func Read(name string, since, until time.Time) (*recording.Recording, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, problem.New(problem.Invalid, "read the recording "+name, "there is none, or it may not be read",
			`record one with "plimsoll watch --record DIR"`).CausedBy(err)
	}
	files := []segment{{path: name, packed: strings.HasSuffix(name, ".gz")}}
	if info.IsDir() {
		if files, err = list(name); err != nil {
			return nil, fmt.Errorf("read the recording: %w", err)
		}
		if len(files) == 0 {
			return nil, problem.New(problem.Invalid, "read the recording "+name, "the directory has no segment of a recording",
				`record with "plimsoll watch --record DIR", or import one with "plimsoll import"`)
		}
	}
	d := recording.Decoder{Since: since, Until: until}
	for i, s := range files {
		if i > 0 && files[i-1].number == s.number && info.IsDir() {
			continue // the other was compressed, and its recorder ended before it was removed
		}
		text, err := readSegment(s)
		if errors.Is(err, fs.ErrNotExist) && !s.packed { // its recorder compressed it a moment ago
			text, err = readSegment(segment{path: s.path + ".gz", packed: true})
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // its recorder removed it
		}
		if err == nil {
			err = d.Segment(filepath.Base(s.path), text)
		}
		if errors.Is(err, recording.ErrTooLong) {
			return nil, problem.New(problem.Invalid, "read the recording "+name, err.Error(),
				"take a part of it, such as --last 24h").CausedBy(err)
		}
		if err != nil {
			return nil, fmt.Errorf("read the recording: %w", err)
		}
	}
	if d.Recording() == nil || len(d.Recording().Times) == 0 {
		return nil, problem.New(problem.Invalid, "read the recording "+name, "it has no interval of the time asked for",
			"wait for the recorder, or ask for another time")
	}
	return d.Recording(), nil
}

// Has reports whether a path is of a recording: a directory with a segment, or a file with the name of one.
func Has(name string) bool {
	info, err := os.Stat(name)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return info.Mode().IsRegular() && segmentName.MatchString(filepath.Base(name))
	}
	files, err := list(name)
	return err == nil && len(files) > 0
}

// ReadLast reads the last part of a recording; all of it for 0.
func ReadLast(name string, last time.Duration) (*recording.Recording, error) {
	if last <= 0 {
		return Read(name, time.Time{}, time.Time{})
	}
	end, err := endOf(name)
	if err != nil {
		return nil, err
	}
	return Read(name, end.Add(-last), time.Time{})
}

// endOf returns the end of the last interval of a recording.
func endOf(name string) (time.Time, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		files, err := list(name)
		if err != nil {
			return time.Time{}, fmt.Errorf("read the recording: %w", err)
		}
		for _, s := range slices.Backward(files) { // the last may be without an interval
			if r, err := Read(s.path, time.Time{}, time.Time{}); err == nil {
				return r.Times[len(r.Times)-1], nil
			}
		}
	}
	r, err := Read(name, time.Time{}, time.Time{})
	if err != nil {
		return time.Time{}, err
	}
	return r.Times[len(r.Times)-1], nil
}

// readSegment returns the lines of a segment. A compressed one that was cut off gives what is there.
func readSegment(s segment) ([]byte, error) {
	text, err := inputfile.Read(s.path, mostRead)
	if err != nil || !s.packed {
		return text, err
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	text, err = io.ReadAll(io.LimitReader(z, mostRead))
	var corrupt flate.CorruptInputError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		err = nil // lines have checksums of their own
	}
	return text, err
}
