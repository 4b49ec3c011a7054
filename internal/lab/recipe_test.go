package lab

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/stack"
)

// Whatever goes into an image changes its name, and nothing else does.
func TestHashFollowsTheRecipe(t *testing.T) {
	if again := DefaultRecipe(); again.Hash() != DefaultRecipe().Hash() {
		t.Fatal("the same recipe has two hashes")
	}
	seen := map[string]string{DefaultRecipe().Hash(): "nothing"}
	fields := reflect.TypeFor[Recipe]()
	for i := range fields.NumField() {
		r := DefaultRecipe()
		switch f := reflect.ValueOf(&r).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString(f.String() + "x")
		case reflect.Slice:
			f.Set(reflect.Append(reflect.ValueOf(slices.Clone(f.Interface().([]string))), reflect.ValueOf("x")))
		case reflect.Int, reflect.Int64:
			f.SetInt(f.Int() + 1)
		default:
			t.Fatalf("a field of kind %s, which this test cannot change", f.Kind())
		}
		name := fields.Field(i).Name
		if same, ok := seen[r.Hash()]; ok {
			t.Errorf("a change of %s gives the hash of a change of %s", name, same)
		}
		seen[r.Hash()] = name
	}
}

func TestModulesAreLoadedAfterWhatTheyNeed(t *testing.T) {
	dep := `kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko kernel/lib/crc16.ko
kernel/fs/jbd2/jbd2.ko:
kernel/lib/crc16.ko:
kernel/drivers/virtio/virtio_pci.ko: kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/virtio/virtio_ring.ko:
kernel/drivers/char/virtio-console.ko.xz: kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko
`
	order, err := loadOrder(dep, []string{"virtio_pci", "virtio_console", "ext4"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range order {
		names = append(names, moduleName(f))
	}
	if got, want := strings.Join(names, " "), "virtio_ring virtio virtio_pci virtio_console crc16 jbd2 ext4"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	if _, err := loadOrder(dep, []string{"aufs"}); err == nil || !strings.Contains(err.Error(), "aufs") {
		t.Errorf("a module that there is not: %v", err)
	}
}

// The lab has the program that makes each file system of the table that is part of Linux.
func TestRecipeHasEachFileSystem(t *testing.T) {
	for _, f := range stack.FileSystems() {
		if f.Package == "" || f.KernelOption == "" || slices.Contains(DefaultRecipe().Packages, f.Package) == f.External {
			t.Errorf("%s of %q with %q is not in the recipe", f.Name, f.Package, f.KernelOption)
		}
	}
}
