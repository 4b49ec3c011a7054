// Package fio is the workload kind "fio": it writes fio's job files, and
// reads fio's json+ output.
//
// The package is pure. Hazards that its code has to know:
//
//   - fio's own sizes are not the usual ones: to fio "4k" and "4KB" are 4096
//     bytes, and "4KiB" is 4000. Generated job files hold plain numbers; a
//     user's job file that says "4KiB" is refused.
//   - A time-based job that finds no file lays it out by itself, which takes
//     time and leaves the page cache warm. Prepare writes the file first, and
//     the measured job may not create one.
//   - A job file can run commands (exec_prerun, and "$ncpus" goes through a
//     shell) and name any file of the host. A user's job file may use only
//     what is known to stay on the stack.
//   - Errors hide in the output: fio ends with code 0 or 1 and puts "error"
//     into the JSON, after lines of plain text. Nothing but a clean output
//     gives a measurement.
package fio

// name is the key in experiment files, the program, and result.Workload.Kind.
const name = "fio"

// Base names of the files of steps.
const (
	jobFileName    = "job.fio"
	outputName     = "fio.json"
	layoutFileName = "prepare.fio"
	layoutOutput   = "prepare.json"
	warmFileName   = "warm.fio"
	warmOutput     = "warm.json"
)

// dataFile is the file that the built-in form reads and writes, in the
// target's directory.
const dataFile = "plimsoll-fio.dat"
