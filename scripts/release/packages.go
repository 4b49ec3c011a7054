package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// about is what a package says besides its files. A static binary depends on nothing. What it starts is recommended
// where most stacks need it, and suggested where some do; names are Debian's, which others mostly share.
type about struct {
	description          string
	recommends, suggests []string
	fedora               map[string]string // what Fedora calls it, where that differs
}

var (
	plimsollPackage = about{
		description: `measures what storage a host can offer to containers
Plimsoll finds the best storage set-up for I/O-intensive containers on a host,
and how many of them the host carries: it runs fio and databases on file
systems, volumes and storage drivers, checks what they say against what the
devices counted, and explains the differences.`,
		recommends: []string{"fio", "e2fsprogs", "xfsprogs", "btrfs-progs"},
		suggests: []string{"docker.io", "iptables", "fuse-overlayfs", "lvm2", "mdadm", "dmsetup", "thin-provisioning-tools",
			"qemu-system-x86", "mmdebstrap", "xdg-utils"},
		fedora: map[string]string{"docker.io": "moby-engine", "dmsetup": "device-mapper",
			"thin-provisioning-tools": "device-mapper-persistent-data"},
	}
	kubernetesPackage = about{
		description: `lets a Kubernetes cluster know what its drives carry
A kube-scheduler with a plugin that knows how many pods of which kind a node's
drives carry, an extender for other schedulers, limits on devices for pods, and
fleets of measurements. kubectl plimsoll is the same program.`,
		suggests: []string{"plimsoll"},
	}
)

// content is an entry of nfpm's file.
type content struct {
	Src  string      `yaml:"src,omitempty"`
	Dst  string      `yaml:"dst"`
	Type string      `yaml:"type,omitempty"`
	Info contentInfo `yaml:"file_info"`
}

type contentInfo struct {
	Owner string      `yaml:"owner"`
	Group string      `yaml:"group"`
	Mode  fs.FileMode `yaml:"mode"`
	MTime time.Time   `yaml:"mtime"`
}

// nfpmFile is nfpm's description of a package.
type nfpmFile struct {
	Name            string    `yaml:"name"`
	Arch            string    `yaml:"arch"`
	Version         string    `yaml:"version"`
	Section         string    `yaml:"section"`
	Priority        string    `yaml:"priority"`
	Maintainer      string    `yaml:"maintainer"`
	Description     string    `yaml:"description"`
	License         string    `yaml:"license"`
	DisableGlobbing bool      `yaml:"disable_globbing"`
	MTime           time.Time `yaml:"mtime"`
	Recommends      []string  `yaml:"recommends,omitempty"`
	Suggests        []string  `yaml:"suggests,omitempty"`
	RPM             struct {
		BuildHost string `yaml:"buildhost"`
	} `yaml:"rpm"`
	Contents []content `yaml:"contents"`
}

// packages writes a .deb and an .rpm of a program's files.
func (r *release) packages(p program, arch string, files []file) error {
	rpmArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
	for _, to := range []struct{ format, name string }{
		{"deb", fmt.Sprintf("%s_%s_%s.deb", p.name, r.version, arch)},
		{"rpm", fmt.Sprintf("%s-%s-1.%s.rpm", p.name, r.version, rpmArch)},
	} {
		text, err := yaml.Marshal(r.describe(p, arch, to.format, files))
		if err != nil {
			return err
		}
		config := filepath.Join(r.work, to.name+".yaml")
		err = os.WriteFile(config, text, 0o600)
		if err != nil {
			return err
		}
		cmd := exec.Command("go", "tool", "-modfile=tools/nfpm/go.mod", "nfpm", "package", "--config", config,
			"--packager", to.format, "--target", filepath.Join(r.out, to.name))
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix()))
		err = run(cmd)
		if err != nil {
			return err
		}
	}
	return nil
}

// describe describes a package of a format for nfpm.
func (r *release) describe(p program, arch, format string, files []file) nfpmFile {
	f := nfpmFile{
		Name: p.name, Arch: arch, Version: r.version, Section: "admin", Priority: "optional", Maintainer: r.maintainer,
		Description: p.about.description, License: "Apache-2.0", DisableGlobbing: true, MTime: r.date,
		Recommends: p.about.names(format, p.about.recommends), Suggests: p.about.names(format, p.about.suggests),
	}
	f.RPM.BuildHost = "localhost"
	ownDirectories := map[string]bool{"share/doc": true} // what lies below it is of this package alone, and goes with it
	for _, packaged := range files {
		if strings.HasPrefix(packaged.path, "share/doc/") {
			for _, dir := range directoriesOf(packaged.path, ownDirectories) {
				f.Contents = append(f.Contents,
					content{Dst: path.Join("/usr", dir), Type: "dir", Info: contentInfo{"root", "root", 0o755, r.date}})
			}
		}
		c := content{Src: packaged.from, Dst: path.Join("/usr", packaged.path),
			Info: contentInfo{"root", "root", packaged.mode, r.date}}
		if packaged.link != "" {
			c.Src, c.Type = packaged.link, "symlink"
		}
		f.Contents = append(f.Contents, c)
	}
	return f
}

// names are those of packages in distributions with that format.
func (a about) names(format string, debian []string) (names []string) {
	for _, name := range debian {
		other, differs := a.fedora[name]
		if format == "rpm" && differs {
			name = other
		}
		names = append(names, name)
	}
	return names
}
