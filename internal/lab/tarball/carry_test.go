package tarball

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func archive(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(h.Name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func folder(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}
}
func file(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }

func TestExtractTakesWhatIsNotThere(t *testing.T) {
	target := t.TempDir()
	if err := os.MkdirAll(filepath.Join(target, "runs/old"), 0o755); err != nil {
		t.Fatal(err)
	}
	brought, err := Extract(archive(t, folder("runs/"), folder("runs/old/"), file("runs/old/a"), folder("runs/new/"),
		file("runs/new/b"), file("elsewhere")), "runs", target, 1<<20)
	if err != nil || len(brought) != 1 || brought[0] != "runs/new" {
		t.Fatalf("%v, %v", brought, err)
	}
	if text, err := os.ReadFile(filepath.Join(target, "runs/new/b")); err != nil || string(text) != "runs/new/b" {
		t.Errorf("%s, %v", text, err)
	}
	for _, name := range []string{"runs/old/a", "elsewhere"} {
		if _, err := os.Stat(filepath.Join(target, name)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// A guest is not trusted with the host's files.
func TestExtractStaysInside(t *testing.T) {
	outer := t.TempDir()
	target := filepath.Join(outer, "in")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	link := tar.Header{Name: "runs/x/link", Typeflag: tar.TypeSymlink, Linkname: ".."}
	_, _ = Extract(archive(t, folder("runs/"), folder("runs/x/"), link, file("runs/x/link/../../../../escaped"),
		file("runs/../../escaped"), file("/escaped"), file("../escaped")), "runs", target, 1<<20)
	entries, err := os.ReadDir(outer)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := os.Lstat(filepath.Join(target, "runs/x/link")); err == nil {
		t.Error("a link was made")
	}
	// A link that is there already leads nowhere.
	if err := os.Symlink(outer, filepath.Join(target, "out")); err != nil {
		t.Fatal(err)
	}
	if _, err := Extract(archive(t, folder("out/"), folder("out/y/"), file("out/y/z")), "out", target, 1<<20); err == nil {
		t.Error("a link out of the directory was followed")
	}
	if _, err := os.Stat(filepath.Join(outer, "y")); err == nil {
		t.Error("a link out of the directory was followed")
	}
}

// What is packed on one side is unpacked on the other.
func TestPackAndExtract(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "jobs/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "jobs/deep/a.fio"), []byte("[a]"), 0o644); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Pack(&b, filepath.Join(dir, "jobs")); err != nil {
		t.Fatal(err)
	}
	target := t.TempDir()
	if _, err := Extract(&b, "jobs", target, 1<<20); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(target, "jobs/deep/a.fio")); err != nil || string(text) != "[a]" {
		t.Errorf("%s, %v", text, err)
	}
}

// Whoever sends without end fills no disk.
func TestExtractTakesNoMoreThanAskedFor(t *testing.T) {
	target := t.TempDir()
	brought, err := Extract(archive(t, folder("runs/"), file("runs/a"), file("runs/b")), "runs", target, 10)
	if err == nil || !strings.Contains(err.Error(), "runs/b is left out") {
		t.Errorf("%v, %v", brought, err)
	}
	if _, err := os.Stat(filepath.Join(target, "runs/b")); err == nil {
		t.Error("it was written")
	}
}
