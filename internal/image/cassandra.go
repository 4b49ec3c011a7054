package image

import (
	_ "embed" // of the list
	"runtime"
	"slices"
)

// cassandraJars are the run-time dependencies of org.apache.cassandra:cassandra-all:5.0.9, without native libraries
// of systems other than Linux.
//
//go:embed cassandra-5.0.9.txt
var cassandraJars string

// cassandra has the paths of the official image, so that one command line works for both: jars in /opt/cassandra/lib,
// and a Java in /opt/java/openjdk.
var cassandra = Recipe{
	Name: "cassandra", Summary: "Cassandra 5.0, as Maven Central has it, with Debian's Java 17",
	Others:   "version 4.1 needs Java 8 or 11, and Debian 12 has 17",
	Packages: addToBase("openjdk-17-jre-headless", "libstdc++6", "zlib1g"),
	Without:  slices.Concat(installers, desktopPackages),
	Path:     "/opt/java/openjdk/bin:" + debianPath, User: "cassandra", UserID: 999,
	Jars:  &Jars{List: cassandraJars, Into: "opt/cassandra/lib", Version: "5.0.9"},
	Links: map[string]string{"opt/java/openjdk": "/usr/lib/jvm/java-17-openjdk-" + runtime.GOARCH},
	Env:   []string{"JAVA_HOME=/opt/java/openjdk", "CASSANDRA_HOME=/opt/cassandra"},
}

// desktopPackages are Java's dependencies for screens, printers, sound and certificates, which a server does not
// need.
var desktopPackages = []string{
	"ca-certificates", "ca-certificates-java", "fontconfig-config", "fonts-dejavu-core", "java-common",
	"libasound2", "libasound2-data", "libavahi-client3", "libavahi-common-data", "libavahi-common3", "libbrotli1",
	"libcom-err2", "libcups2", "libdbus-1-3", "libexpat1", "libfontconfig1", "libfreetype6", "libglib2.0-0",
	"libgnutls30", "libgraphite2-3", "libgssapi-krb5-2", "libharfbuzz0b", "libhogweed6", "libidn2-0",
	"libjpeg62-turbo", "libk5crypto3", "libkeyutils1", "libkrb5-3", "libkrb5support0", "liblcms2-2", "libnettle8",
	"libnspr4", "libnss3", "libp11-kit0", "libpcsclite1", "libpng16-16", "libsqlite3-0", "libtasn1-6",
	"libunistring2", "openssl", "util-linux", "util-linux-extra",
}
