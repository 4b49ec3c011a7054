package blktrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// printed is blkparse's output for requests of several kinds, of two CPUs, between its other output.
const printed = `Input file sda.blktrace.0 added
  8,0    1        0     0.000000000     0  m   N plimsoll device sda
  8,0    3        1     0.000000000   697  Q FWFSM 223490 + 8 [kjournald [2]]
  8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald [2]]
  8,0    3        3     0.000002197   697  P   N [kjournald [2]]
  8,0    3        4     0.000005533   697  I   W 223490 + 8 (    5533) [kjournald [2]]
  8,0    3        5     0.000008000   697 UT   N [kjournald [2]] 1
  8,0    3        6     0.000008607   697  D   W 223490 + 8 [kjournald [2]]
259,12   0        7    10.000000001     0  C  RA 223490 + 8 (10000000) [-5]
253,0    0        8    10.000000002    12  X  WS 65538 / 66650 [fio]
  8,16   0        9    10.000000003    12  A   R 2048 + 8 <- (9,0) 16
  8,16   0       10    10.000000004    12  Q FWS [fio]
  8,16   0       11    10.000000004     0  C FWS 0 [0]
  8,16   0       12    10.000000005    12  D   R 36 (12 00 00 00 24 00 ..) [smartd]
  8,16   0       13    10.000000006     0  C   R (12 00 00 00 24 00 ..) [0]
  8,16   0       14    10.000000007    12  Q   D 0 + 4194304 [(null)]
smartd (12)
 Allocation wait:        0        	 Allocation wait:         0
CPU0 (sda):
 Reads Queued:           0,        0KiB	 Writes Queued:          10,       40KiB
 PC Reads Queued:        1,        0KiB
Total (sda):

Throughput (R/W): 0KiB/s / 0KiB/s
Events (sda): 12 entries
Skips: 0 forward (0 -   0.0%)
`

// words describes a record of text.
func words(r Record) string {
	text := fmt.Sprintf("%s cpu%d #%d %d pid%d", MajMin(r.Device), r.CPU, r.Sequence, r.Time, r.PID)
	if r.Action.IsNote() {
		return fmt.Sprintf("%s note%d %q", text, r.Action, r.Text())
	}
	text += fmt.Sprintf(" event%d flags%#x %d+%d", r.Action.Event(), r.Action>>16, r.Sector, r.Bytes)
	if r.Error != 0 {
		text += fmt.Sprintf(" errno%d", r.Errno())
	}
	if device, sector, ok := r.RemappedFrom(); ok {
		return text + fmt.Sprintf(" from %s %d", MajMin(device), sector)
	}
	if n, ok := r.Count(); ok {
		text += fmt.Sprintf(" count%d", n)
	}
	return text
}

