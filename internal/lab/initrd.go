package lab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// cpio writes an archive in the "newc" form that the kernel takes for an
// initial RAM disk (Documentation/driver-api/early-userspace/buffer-format.rst).
// Several archives may follow each other.
type cpio struct {
	w   io.Writer
	n   uint32 // files so far, which number the inodes
	err error
}

// dir adds a directory.
func (c *cpio) dir(name string) { c.entry(name, 0o040755, 0, nil) }

// file adds a file with the content of r, which has size bytes.
func (c *cpio) file(name string, perm fs.FileMode, size int64, r io.Reader) {
	c.entry(name, 0o100000|uint32(perm.Perm()), size, r)
}

// text adds a program of few lines.
func (c *cpio) text(name, content string) {
	c.file(name, 0o755, int64(len(content)), bytes.NewReader([]byte(content)))
}

// end closes the archive and gives the first error.
func (c *cpio) end() error {
	c.entry("TRAILER!!!", 0, 0, nil)
	return c.err
}

func (c *cpio) entry(name string, mode uint32, size int64, r io.Reader) {
	if c.err != nil {
		return
	}
	if size > 1<<32-1 {
		c.err = fmt.Errorf("%s has %d bytes, and the format of initial RAM disks ends at 4 GiB", name, size)
		return
	}
	c.n++
	header := "070701"
	for _, field := range []uint32{c.n, mode, 0, 0, 1, 0, uint32(size), 0, 0, 0, 0, uint32(len(name) + 1), 0} {
		header += fmt.Sprintf("%08x", field)
	}
	head := append([]byte(header+name), 0)
	c.write(pad(head))
	if r == nil || c.err != nil {
		return
	}
	n, err := io.Copy(c.w, io.LimitReader(r, size))
	switch {
	case err != nil:
		c.err = fmt.Errorf("pack %s: %w", name, err)
	case n != size:
		c.err = fmt.Errorf("pack %s: it has %d bytes and not %d", name, n, size)
	default:
		c.write(make([]byte, -n&3))
	}
}

func (c *cpio) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
}

// pad fills up to a multiple of four.
func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }

// payload finds the compressed kernel in a bzImage, by the header that
// Documentation/arch/x86/boot.rst describes. QEMU can start the kernel inside
// directly; an emulated processor takes ten seconds to unpack it.
func payload(image []byte) ([]byte, error) {
	const setupSectors, magic, offset, length = 0x1f1, 0x202, 0x248, 0x24c
	if len(image) < length+4 || string(image[magic:magic+4]) != "HdrS" {
		return nil, errors.New("this is no Linux kernel for x86 (no boot header)")
	}
	sectors := int(image[setupSectors])
	if sectors == 0 {
		sectors = 4
	}
	from := (sectors+1)*512 + int(binary.LittleEndian.Uint32(image[offset:]))
	to := from + int(binary.LittleEndian.Uint32(image[length:]))
	if from > to || to > len(image) {
		return nil, fmt.Errorf("the kernel's header places its content at bytes %d to %d of %d", from, to, len(image))
	}
	body := image[from:to]
	if !bytes.HasPrefix(body, []byte("\xfd7zXZ\x00")) {
		return nil, fmt.Errorf("the kernel is compressed in a way that is not known here (it begins with % x); known "+
			"is xz", body[:min(6, len(body))])
	}
	return body, nil
}
