package lab

import (
	"slices"
	"testing"
)

func TestToy(t *testing.T) {
	if !slices.Contains(DefaultRecipe().Packages, "toyfs-progs") {
		t.Error("the lab has no package of the toy's file system")
	}
}