func TestText(t *testing.T) {
	const (
		writes, reads = CatWrite >> 16, CatRead >> 16
		flush         = CatFlush >> 16
	)
	want := strings.Join([]string{
		fmt.Sprintf(`8:0 cpu1 #0 0 pid0 note%d "plimsoll device sda"`, messageAction),
		fmt.Sprintf(`8:0 cpu3 #0 0 pid697 note%d "kjournald [2]"`, NoteProcess|CatNotify),
		fmt.Sprintf("8:0 cpu3 #1 0 pid697 event1 flags%#x 223490+4096", writes|flush|(CatFUA|CatSync|CatMeta)>>16),
		fmt.Sprintf("8:0 cpu3 #2 1829 pid697 event4 flags%#x 223490+4096", writes),
		fmt.Sprintf("8:0 cpu3 #3 2197 pid697 event9 flags%#x 0+0", reads),
		fmt.Sprintf("8:0 cpu3 #4 5533 pid697 event12 flags%#x 223490+4096", writes),
		fmt.Sprintf("8:0 cpu3 #5 8000 pid697 event11 flags%#x 0+0 count1", reads),
		fmt.Sprintf("8:0 cpu3 #6 8607 pid697 event7 flags%#x 223490+4096", writes),
		fmt.Sprintf("259:12 cpu0 #7 10000000001 pid0 event8 flags%#x 223490+4096 errno5", reads|CatAhead>>16),
		fmt.Sprintf(`253:0 cpu0 #0 10000000002 pid12 note%d "fio"`, NoteProcess|CatNotify),
		fmt.Sprintf("253:0 cpu0 #8 10000000002 pid12 event13 flags%#x 65538+569344 count66650", writes|CatSync>>16),
		fmt.Sprintf("8:16 cpu0 #9 10000000003 pid12 event15 flags%#x 2048+4096 from 9:0 16", reads),
		fmt.Sprintf("8:16 cpu0 #10 10000000004 pid12 event1 flags%#x 0+0", writes|flush|CatSync>>16),
		fmt.Sprintf("8:16 cpu0 #11 10000000004 pid0 event8 flags%#x 0+0", writes|flush|CatSync>>16),
		fmt.Sprintf(`8:16 cpu0 #0 10000000005 pid12 note%d "smartd"`, NoteProcess|CatNotify),
		fmt.Sprintf("8:16 cpu0 #12 10000000005 pid12 event7 flags%#x 0+36", reads|CatPassthrough>>16),
		fmt.Sprintf("8:16 cpu0 #13 10000000006 pid0 event8 flags%#x 0+0", reads|CatPassthrough>>16),
		fmt.Sprintf("8:16 cpu0 #14 10000000007 pid12 event1 flags%#x 0+2147483648", writes|CatDiscard>>16),
	}, "\n")
	for name, text := range map[string]string{
		"as it is": printed, "of Windows": strings.ReplaceAll(printed, "\n", "\r\n"),
		"without an end": strings.TrimSpace(printed),
		"events alone":   printed[strings.Index(printed, "  8,0"):strings.Index(printed, "smartd (12)")],
	} {
		t.Run(name, func(t *testing.T) {
			records, wrong := read(t, strings.NewReader(text))
			var got []string
			for _, r := range records {
				got = append(got, words(r))
			}
			if len(wrong) > 0 || strings.Join(got, "\n") != want {
				t.Errorf("%s\nwant\n%s\n%v", strings.Join(got, "\n"), want, wrong)
			}
		})
	}
	// Many at a time are the same, and so are they where each read brings a byte.
	single, _ := read(t, strings.NewReader(printed))
	for _, from := range []io.Reader{strings.NewReader(printed), &slow{strings.NewReader(printed)}} {
		d := NewReader("text", from)
		var batched []string
		for records := make([]Record, 5); ; {
			n, err := d.Read(records)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records[:n] {
				batched = append(batched, words(r))
			}
		}
		if len(batched) != len(single) || strings.Join(batched, "\n") != want {
			t.Errorf("five at a time:\n%s", strings.Join(batched, "\n"))
		}
		if !d.IsText() {
			t.Error("it is no text")
		}
	}
	if d := NewReader("capture", bytes.NewReader(write7(t))); d.IsText() {
		t.Error("a capture is text")
	}
}

// slow brings a byte at a time.
type slow struct{ from io.Reader }

func (s *slow) Read(into []byte) (int, error) { return s.from.Read(into[:1]) }

// write7 is the file of a capture.
func write7(t *testing.T) []byte {
	for _, b := range write(t, life()...) {
		return b.Bytes()
	}
	return nil
}

// Lines of others are named with their numbers, and what is sound behind them is read.
func TestTextThatIsDamaged(t *testing.T) {
	lines := strings.SplitAfter(printed, "\n")
	text := strings.Join(lines[:4], "") + "  8,0    3        3     0.00000\nhello\n" + strings.Join(lines[4:], "") +
		"  8,0    3        6     0.000008607   697  D   W 2234"
	whole, _ := read(t, strings.NewReader(printed))
	records, wrong := read(t, strings.NewReader(text))
	if len(records) != len(whole) || len(wrong) != 2 {
		t.Fatalf("%d records of %d, %v", len(records), len(whole), wrong)
	}
	before := len(strings.Join(lines[:4], ""))
	if w := wrong[0]; !strings.Contains(w.Reason, "line 5 is none") || w.Offset != int64(before) ||
		w.Skipped != int64(len("  8,0    3        3     0.00000\nhello\n")) {
		t.Errorf("%+v", w)
	}
	if !strings.Contains(wrong[1].Reason, fmt.Sprintf("line %d is none", len(lines)+2)) {
		t.Errorf("%+v", wrong[1])
	}
	message := lines[1] // is printed the same in any format
	_, wrong = read(t, strings.NewReader(message+"Q 1\nD 1\nTotal (sda):\n"))
	if len(wrong) != 1 || !strings.Contains(wrong[0].Reason, "without -f") || wrong[0].Offset != int64(len(message)) {
		t.Errorf("a format of one's own behind a message: %v", wrong)
	}
	for text, want := range map[string]string{
		"hello\nyou\n":                           "without -f and -F",
		"CPU0 (sda):\n Reads Queued:  1, 4KiB\n": "blkparse without -q",
		strings.Repeat("x", 3*blockSize):         "without -f and -F",
	} {
		records, wrong := read(t, strings.NewReader(text))
		if len(records) > 0 || len(wrong) != 1 || !strings.Contains(wrong[0].Reason, want) ||
			wrong[0].Skipped != int64(len(text)) {
			t.Errorf("%.30q: %d records, %v", text, len(records), wrong)
		}
	}
}
