package stopping

import (
	"embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
)

// Each file is what fio logged on one stack: comments, the first of which says
// on which one, and the IOPS of successive 250 ms. Its folder is its kind.
//
//go:embed recorded
var files embed.FS

// block is the mean length of the blocks that a recording is resampled in, in
// samples: ten seconds.
const block = 10 * perSecond

// recorded are the recordings, resampled to any length.
func recorded() (sources []source, err error) {
	err = fs.WalkDir(files, "recorded", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		comment, values, err := parse(string(data))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sources = append(sources, source{
			kind:    "recorded, " + strings.ReplaceAll(path.Base(path.Dir(name)), "-", " "),
			name:    strings.TrimSuffix(e.Name(), ".txt"),
			formula: comment,
			make:    func(rng *rand.Rand, n int) []float64 { return resample(rng, values, n) },
			mean:    mean(values),
		})
		return nil
	})
	return sources, err
}

func parse(text string) (comment string, values []float64, err error) {
	for line := range strings.Lines(text) {
		if c, ok := strings.CutPrefix(line, "# "); ok {
			if comment == "" {
				comment = strings.TrimSuffix(strings.TrimSpace(c), ".")
			}
			continue
		}
		for field := range strings.FieldsSeq(line) {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return "", nil, err
			}
			values = append(values, v)
		}
	}
	if len(values) < 2*block {
		return "", nil, fmt.Errorf("only %d samples: too few to resample in blocks of %d", len(values), block)
	}
	return comment, values, nil
}

// resample is the stationary bootstrap of Politis and Romano (1994): blocks
// from anywhere in the recording, taken as a circle, of geometric lengths. The
// result is stationary, and its long-run mean is the recording's. A recording
// of nearly n samples is not cut up: it starts anywhere and goes round.
func resample(rng *rand.Rand, values []float64, n int) []float64 {
	whole := 10*len(values) >= 9*n
	rates := make([]float64, n)
	index := rng.IntN(len(values))
	for i := range rates {
		if !whole && rng.IntN(block) == 0 {
			index = rng.IntN(len(values))
		}
		rates[i] = values[index]
		index = (index + 1) % len(values)
	}
	return rates
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
