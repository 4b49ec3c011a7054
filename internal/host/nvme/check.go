package nvme

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"plimsoll/internal/state/inputfile"
)

// CheckNQN returns an error for an invalid NVMe qualified name. It is stricter than the kernel, which accepts any
// text: names become directories and parts of lists.
func CheckNQN(nqn string) error {
	switch {
	case !strings.HasPrefix(nqn, "nqn."):
		return errors.New(`it starts with "nqn.", as in nqn.2014-08.org.nvmexpress:uuid:…`)
	case len(nqn) > 223:
		return errors.New("it is longer than 223 characters")
	case strings.ContainsAny(nqn, `/,*?[]\`) ||
		strings.ContainsFunc(nqn, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return errors.New(`it holds a blank or one of / , * ? [ ] \`)
	}
	return nil
}

// CheckSecret returns an error for an invalid DH-HMAC-CHAP secret, without disclosing it: "DHHC-1:HH:BASE64:", where
// the bytes are a key of 32, 48 or 64 bytes and its CRC-32 (NVM Express Base Specification 2.0, 8.13.5.8).
func CheckSecret(secret string) error {
	f := strings.Split(secret, ":")
	if len(f) != 4 || f[0] != "DHHC-1" || f[3] != "" {
		return errors.New(`it does not have the form "DHHC-1:00:…:" (nvme gen-dhchap-key makes one)`)
	}
	size := map[string]int{"00": 0, "01": 32, "02": 48, "03": 64}
	want, ok := size[f[1]]
	b, err := base64.StdEncoding.DecodeString(f[2])
	n := len(b) - 4
	switch {
	case !ok:
		return errors.New("its second part, the hash, is none of 00, 01, 02, 03")
	case err != nil:
		return errors.New("its third part is not base64")
	case n != 32 && n != 48 && n != 64 || want != 0 && n != want:
		return fmt.Errorf("its key has %d bytes, which does not go with hash %s", n, f[1])
	case crc32.ChecksumIEEE(b[:n]) != binary.LittleEndian.Uint32(b[n:]):
		return errors.New("its checksum is wrong: it was cut or mistyped")
	}
	return nil
}

// ReadSecret reads a DH-HMAC-CHAP secret from a file that only its owner can
// read. Errors hold nothing of it.
func ReadSecret(path string) (string, error) {
	secret, err := inputfile.ReadSecret(path)
	if err != nil {
		return "", err
	}
	if err := CheckSecret(secret); err != nil {
		return "", fmt.Errorf("the DH-HMAC-CHAP secret in %s: %w", path, err)
	}
	return secret, nil
}

// HostID returns the UUID for a host's NQN: the content of /etc/nvme/hostid for that of /etc/nvme/hostnqn, the UUID
// in the NQN, or one derived from the NQN, so that it is the same each time. etc is the path of /etc.
func HostID(etc, hostNQN string) string {
	if read(etc, "nvme/hostnqn") == hostNQN {
		if id, err := uuid.Parse(read(etc, "nvme/hostid")); err == nil {
			return id.String()
		}
	}
	if id, err := uuid.Parse(hostNQN[strings.LastIndexByte(hostNQN, ':')+1:]); err == nil {
		return id.String()
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(hostNQN)).String()
}

// HostNQN returns this host's NQN, "" when it has none yet.
func HostNQN(etc string) string { return read(etc, "nvme/hostnqn") }
