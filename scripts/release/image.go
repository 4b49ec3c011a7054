package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	imageName = "plimsoll-kubernetes"
	// imageUser is that of the manifests' schedulers. Pods that measure nodes ask for root themselves.
	imageUser = "65532:65532"
)

// imageOf returns the programs of the image for a minor version of Kubernetes, and its tag.
func (r *release) imageOf(minor string) (both []program, tag string) {
	both, tag = slices.Clone(programs), r.version
	if minor == "" {
		return both, tag
	}
	for i := range both {
		if both[i].name == imageName {
			both[i].minor = minor
		}
	}
	return both, tag + "-k" + minor
}

// image writes an archive of the image of both programs and nothing else, for all architectures, in OCI's layout; its
// digest; and the modules of its scheduler, unless an archive of the release has that program.
func (r *release) image(minor string) error {
	contents, version := r.imageOf(minor)
	for _, p := range contents {
		for _, arch := range architectures {
			err := r.build(p, arch)
			if err == nil && p.minor != "" {
				err = r.bom(p, version, arch)
			}
			if err != nil {
				return fmt.Errorf("%s for %s: %w", p.name, arch, err)
			}
		}
	}
	return r.pack(contents, version)
}

// pack writes the image of programs that are built.
func (r *release) pack(contents []program, version string) error {
	fmt.Println("packing the image", version)
	both := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		made, err := r.imageFor(contents, arch)
		if err != nil {
			return err
		}
		both = mutate.AppendManifests(both, mutate.IndexAddendum{
			Add: made, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	dir := filepath.Join(r.work, "oci")
	archive, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	tag := imageName + ":" + version
	// containerd takes the first name, and others the second one.
	err = archive.AppendIndex(both, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name": "docker.io/library/" + tag, "org.opencontainers.image.ref.name": tag,
	}))
	if err != nil {
		return err
	}
	files, err := filesBelow(dir)
	if err != nil {
		return err
	}
	for i := range files {
		files[i].mode = 0o644 // whatever the umask
	}
	digest, err := both.Digest()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s-oci", imageName, version)
	err = r.write(name+".digest", []byte(digest.String()+"\n"))
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, name+".tar"))
	if err != nil {
		return err
	}
	defer f.Close()
	err = writeTar(f, "", files, r.date)
	if err != nil {
		return err
	}
	return f.Close()
}

// imageFor returns the image for one architecture.
func (r *release) imageFor(contents []program, arch string) (v1.Image, error) {
	var files []file
	for _, p := range contents {
		from := r.binary(p, arch)
		info, err := os.Stat(from)
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: p.name, from: from, mode: 0o755, size: info.Size()})
	}
	var content bytes.Buffer
	err := writeTar(&content, "usr/local/bin", files, r.date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	made, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.date}
	config.Config = v1.Config{
		Env: []string{"PATH=/usr/local/bin"}, Entrypoint: []string{imageName}, User: imageUser,
		Labels: map[string]string{
			"org.opencontainers.image.title": imageName, "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(made, config)
}
