package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packed is a file of a package as it will be installed.
type packed struct {
	path, content string      // the target, for a link
	mode          fs.FileMode // 0 for a link
}

// TestPackagesHoldTheSame has nfpm make both packages, twice, and reads them without it.
func TestPackagesHoldTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it compiles nfpm, which takes long the first time")
	}
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Skip("SKIPPED: there is no dpkg-deb, which is to read what nfpm writes")
	}
	var made [2]map[string][]byte
	t.Chdir("../..")
	for i := range made {
		files := tree(t, "bin/plimsoll", "share/man/man1/plimsoll.1.gz", "share/doc/plimsoll/docs/stacks.md")
		r := release{
			version:    "0.1.0",
			date:       commitDate,
			maintainer: "Tests <tests@localhost>",
			work:       t.TempDir(),
			out:        t.TempDir(),
		}
		err := r.packages(programs[0], "arm64", files)
		if err != nil {
			t.Fatal(err)
		}
		made[i] = map[string][]byte{}
		for _, name := range []string{"plimsoll_0.1.0_arm64.deb", "plimsoll-0.1.0-1.aarch64.rpm"} {
			made[i][name], err = os.ReadFile(filepath.Join(r.out, name))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, content := range made[0] {
		if !bytes.Equal(content, made[1][name]) {
			t.Errorf("%s is not the same when it is made twice", name)
		}
	}
	want := []packed{
		{"/usr/bin/kubectl-plimsoll", "plimsoll", 0},
		{"/usr/bin/plimsoll", "the bytes of bin/plimsoll", 0o755},
		{"/usr/share/doc/plimsoll/", "", 0o755},
		{"/usr/share/doc/plimsoll/docs/", "", 0o755},
		{"/usr/share/doc/plimsoll/docs/stacks.md", "the bytes of share/doc/plimsoll/docs/stacks.md", 0o755},
		{"/usr/share/man/man1/plimsoll.1.gz", "the bytes of share/man/man1/plimsoll.1.gz", 0o755},
	}
	deb := readDeb(t, dpkg, made[0]["plimsoll_0.1.0_arm64.deb"])
	rpm := readRPM(t, made[0]["plimsoll-0.1.0-1.aarch64.rpm"])
	if !slices.Equal(deb, want) {
		t.Errorf("the .deb holds %+v", deb)
	}
	if !slices.Equal(rpm, want) {
		t.Errorf("the .rpm holds %+v", rpm)
	}
}

// readDeb returns the files of a .deb, as dpkg would unpack them.
func readDeb(t *testing.T, dpkg string, deb []byte) (files []packed) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.deb")
	err := os.WriteFile(name, deb, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	depends, err := exec.Command(dpkg, "--field", name, "Depends").Output()
	if err != nil || len(bytes.TrimSpace(depends)) > 0 {
		t.Errorf("it depends on %q, %v", depends, err)
	}
	content, err := exec.Command(dpkg, "--fsys-tarfile", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(bytes.NewReader(content)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return sorted(files)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir && !strings.HasPrefix(h.Name, "./usr/share/doc/plimsoll/") {
			continue // of all packages
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(commitDate) {
			t.Errorf("%s is of %s", h.Name, h.ModTime)
		}
		f := packed{strings.TrimPrefix(h.Name, "."), string(text) + h.Linkname, fs.FileMode(h.Mode)}
		if h.Typeflag == tar.TypeSymlink {
			f.mode = 0
		}
		files = append(files, f)
	}
}

func sorted(files []packed) []packed {
	slices.SortFunc(files, func(a, b packed) int { return strings.Compare(a.path, b.path) })
	return files
}

// readRPM returns the files of an .rpm: a lead of 96 bytes, two headers, the first of which is padded to 8 bytes, and
// a cpio archive in gzip.
func readRPM(t *testing.T, rpm []byte) []packed {
	t.Helper()
	offset := 96
	for i := range 2 {
		h := rpm[offset:]
		if !bytes.HasPrefix(h, []byte{0x8e, 0xad, 0xe8, 1}) {
			t.Fatalf("there is no header at %d", offset)
		}
		offset += 16 + 16*int(binary.BigEndian.Uint32(h[8:])) + int(binary.BigEndian.Uint32(h[12:]))
		if i == 0 {
			offset = (offset + 7) &^ 7
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(rpm[offset:]))
	if err != nil {
		t.Fatal(err)
	}
	archive, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	files, err := readCPIO(archive)
	if err != nil {
		t.Fatal(err)
	}
	return sorted(files)
}

// readCPIO reads the "new ASCII" format: 13 numbers of eight hexadecimal digits, then name and content, each padded.
func readCPIO(archive []byte) (files []packed, err error) {
	const header, trailer = 6 + 13*8, "TRAILER!!!"
	padded := func(n int) int { return (n + 3) &^ 3 }
	for offset := 0; ; {
		if len(archive) < offset+header || string(archive[offset:offset+6]) != "070701" {
			return nil, fmt.Errorf("there is no entry at %d of %d", offset, len(archive))
		}
		var numbers [13]int
		for i := range numbers {
			n, err := strconv.ParseUint(string(archive[offset+6+8*i:offset+14+8*i]), 16, 32)
			if err != nil {
				return nil, err
			}
			numbers[i] = int(n)
		}
		mode, size, nameSize := numbers[1], numbers[6], numbers[11]
		name := string(archive[offset+header : offset+header+nameSize-1])
		if name == trailer {
			return files, nil
		}
		offset = padded(offset + header + nameSize)
		const kind, directory = 0o170000, 0o040000
		f := packed{strings.TrimPrefix(name, "."), string(archive[offset : offset+size]), fs.FileMode(mode) & fs.ModePerm}
		if mode&kind == directory {
			f.path += "/"
		}
		files = append(files, f)
		offset = padded(offset + size)
	}
}
