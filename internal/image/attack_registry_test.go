package image

import (
	"net/http"
	"strings"
	"testing"
)

type answering struct{ asked []string }

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.URL.String())
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestAttackRegistryInTheClear: whoever is on the way to a registry of a private network gets no credentials, unless
// the user says that it is not encrypted.
func TestAttackRegistryInTheClear(t *testing.T) {
	for url, may := range map[string]bool{
		"https://10.0.0.5:5000/v2/": true, "http://10.0.0.5:5000/v2/": false, "http://192.168.1.1/v2/": false,
		"http://registry.local/v2/": false, "http://registry.example/token": false, "http://127.0.0.1:5000/v2/": true,
		"http://localhost:5000/v2/": true, "http://[::1]:5000/v2/": true, "http://localhost.evil.example/v2/": false,
	} {
		for _, plain := range []bool{false, true} {
			transport := &answering{}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := (&countingTransport{base: transport, allowHTTP: plain}).RoundTrip(request)
			if err == nil {
				_ = answer.Body.Close()
			}
			if asked := len(transport.asked) == 1; asked != (may || plain) || asked != (err == nil) {
				t.Errorf("%s, plain %v: asked %v, %v", url, plain, asked, err)
			}
		}
	}
	parsed, plain, err := reference("http://10.0.0.5:5000/mysql:8")
	if err != nil || !plain || !strings.HasPrefix(parsed.Name(), "10.0.0.5:5000/mysql") {
		t.Errorf("%v, %v, %v", parsed, plain, err)
	}
}
