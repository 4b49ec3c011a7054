// Package wire is the protocol between the embedded server and its clients: frames
// of little-endian fields over a stream. It is pure.
//
// Each side begins with a preface of the protocol's name and version. A server of
// another version answers with its own preface and closes; one of the same version
// goes on with a response of number 0 that says what its records are like. From then
// on the client sends requests, as many as it likes before it reads what they were
// answered, and the server answers them in their order.
//
//	preface   name (8 bytes), version (2)
//	frame     length of the rest (4), the rest
//	request   number (4), operation (1), field (4, signed), records (4), length of the key (2), key, value
//	response  number (4), status (1), body
//
// A response to a scan may take several frames, all but the last of status More; the
// body of each begins with the number of records in it (4).
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is the version of the protocol.
const Version = 1

// Bounds of what is taken from the other side.
const (
	MaxFrame = 2 << 20 // bytes behind the length
	MaxKey   = 1 << 10
)

// Op is the operation of a request.
type Op byte

// Operations.
const (
	OpRead   Op = 1
	OpScan   Op = 2
	OpUpdate Op = 3
	OpInsert Op = 4
)

// Status is the outcome of a request.
type Status byte

// Statuses.
const (
	OK       Status = 0
	More     Status = 1 // OK so far; another frame follows
	NotFound Status = 2
	Refused  Status = 3 // the request is invalid; the body has the reason
	Failed   Status = 4 // the server failed; the body has the reason
)

// Request is one request.
type Request struct {
	Number  uint32 // chosen by the client, and repeated in the response
	Op      Op
	Field   int32  // of a record, from 0; -1 for all
	Records uint32 // to scan
	Key     []byte
	Value   []byte // to update with or insert
}

// Response is one frame of a response.
type Response struct {
	Number uint32
	Status Status
	Body   []byte
}

// Hello describes a server's records.
type Hello struct {
	Fields     int
	FieldBytes int
	Records    int64 // loaded
}

const (
	lengthBytes   = 4
	requestBytes  = 4 + 1 + 4 + 4 + 2
	responseBytes = 4 + 1
	helloBytes    = 4 + 4 + 8
	name          = "plimsoll"
)

// PrefaceBytes is the length of a preface.
const PrefaceBytes = len(name) + 2

// AppendPreface appends the preface of a side.
func AppendPreface(dst []byte, version uint16) []byte {
	return binary.LittleEndian.AppendUint16(append(dst, name...), version)
}

// ErrOther is returned for a peer that speaks another protocol.
var ErrOther = errors.New("the other side does not speak this protocol")

// ParsePreface returns the version of the side that began so.
func ParsePreface(preface []byte) (version uint16, err error) {
	if len(preface) != PrefaceBytes || string(preface[:len(name)]) != name {
		return 0, ErrOther
	}
	return binary.LittleEndian.Uint16(preface[len(name):]), nil
}

// AppendRequest appends the frame of a request. Key and value have to be within the
// bounds: see Fits.
func AppendRequest(dst []byte, r *Request) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(requestBytes+len(r.Key)+len(r.Value)))
	dst = binary.LittleEndian.AppendUint32(dst, r.Number)
	dst = append(dst, byte(r.Op))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.Field))
	dst = binary.LittleEndian.AppendUint32(dst, r.Records)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(r.Key)))
	dst = append(dst, r.Key...)
	return append(dst, r.Value...)
}

// Fits returns why a request cannot be sent; nil if it can.
func (r *Request) Fits() error {
	switch {
	case len(r.Key) == 0:
		return errors.New("the key is empty")
	case len(r.Key) > MaxKey:
		return fmt.Errorf("a key of %d bytes: at most %d go", len(r.Key), MaxKey)
	case requestBytes+len(r.Key)+len(r.Value) > MaxFrame:
		return fmt.Errorf("a value of %d bytes: at most %d go in a frame", len(r.Value), MaxFrame)
	}
	return nil
}

// ParseRequest parses a frame. Key and value share its memory.
func ParseRequest(frame []byte) (Request, error) {
	if len(frame) < requestBytes {
		return Request{}, fmt.Errorf("a request of %d bytes: it takes at least %d", len(frame), requestBytes)
	}
	r := Request{
		Number:  binary.LittleEndian.Uint32(frame),
		Op:      Op(frame[4]),
		Field:   int32(binary.LittleEndian.Uint32(frame[5:])),
		Records: binary.LittleEndian.Uint32(frame[9:]),
	}
	key := int(binary.LittleEndian.Uint16(frame[13:]))
	rest := frame[requestBytes:]
	if key > len(rest) {
		return r, fmt.Errorf("a key of %d bytes in the %d that a request has left", key, len(rest))
	}
	r.Key, r.Value = rest[:key:key], rest[key:]
	return r, r.Fits()
}

// BeginResponse appends the head of a response's frame, whose body is to be appended
// next, and returns where the frame begins: EndResponse wants that.
func BeginResponse(dst []byte, number uint32, s Status) (_ []byte, begin int) {
	begin = len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, number)
	return append(dst, byte(s)), begin
}

// EndResponse completes the frame that began at begin and ends with dst.
func EndResponse(dst []byte, begin int) {
	binary.LittleEndian.PutUint32(dst[begin:], uint32(len(dst)-begin-lengthBytes))
}

// AppendResponse appends the frame of a response.
func AppendResponse(dst []byte, number uint32, s Status, body []byte) []byte {
	dst, begin := BeginResponse(dst, number, s)
	dst = append(dst, body...)
	EndResponse(dst, begin)
	return dst
}

// ParseResponse parses a frame. The body shares its memory.
func ParseResponse(frame []byte) (Response, error) {
	if len(frame) < responseBytes {
		return Response{}, fmt.Errorf("a response of %d bytes: it takes at least %d", len(frame), responseBytes)
	}
	return Response{Number: binary.LittleEndian.Uint32(frame), Status: Status(frame[4]),
		Body: frame[responseBytes:]}, nil
}

// AppendHello appends the body of the first response.
func AppendHello(dst []byte, h Hello) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.Fields))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.FieldBytes))
	return binary.LittleEndian.AppendUint64(dst, uint64(h.Records))
}

// ParseHello reads the body of the first response.
func ParseHello(body []byte) (Hello, error) {
	if len(body) != helloBytes {
		return Hello{}, ErrOther
	}
	return Hello{
		Fields:     int(int32(binary.LittleEndian.Uint32(body))),
		FieldBytes: int(int32(binary.LittleEndian.Uint32(body[4:]))),
		Records:    int64(binary.LittleEndian.Uint64(body[8:])),
	}, nil
}

// EndScanned completes the frame of a scan's response that began at begin, with the
// status and the number of its records, for which room was left.
func EndScanned(dst []byte, begin int, s Status, records uint32) {
	dst[begin+lengthBytes+4] = byte(s)
	binary.LittleEndian.PutUint32(dst[begin+lengthBytes+responseBytes:], records)
	EndResponse(dst, begin)
}

// ParseScanned returns how many records the body of a scan's response holds, and
// their values.
func ParseScanned(body []byte) (records int, values []byte, err error) {
	if len(body) < 4 {
		return 0, nil, fmt.Errorf("a response to a scan of %d bytes", len(body))
	}
	return int(binary.LittleEndian.Uint32(body)), body[4:], nil
}
