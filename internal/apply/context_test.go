package apply

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	certificate, _ := a.sign(t, x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.pem = certificate
	return a
}

// sign returns a certificate and its key in PEM. The first one of an authority is signed by itself.
func (a *authority) sign(t *testing.T, c x509.Certificate) (certificate, key []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if a.cert == nil {
		a.cert, a.key = &c, private
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, a.cert, public, a.key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// writeContext writes a file of a Docker context.
func writeContext(t *testing.T, configuration, kind, name, file string, text []byte) {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	path := filepath.Join(configuration, "contexts", kind, hex.EncodeToString(sum[:]), file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// An engine behind TLS is asked with the certificates of its context, and with nothing less.
func TestContextsOfTLS(t *testing.T) {
	ours, other := newAuthority(t), newAuthority(t)
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	certificate, key := ours.sign(t, x509.Certificate{ExtKeyUsage: usage, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	strange, strangeKey := other.sign(t, x509.Certificate{ExtKeyUsage: usage})
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ours.pem)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		fmt.Fprint(w, `{"ID":"X","NCPU":2,"MemTotal":1000000000}`)
	}))
	server.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: clients,
		ClientAuth: tls.RequireAndVerifyClientCert,
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	address := strings.Replace(server.URL, "https", "tcp", 1)

	for name, test := range map[string]struct {
		ca, cert, key []byte
		extra, want   string
	}{
		"good":               {ca: ours.pem, cert: certificate, key: key},
		"another authority":  {ca: other.pem, cert: certificate, key: key, want: "unknown authority"},
		"another client":     {ca: ours.pem, cert: strange, key: strangeKey, want: "certificate"},
		"no client":          {ca: ours.pem, want: "no certificates for TLS"},
		"no authority":       {cert: certificate, key: key, want: "no certificates for TLS"},
		"empty authority":    {ca: []byte("x"), cert: certificate, key: key, want: "has no certificate"},
		"key of another":     {ca: ours.pem, cert: certificate, key: strangeKey, want: "certificate and key"},
		"nothing is checked": {ca: ours.pem, cert: certificate, key: key, extra: `,"SkipTLSVerify":true`, want: "skip-tls"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("DOCKER_CONFIG", dir)
			writeContext(t, dir, "meta", "west", "meta.json",
				fmt.Appendf(nil, `{"Name":"west","Endpoints":{"docker":{"Host":%q%s}}}`, address, test.extra))
			for file, text := range map[string][]byte{"ca.pem": test.ca, "cert.pem": test.cert, "key.pem": test.key} {
				if text != nil {
					writeContext(t, dir, "tls", "west", "docker/"+file, text)
				}
			}
			engines, err := Contexts([]string{"west"})
			if err == nil {
				_, err = Describe(t.Context(), engines)
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
