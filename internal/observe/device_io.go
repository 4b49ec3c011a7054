package observe

import (
	"math"

	"plimsoll/internal/host/blockdev"
)

var deviceIO = sampler{
	kind: ofDevice,
	metrics: []metric{
		{name: "io.reads", unit: unitOps, meaning: "completed reads", file: "`stat` of the device, field 1"},
		{name: "io.writes", unit: unitOps, meaning: "completed writes", file: "field 5"},
		{name: "io.read_bytes", unit: unitRate, meaning: "bytes read", file: "field 3, in 512 bytes"},
		{name: "io.write_bytes", unit: unitRate, meaning: "bytes written", file: "field 7, in 512 bytes"},
		{
			name: "io.queue", unit: unitQueue, meaning: "mean number of requests in flight",
			file: "field 11, in milliseconds of all requests",
		},
		{
			name: "io.utilisation", unit: unitShare,
			meaning: "time with a request in flight; at 1, a device that serves many at a time may still " +
				"have room",
			file: "field 10, in milliseconds",
		},
	},
	open: openDeviceIO,
}

// sectorBytes is the unit of sectors, whatever the device's own is.
const sectorBytes = 512

// deviceIOReader reads the stat file of a block device.
type deviceIOReader struct {
	stat        *file
	queue, busy milliseconds
}

func openDeviceIO(o origin) reader {
	return &deviceIOReader{stat: &file{paths: []string{blockdev.StatFile(o.roots, o.device)}, fd: -1, buffer: o.buffer}}
}

func (r *deviceIOReader) read(values []float64) {
	const reads, readSectors, writes, writeSectors, busy, queue, fields = 0, 2, 4, 6, 9, 10, 11
	var n [fields]float64
	rest := r.stat.read()
	for i := range n {
		var field []byte
		field, rest = cutField(rest)
		n[i] = number(field)
	}
	values[0], values[1] = n[reads], n[writes]
	values[2], values[3] = sectorBytes*n[readSectors], sectorBytes*n[writeSectors]
	values[4], values[5] = r.queue.seconds(n[queue]), r.busy.seconds(n[busy])
}

func (r *deviceIOReader) close() { r.stat.close() }

// milliseconds is a counter that the kernel shows modulo 2^32: with a hundred requests under way, that of the queue
// begins anew every half day.
type milliseconds struct {
	last, rounds float64
}

// seconds returns what was counted in all.
func (m *milliseconds) seconds(shown float64) float64 {
	const modulus = 1 << 32
	if m.last-shown > modulus/2 {
		m.rounds++
	}
	if !math.IsNaN(shown) {
		m.last = shown
	}
	return (shown + m.rounds*modulus) / 1000
}
