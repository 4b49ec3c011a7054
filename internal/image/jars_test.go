package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"plimsoll/internal/problem"
)

// Jars are fetched, each is checked, and one that is not what it is to be ends it all.
func TestJarsAreFetchedAndChecked(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.Contains(r.URL.Path, "gone") {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, path.Base(r.URL.Path))
	}))
	defer server.Close()
	line := func(artifact, content string) string {
		sum := sha256.Sum256([]byte(content))
		return hex.EncodeToString(sum[:]) + " " + artifact + "\n"
	}
	var list strings.Builder
	for i := range 40 {
		list.WriteString(line(fmt.Sprintf("org/a/%d/a-%d.jar", i, i), fmt.Sprintf("a-%d.jar", i)))
	}
	for _, c := range []struct{ extra, want string }{
		{"", ""},
		{line("org/b/b.jar", "another"), "archive b.jar: its SHA-256 is"},
		{line("org/gone.jar", "gone.jar"), "404"},
	} {
		dir, j := t.TempDir(), &Jars{List: list.String() + c.extra, Into: "opt/x"}
		err := j.fetch(t.Context(), server.URL+"/", dir, &steps{})
		if c.want != "" {
			if p := problem.Of(err, problem.Failed); p == nil || !strings.Contains(err.Error(), c.want) || p.Remedy == "" {
				t.Errorf("it says %v, and not %q", err, c.want)
			}
			continue
		}
		if err != nil || asked.Load() != 40 {
			t.Fatalf("%d were asked for: %v", asked.Load(), err)
		}
		r := newRoot(io.Discard)
		if err := j.add(dir, r); err != nil || r.seen["opt/x/a-39.jar"] == 0 {
			t.Errorf("it holds %v, %v", r.seen, err)
		}
	}
}

// A list is of whole sums, each of another jar, in the place where it is looked for.
func TestListsOfJars(t *testing.T) {
	for _, r := range Recipes() {
		if r.Jars == nil {
			continue
		}
		names := map[string]bool{}
		for _, jar := range r.Jars.parse() {
			name := path.Base(jar.artifact)
			if !regexp.MustCompile("^[0-9a-f]{64}$").MatchString(jar.sha256) || names[name] || path.Ext(name) != ".jar" ||
				path.IsAbs(jar.artifact) || path.Clean(jar.artifact) != jar.artifact {
				t.Errorf("%s: %s %s", r.Name, jar.sha256, jar.artifact)
			}
			names[name] = true
		}
		if lines := strings.Count(r.Jars.List, "\n"); lines != len(names) || lines == 0 {
			t.Errorf("%s: %d lines, and %d jars", r.Name, lines, len(names))
		}
	}
}
