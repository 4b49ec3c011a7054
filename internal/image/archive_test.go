package image

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/problem"
)

// zipped makes an archive: "dir/", "file=text", "link->to".
func zipped(t *testing.T, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		name, text, _ := strings.Cut(e, "=")
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o640)
		if at, to, link := strings.Cut(e, "->"); link {
			h.Name, text = at, to
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchivesAreFetchedAndChecked(t *testing.T) {
	good := zipped(t, "bin/", "bin/server=program", "bin/server-debug=no", "share/a/b=text")
	answers := http.NewServeMux()
	answers.HandleFunc("/good.zip", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(good) })
	answers.HandleFunc("/short.zip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		_, _ = w.Write(good)
	})
	server := httptest.NewServer(answers)
	defer server.Close()
	sum := sha256.Sum256(good)
	for _, c := range []struct{ artifact, sum, want string }{
		{"good.zip", hex.EncodeToString(sum[:]), ""},
		{"good.zip", strings.Repeat("0", 64), ", not 000"},
		{"none.zip", hex.EncodeToString(sum[:]), "404"},
		{"short.zip", hex.EncodeToString(sum[:]), "unexpected EOF"},
	} {
		a := Archive{Artifact: c.artifact, SHA256: c.sum, Files: []string{"bin/server", "share"}, Into: "usr/local/x"}
		to := filepath.Join(t.TempDir(), "archive")
		err := a.fetch(t.Context(), server.URL+"/", to, &steps{})
		if c.want != "" {
			if p := problem.Of(err, problem.Failed); p == nil || !strings.Contains(p.Why, c.want) || p.Remedy == "" {
				t.Errorf("%s: %v, and not %q", c.artifact, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r := newRoot(io.Discard)
		if err := a.add(to, r); err != nil {
			t.Fatal(err)
		}
		if r.seen["usr/local/x/bin/server"] == 0 || r.seen["usr/local/x/share/a/b"] == 0 ||
			r.seen["usr/local/x/bin/server-debug"] != 0 {
			t.Errorf("it holds %v", r.seen)
		}
	}
	server.Close()
	a := Archive{Artifact: "good.zip"}
	err := a.fetch(t.Context(), server.URL+"/", filepath.Join(t.TempDir(), "archive"), &steps{})
	if p := problem.Of(err, problem.Failed); p == nil || !strings.Contains(p.Remedy, server.URL) {
		t.Errorf("nobody answers: %v", err)
	}
}

func TestArchivesThatAreNotAsTheyAreToBe(t *testing.T) {
	for _, c := range []struct {
		want    string
		entries []string
	}{
		{"it has no bin/server, share", []string{"bin/other=program"}},
		{"its path leaves the archive", []string{"share/../../etc/passwd=root", "bin/server=program"}},
		{"it is neither a file nor a directory", []string{"bin/server->/etc/passwd"}},
		{"not a valid zip file", nil},
		{"two packages bring it", []string{"bin/server=program", "bin/server=another"}},
	} {
		content := []byte("nothing")
		if c.entries != nil {
			content = zipped(t, c.entries...)
		}
		path := filepath.Join(t.TempDir(), "archive")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		a := Archive{Files: []string{"bin/server", "share"}, Into: "usr/local/x"}
		if err := a.add(path, newRoot(io.Discard)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("it says %v, and not %q", err, c.want)
		}
	}
}
