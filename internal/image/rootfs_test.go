package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// entries makes a package's tar: "dir/", "file=text", "link->to", "hard=>to", "device!".
func entries(t *testing.T, files ...string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range files {
		h := &tar.Header{Name: e, Mode: 0o755, Typeflag: tar.TypeDir}
		text := ""
		if name, to, ok := strings.Cut(e, "->"); ok {
			h = &tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
		} else if name, to, ok := strings.Cut(e, "=>"); ok {
			h = &tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeLink}
		} else if name, ok := strings.CutSuffix(e, "!"); ok {
			h = &tar.Header{Name: name, Typeflag: tar.TypeBlock}
		} else if name, content, ok := strings.Cut(e, "="); ok {
			h, text = &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}, content
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// rootOf is the root file system of packages, path by path.
func rootOf(t *testing.T, packages ...io.Reader) (files map[string]string, bytesOf []byte) {
	t.Helper()
	var b bytes.Buffer
	r := newRoot(&b)
	errs := []error{r.begin("mysql", 999)}
	for _, p := range packages {
		errs = append(errs, r.add(p))
	}
	if err := errors.Join(append(errs, r.end())...); err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for in := tar.NewReader(bytes.NewReader(b.Bytes())); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, b.Bytes()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := files[h.Name]; twice {
			t.Errorf("%s is there twice", h.Name)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(content) + h.Linkname
	}
}

func TestPackagesBecomeARoot(t *testing.T) {
	files, _ := rootOf(t,
		entries(t, "./", "./bin/", "./bin/sh->dash", "./bin/dash=program", "./usr/", "./usr/share/doc/dash/copyright=text"),
		entries(t, "./lib/x86_64-linux-gnu/libz.so.1=library", "./usr/bin/", "./usr/bin/gunzip=>./bin/dash",
			"./etc/deep/er/conf=set"),
	)
	for name, want := range map[string]string{
		"bin": "usr/bin", "lib64": "usr/lib64", "usr/bin/sh": "dash", "usr/bin/dash": "program",
		"usr/bin/gunzip": "usr/bin/dash", "usr/lib/x86_64-linux-gnu/libz.so.1": "library", "etc/deep/er/": "", "tmp/": "",
		"etc/deep/er/conf": "set", "etc/group": "root:x:0:\nmysql:x:999:\nnogroup:x:65534:\n",
	} {
		if got, ok := files[name]; !ok || got != want {
			t.Errorf("%s is %q (%v), not %q", name, got, ok, want)
		}
	}
	for name := range files {
		if strings.HasPrefix(name, "usr/share/doc") || strings.HasPrefix(name, "bin/") {
			t.Errorf("%s is in it", name)
		}
	}
}

func TestTheSamePackagesGiveTheSameBytes(t *testing.T) {
	build := func() []byte {
		_, b := rootOf(t, entries(t, "./bin/dash=program"), entries(t, "./usr/bin/sed=program"))
		return b
	}
	if !bytes.Equal(build(), build()) {
		t.Error("the same packages give other bytes")
	}
}

// What a package must not bring into a root that is unpacked as root.
func TestPackagesThatAreRefused(t *testing.T) {
	for name, p := range map[string]struct{ entry, want string }{
		"above the root":       {"./../etc/shadow=x", "its path goes up"},
		"above, further down":  {"./usr/../../etc/shadow=x", "its path goes up"},
		"a device":             {"./usr/disk!", "it is neither a file, a directory nor a link"},
		"another's file":       {"./etc/passwd=root::0:0", "two packages bring it"},
		"a link to the host's": {"./etc/own=>./etc/../../shadow", "its path goes up"},
		"a link to nothing":    {"./etc/own=>./etc/none", "which the package does not bring"},
		"below a link":         {"./usr/out/file=x", "usr/out, which it is below, is a link"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoot(io.Discard)
			if err := r.begin("mysql", 999); err != nil {
				t.Fatal(err)
			}
			err := r.add(entries(t, "./usr/out->/etc", p.entry))
			if err == nil || !strings.Contains(err.Error(), p.want) {
				t.Errorf("it says %v, and not %q", err, p.want)
			}
		})
	}
}

// A package may say that a directory is where the root has a link into /usr.
func TestAPackageLeavesLinksIntoUsr(t *testing.T) {
	files, _ := rootOf(t, entries(t, "./lib->elsewhere", "./sbin/", "./sbin/init=program"))
	if files["lib"] != "usr/lib" || files["usr/sbin/init"] != "program" {
		t.Errorf("lib is %q, and usr/sbin/init %q", files["lib"], files["usr/sbin/init"])
	}
}
