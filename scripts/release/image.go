package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

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

// image writes an archive of the image of both programs and nothing else, for all architectures, in OCI's layout.
func (r *release) image() error {
	fmt.Println("packing the image")
	both := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		made, err := r.imageFor(arch)
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
	tag := imageName + ":" + r.version
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
	f, err := os.Create(filepath.Join(r.out, fmt.Sprintf("%s-%s-oci.tar", imageName, r.version)))
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

// imageFor is the image for one architecture.
func (r *release) imageFor(arch string) (v1.Image, error) {
	var files []file
	for _, p := range programs {
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
