package image

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"plimsoll/internal/problem"
)

// Account is a user of an image, by number.
type Account struct{ UID, GID int }

// String is the account as engines take it: "999:999".
func (a Account) String() string { return fmt.Sprintf("%d:%d", a.UID, a.GID) }

// ParseAccount reads what String writes. Root is no account that a database runs as.
func ParseAccount(text string) (a Account, err error) {
	uid, gid, _ := strings.Cut(text, ":")
	a.UID, err = strconv.Atoi(uid)
	if err == nil {
		a.GID, err = strconv.Atoi(gid)
	}
	if err != nil || a.UID <= 0 || a.GID <= 0 || a.UID > mostID || a.GID > mostID {
		return Account{}, fmt.Errorf("%q is no account: write UID:GID, both above 0", text)
	}
	return a, nil
}

const mostID = 1<<31 - 1

// Own makes a directory that belongs to the account.
func (a Account) Own(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Lchown(dir, a.UID, a.GID)
}

// maxPasswd is how much of an image's list of users is read, in bytes.
const maxPasswd = 1 << 20

// Account finds a user by name in the image's own list.
func (r *Root) Account(name string) (Account, error) {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return Account{}, err
	}
	defer root.Close()
	info, err := root.Lstat("etc/passwd")
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxPasswd) {
		err = fmt.Errorf("etc/passwd is no list of users")
	}
	var text []byte
	if err == nil {
		text, err = root.ReadFile("etc/passwd")
	}
	if err != nil {
		return Account{}, fmt.Errorf("users of image %s: %w", r.Name, err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, ":"); len(f) > 3 && f[0] == name {
			account, err := ParseAccount(f[2] + ":" + f[3])
			if err == nil {
				err = r.isNoPerson(account)
			}
			return account, err
		}
	}
	return Account{}, problem.New(problem.Unsupported, "image "+r.Name,
		"it has no user called "+name+", as whom its server is to run",
		"take the database's official image, or one that plimsoll image build makes")
}

// firstPerson is where distributions begin to count people, and nobody is the one above who is none.
const (
	firstPerson = 1000
	nobody      = 65534
)

// lookup finds a user of this host; tests have a host of their own.
var lookup = user.LookupId

// isNoPerson refuses an account that is a person's on this host: programs of others are not to run in her name, and
// she could end them or change their memory. System accounts are not refused, since official images have 999,
// which most hosts have given to something: what keeps programs from their processes are namespaces.
func (r *Root) isNoPerson(a Account) error {
	known, err := lookup(strconv.Itoa(a.UID))
	if err != nil || a.UID < firstPerson || a.UID == nobody {
		return nil //nolint:nilerr // nobody has that number
	}
	return problem.New(problem.Unsupported, "image "+r.Name,
		fmt.Sprintf("its server would run as user %d, who is %s on this host", a.UID, known.Username),
		"take an image of plimsoll image build, or an official one: the server there has another number")
}
