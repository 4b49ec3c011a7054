package site

import (
	"testing"
	"time"
)

func TestTheLimitOfALayoutGrowsWithItsBytes(t *testing.T) {
	if small, large := layoutLimit(0), layoutLimit(1<<40); small != LayoutPatience || large < 24*time.Hour {
		t.Errorf("%s for nothing, %s for a tebibyte", small, large)
	}
}
