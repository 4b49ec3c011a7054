package lab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/problem"
)

// unpacked reads an archive as the kernel does.
func unpacked(t *testing.T, b []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for len(b) > 0 {
		if len(b) < 110 || string(b[:6]) != "070701" {
			t.Fatalf("no header where one must be: %q", b[:min(len(b), 20)])
		}
		field := func(i int) int {
			n, err := strconv.ParseUint(string(b[6+8*i:14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		mode, size, name := field(1), field(6), field(11)
		padded := func(n int) int { return (n + 3) &^ 3 }
		path := string(b[110 : 110+name-1])
		content := b[padded(110+name):]
		out[path] = fmt.Sprintf("%o %s", mode, content[:size])
		b = content[padded(size):]
	}
	return out
}

func TestInitialRAMDisk(t *testing.T) {
	var b bytes.Buffer
	c := &cpio{w: &b}
	c.dir("lab")
	for n := range 9 { // all paddings
		c.text(fmt.Sprintf("lab/%s", strings.Repeat("n", n+1)), strings.Repeat("x", n))
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	got := unpacked(t, b.Bytes())
	if got["lab"] != "40755 " || got["lab/nnnn"] != "100755 xxx" || len(got) != 1+9+1 {
		t.Errorf("%q", got)
	}
	c = &cpio{w: &bytes.Buffer{}}
	c.file("short", 0o644, 10, strings.NewReader("five!"))
	if c.end() == nil {
		t.Error("a file that ended early was packed")
	}
}

func TestPayload(t *testing.T) {
	image := make([]byte, 4096)
	copy(image[0x202:], "HdrS")
	image[0x1f1] = 3
	binary.LittleEndian.PutUint32(image[0x248:], 100)
	binary.LittleEndian.PutUint32(image[0x24c:], 20)
	copy(image[4*512+100:], "\xfd7zXZ\x00kernel")
	body, err := payload(image)
	if err != nil || len(body) != 20 || !bytes.Contains(body, []byte("kernel")) {
		t.Errorf("%q, %v", body, err)
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"no kernel":    func(b []byte) []byte { return b[:100] },
		"no header":    func(b []byte) []byte { b[0x202] = 'x'; return b },
		"past its end": func(b []byte) []byte { binary.LittleEndian.PutUint32(b[0x24c:], 1<<30); return b },
		"not xz":       func(b []byte) []byte { b[4*512+100] = 0x1f; return b },
	} {
		if _, err := payload(spoil(bytes.Clone(image))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

type steps []string

func (s *steps) Step(what string, share float64) {
	*s = append(*s, fmt.Sprintf("%.2f %s", share, what))
}

// What mmdebstrap says becomes progress that never goes back.
func TestBuildProgress(t *testing.T) {
	var s steps
	last := (&build{progress: &s}).follow(strings.NewReader(`I: running apt-get update...
I: downloading packages with apt...
0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.
I: installing essential packages...
Unpacking dash (0.5.12-2) ...
Unpacking libc6:amd64 (2.36-9) ...
Setting up dash (0.5.12-2) ...
Setting up libc6:amd64 (2.36-9) ...
I: installing remaining packages inside the chroot...
0 upgraded, 1 newly installed, 0 to remove and 0 not upgraded.
Unpacking fio (3.33-3) ...
Setting up fio (3.33-3) ...
I: success in 87.5848 seconds
`))
	want := []string{
		"0.06 downloading the base system", "0.16 installing dash", "0.22 installing libc6", "0.29 installing dash",
		"0.35 installing libc6",
		"0.35 downloading packages", "0.68 installing fio", "0.85 installing fio",
	}
	if strings.Join(s, "\n") != strings.Join(want, "\n") {
		t.Errorf("steps:\n%s", strings.Join(s, "\n"))
	}
	if len(last) != 12 || !strings.Contains(last[11], "success") {
		t.Errorf("last words: %q", last)
	}
}

func TestInstalled(t *testing.T) {
	got := installedPackages(
		"Package: fio\nStatus: install ok installed\nVersion: 3.33-3\n\nPackage: dash\nVersion: 0.5\n\n",
	)
	if strings.Join(got, ", ") != "dash 0.5, fio 3.33-3" {
		t.Errorf("%q", got)
	}
}

// Without its programs, nothing is begun, and all that is missing is named.
func TestMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := filepath.Join(t.TempDir(), "lab")
	var s steps
	_, err := Build(t.Context(), dir, DefaultRecipe(), &s)
	if !errors.Is(err, problem.Unsupported) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"mmdebstrap, tar, mkfs.ext4",
		"qemu-system-x86_64, which are not in PATH (apt-get install mmdebstrap tar e2fsprogs xz-utils", "qemu-system-x86"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a directory was made")
	}
	if _, err := Start(t.Context(), Options{Dir: dir}, ""); !errors.Is(err, problem.Unsupported) ||
		err.Error() != "the lab needs the program qemu-system-x86_64, which is not in PATH (apt-get install "+
			"qemu-system-x86)" {
		t.Errorf("without QEMU: %v", err)
	}
}

func TestFindImage(t *testing.T) {
	dir := t.TempDir()
	if _, err := FindImage(dir, DefaultRecipe()); !errors.Is(err, problem.Unsupported) ||
		!strings.Contains(err.Error(), "plimsoll lab build") {
		t.Errorf("without an image: %v", err)
	}
	made := imageDir(dir, DefaultRecipe())
	if err := os.MkdirAll(made, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(
		filepath.Join(made, imageFacts),
		[]byte(`{"Dir":"/where/it/was/made","kernel":"6.1"}`),
		0o644,
	); err != nil {
		t.Fatal(err)
	}
	if i, err := FindImage(dir, DefaultRecipe()); err != nil || i.Release != "6.1" || i.Dir != made {
		t.Errorf("%+v, %v", i, err)
	}
	other := DefaultRecipe()
	other.Packages = append(other.Packages, "sl")
	if _, err := FindImage(dir, other); !errors.Is(err, problem.Unsupported) {
		t.Errorf("the image of another recipe was taken: %v", err)
	}
}

// Only what nobody's process holds is swept away.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"run-dead", "run-alive", "run-kept"} {
		if err := os.MkdirAll(filepath.Join(dir, "vms", name, Server), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := lockFile(filepath.Join(dir, "vms/run-alive/lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.WriteFile(filepath.Join(dir, "vms/run-kept", keptFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "vms/*"))
	if len(left) != 2 || !strings.HasSuffix(left[0], "alive") || !strings.HasSuffix(left[1], "kept") {
		t.Errorf("left: %q", left)
	}
}

// A binary that no guest could start is refused before one is started.
func TestBinariesThatFitGuests(t *testing.T) {
	if err := checkBinary("/bin/sh"); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("a dynamic program: %v", err)
	}
	if err := checkBinary("image_test.go"); err == nil {
		t.Error("a text is taken for a program")
	}
}
