package guidelines

// Published is a guideline that a paper gives.
type Published struct {
	ID    string `json:"id"`
	Paper string `json:"paper"` // "IPCCC'16"
	Where string `json:"where"`
	Text  string `json:"text"` // in a sentence of ours
}

// The guidelines that the papers give, and that a run can agree or disagree with.
var (
	writeUntilCPU = Published{"write-until-cpu", "IPCCC'16", "V",
		"containers that mostly write add throughput until the processors are full"}
	beforeTheValley = Published{"before-the-valley", "IPCCC'16", "V",
		"containers that mostly read from memory must be so few that their files fit in it"}
	notSequentialBesideRandom = Published{"not-sequential-beside-random", "IPCCC'16", "V",
		"what writes or reads at random loses most beside what does so in sequence"}
	alikeIsFair = Published{"alike-is-fair", "IPCCC'16", "V",
		"containers that do the same kind of I/O slow each other fairly"}
	readersBesideWriters = Published{"readers-beside-writers", "IPCCC'16", "V",
		"what reads and what writes lose about a tenth beside each other"}
	balance = Published{"balance", "MSST'17", "6.3",
		"too many instances on a server cost throughput, for want of memory and of the disk's bandwidth"}
	processorsAlone = Published{"processors-alone", "MSST'17", "6.2 and slides",
		"limit the processors of each container, and leave memory and bandwidth to all"}
	volumes   = Published{"volumes", "MSST'17", "slides", "data volumes on xfs are the best option on NVMe drives"}
	remote    = Published{"remote", "MSST'17", "9", "a remote drive does about what one of the host does"}
	spread    = Published{"spread", "MSST'17", "6.3", "two servers with a drive each do more than one with two drives"}
	readsGain = Published{"reads-gain", "SYSTOR'15", "4.2",
		"a faster drive helps reads that miss memory, and hardly helps what memory answers"}
	memoryFirst = Published{"memory-first", "SYSTOR'15", "4.2", "reads depend on memory that holds the data more than on anything else"}
)

// All returns the guidelines that papers give, in the order in which they are shown.
func All() []Published {
	return []Published{notSequentialBesideRandom, alikeIsFair, readersBesideWriters, writeUntilCPU, beforeTheValley, balance,
		processorsAlone, memoryFirst, readsGain, volumes, remote, spread}
}
