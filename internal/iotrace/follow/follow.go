package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// Source is one file of a capture.
type Source struct {
	Name string    // for errors; one that ends in ".blktrace.N" is CPU N's
	From io.Reader // any size of reads will do: it is buffered
	Size int64     // in bytes; 0 for unknown, as of standard input
}

// Options configure the analysis of a capture. The zero value is usable.
type Options struct {
	Strict  bool // refuse a capture that is damaged
	Threads int  // 0 and 1: all in the calling goroutine; the result is the same

	// PerIO is given every request and bio that was merged into one, in the
	// order of completion, and those that were not completed at the end. Its
	// argument is good until it returns; its error ends the analysis.
	PerIO func(*iotrace.IO) error

	// Progress is told how many bytes are done, and of how many; 0 for unknown.
	Progress func(done, total int64)

	// DeviceName returns the kernel name of a device, or "". Without a name, from it or from a message in the
	// capture, a device is called by its MAJ:MIN.
	DeviceName func(major, minor uint32) string
}

// DamageError lists the damage in a capture whose sound part was analysed.
type DamageError struct {
	Places []error // the first ones: *blktrace.FormatError, or of reading a file
	More   int     // that are not in Places

	nothing bool // is sound
}

func (e *DamageError) Error() string {
	var first *blktrace.FormatError
	if e.nothing && errors.As(e.Places[0], &first) {
		return "not a blktrace capture, and not blkparse's text: " + first.Reason
	}
	lines := make([]string, 0, len(e.Places)+1)
	for _, p := range e.Places {
		lines = append(lines, p.Error())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more such places", e.More))
	}
	return "the capture is damaged:\n" + strings.Join(lines, "\n")
}

// Unwrap returns the Places.
func (e *DamageError) Unwrap() []error { return e.Places }

const maxPlaces = 20

func (e *DamageError) add(err error) {
	if len(e.Places) < maxPlaces {
		e.Places = append(e.Places, err)
	} else {
		e.More++
	}
}

// ErrEmpty is returned for sources without any record of a request.
var ErrEmpty = errors.New("the capture holds no events of requests")

// Analyze follows the requests of a capture, whose files are merged by time. A
// damaged capture gives the account of its sound part and a DamageError; with
// Strict, the error alone.
func Analyze(ctx context.Context, sources []Source, options Options) (*iotrace.Account, error) {
	a := &analysis{ctx: ctx, options: options, damage: new(DamageError)}
	for _, s := range sources {
		a.readers = append(a.readers, blktrace.NewReader(s.Name, s.From))
		a.total += s.Size
		a.unsized = a.unsized || s.Size == 0
	}
	a.follower = newFollower(options.DeviceName)
	a.follower.strict = len(missingFiles(sources)) > 0
	a.accountant = newAccountant(func() int64 { return a.follower.start })

	var err error
	if options.Threads > 1 {
		err = a.parallel()
	} else {
		err = a.serial()
	}
	if err != nil {
		return nil, err
	}
	a.damage.nothing = a.follower.events == 0
	if len(a.damage.Places) > 0 && (options.Strict || a.damage.nothing) {
		return nil, a.damage
	}
	if a.follower.events == 0 {
		return nil, ErrEmpty
	}
	out := account(a.follower, a.accountant)
	a.tellMissing(out, sources)
	if len(a.damage.Places) > 0 {
		return out, a.damage
	}
	return out, nil
}
