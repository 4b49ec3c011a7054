package iotrace

// Interval is a span between two events of a request, in blktrace's letters:
// Q queued (a bio was submitted), G got a request, M merged into one, I
// inserted into a scheduler or plug list, D issued to the driver, N submitted
// to the NVMe device, C completed. S and R are of the application: S is where
// it entered the system call that queued the bio, X where that call returned,
// W where it entered the next one, in which it waits for completions, and R
// where it was given the completion.
type Interval uint8

// The intervals. Q2Q is between two successive bios; the others are of one
// request or bio. Q2M, M2D are of bios that were merged into a request.
const (
	Q2Q Interval = iota
	Q2G
	G2I
	Q2M
	I2D
	M2D
	D2C
	Q2C
	D2N
	N2C
	Q2D // from the first bio of a request until it is issued, whatever lies between
	S2Q // from the system call to the bio: file system and overlay
	S2X // the submitting system call, as long as it lasts; it may overlap with all that follows Q
	C2R // from completion until the application has it
	T   // at the target of a remote device: from where a command arrived until it is complete
	// from where the submitting call returned until the application enters the one in which it waits: its I/O is under
	// way all the while
	X2W
	A2Q // of T, the target's own work: from where the command arrived until its bio is queued at the device behind it
	F2Q // the same of a write whose data the target had to fetch first: the network's time is in it
	Intervals
)

var intervalNames = [Intervals]string{"Q2Q", "Q2G", "G2I", "Q2M", "I2D", "M2D", "D2C", "Q2C", "D2N", "N2C", "Q2D",
	"S2Q", "S2X", "C2R", "T", "X2W", "A2Q", "F2Q"}

func (i Interval) String() string { return intervalNames[i] }

// MarshalText makes intervals the keys of JSON objects.
func (i Interval) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// Op is the operation of a request.
type Op uint8

// The operations.
const (
	Read Op = iota
	Write
	Discard
	Flush // no data: the device is told to write its cache
	Other // zone management, secure erase, and commands that a driver sends for itself
	Ops
)

var opNames = [Ops]string{"read", "write", "discard", "flush", "other"}

func (o Op) String() string { return opNames[o] }

// MarshalText makes operations readable in JSON.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
