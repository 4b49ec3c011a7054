package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/state/inputfile"
)

var (
	unixHost = regexp.MustCompile(`^unix:///[A-Za-z0-9_./+-]{1,106}$`)
	tcpHost  = regexp.MustCompile(`^tcp://([A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}$`)
)

// checkHost returns an error for an address that is no unix socket, no host that ssh reaches and no port of TLS.
func checkHost(host string) error {
	if path, ok := strings.CutPrefix(host, "unix://"); ok && unixHost.MatchString(host) && filepath.Clean(path) == path {
		return nil
	}
	if _, ok := field.ParseSSHHost(host); ok || tcpHost.MatchString(host) {
		return nil
	}
	return problem.New(
		problem.Invalid,
		fmt.Sprintf("engine at %q", host),
		"it is neither unix:///PATH nor ssh://USER@HOST nor tcp://HOST:PORT",
		"docker context create NAME --docker host=ssh://USER@HOST",
	)
}

// Contexts returns engines by the names of Docker contexts, without their IDs. The context "default" is the engine
// of DOCKER_HOST, or the one of /var/run/docker.sock.
func Contexts(names []string) (engines []Engine, err error) {
	for _, name := range names {
		e := Engine{Name: name, Host: cmp.Or(os.Getenv("DOCKER_HOST"), "unix:///var/run/docker.sock")}
		switch {
		case !plainName.MatchString(name):
			return nil, problem.New(problem.Invalid, fmt.Sprintf("context %q", name), "this is no name", "")
		case slices.ContainsFunc(engines, func(other Engine) bool { return other.Name == name }):
			return nil, problem.New(problem.Invalid, "context "+name, "it is named twice", "")
		case name != "default":
			if e.Host, err = contextHost(name); err != nil {
				return nil, err
			}
		}
		if err := checkHost(e.Host); err != nil {
			return nil, fmt.Errorf("context %s: %w", name, err)
		}
		engines = append(engines, e)
	}
	return engines, nil
}

// mostContext is more than any file of a context has.
const mostContext = 1 << 20

// contextFile reads a file of a context where Docker keeps it: in DOCKER_CONFIG, or below the home directory. The
// name of the file is returned with errors, too.
func contextFile(kind, name string, path ...string) (text []byte, file string, err error) {
	home, err := os.UserHomeDir()
	configuration := cmp.Or(os.Getenv("DOCKER_CONFIG"), filepath.Join(home, ".docker"))
	if !filepath.IsAbs(configuration) {
		return nil, configuration, cmp.Or(err, errors.New("DOCKER_CONFIG is no absolute path"))
	}
	sum := sha256.Sum256([]byte(name))
	file = filepath.Join(append([]string{configuration, "contexts", kind, hex.EncodeToString(sum[:])}, path...)...)
	text, err = inputfile.Read(file, mostContext)
	return text, file, err
}

// contextHost reads the address of a context.
func contextHost(name string) (string, error) {
	text, file, err := contextFile("meta", name, "meta.json")
	if errors.Is(err, os.ErrNotExist) {
		return "", problem.New(problem.Invalid, "context "+name, "there is no "+file,
			"docker context ls lists those that there are").CausedBy(err)
	}
	if err != nil {
		return "", fmt.Errorf("context %s: %w", name, err)
	}
	var meta struct {
		Name      string
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return "", fmt.Errorf("context %s: %s: %w", name, file, err)
	}
	if meta.Name != name {
		return "", fmt.Errorf("context %s: %s is of %q", name, file, meta.Name)
	}
	engine := meta.Endpoints["docker"]
	if engine.SkipTLSVerify {
		return "", problem.New(problem.Invalid, "context "+name, "it does not verify the engine (skip-tls-verify): any "+
			"program that answers in its place is sent the passwords of services",
			"create it with a ca, and without skip-tls-verify")
	}
	return engine.Host, nil
}

// dialTLS connects to an engine with the certificates of its context. Without a certificate of the client it is
// refused: an engine that takes such connections gives root to any program that reaches its port.
func (e Engine) dialTLS(ctx context.Context, address string) (net.Conn, error) {
	var pem [3][]byte
	for i, name := range []string{"ca.pem", "cert.pem", "key.pem"} {
		text, _, err := contextFile("tls", e.Name, "docker", name)
		if err != nil {
			return nil, problem.New(problem.Invalid, "engine "+e.Name+" at "+e.Host,
				"its context has no certificates for TLS: "+err.Error(),
				"docker context create "+e.Name+" --docker host="+e.Host+",ca=CA,cert=CERT,key=KEY").CausedBy(err)
		}
		pem[i] = text
	}
	pair, err := tls.X509KeyPair(pem[1], pem[2])
	if err != nil {
		return nil, fmt.Errorf("engine %s: the certificate and key of its context: %w", e.Name, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem[0]) {
		return nil, fmt.Errorf("engine %s: the ca.pem of its context has no certificate", e.Name)
	}
	d := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{pair},
	}}
	return d.DialContext(ctx, "tcp", address)
}
