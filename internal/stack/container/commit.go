package container

import (
	"context"
	"fmt"
	"time"

	"github.com/moby/moby/client"
)

// Commit makes what was written to the container the topmost layer of an image: the engine archives the files, and
// unpacks them into the layer. Files of binds are not in it. It returns how long that took.
func (c *Container) Commit(ctx context.Context, parent Image, ref string) (made Image, took time.Duration, err error) {
	began := time.Now()
	if _, err := c.engine.api.ContainerCommit(ctx, c.Name, client.ContainerCommitOptions{Reference: ref}); err != nil {
		return Image{}, 0, fmt.Errorf("commit container %s: %w", c.Name, c.engine.down(err))
	}
	parent.Ref = ref
	return parent, time.Since(began), nil
}
