package apply

import (
	"context"
	"fmt"

	"github.com/moby/moby/client"

	"plimsoll/internal/problem"
)

// volume returns the name of a replica's volume. Names of projects have no dot, so that no two projects share one.
func (t *Target) volume(name string, number int) string {
	return fmt.Sprintf("%s.%s-%d", t.Project, name, number)
}

// ownVolume makes a volume with the project's label, unless it is there, and refuses one of another project or of none:
// it would be read and written. An engine returns the volume that it has where one is made again, so that the answer
// says whose it is, also where two projects ask at the same time. One that was restarted answers without labels until
// it is asked for the volume. Volumes have data, and no undo removes them.
func (c *connection) ownVolume(ctx context.Context, name, project string) error {
	labels := map[string]string{}
	err := c.ask(ctx, "make volume "+name, 0, func(ctx context.Context) error {
		made, err := c.api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name,
			Labels: map[string]string{labelProject: project}})
		labels = made.Volume.Labels
		return err
	})
	if err != nil || labels[labelProject] == project {
		return err
	}
	err = c.ask(ctx, "inspect volume "+name, 0, func(ctx context.Context) error {
		found, err := c.api.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
		labels = found.Volume.Labels
		return err
	})
	if err != nil || labels[labelProject] == project {
		return err
	}
	return problem.New(problem.Protected, fmt.Sprintf("volume %s on engine %s", name, c.Name),
		"it is there, and is not of project "+project,
		"name the project or the volume otherwise; if the data is yours, copy it into a volume that "+
			"docker --context "+c.Name+" volume create --label "+labelProject+"="+project+" makes")
}
