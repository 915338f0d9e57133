package commit

// Step names a moment of a commit, for [Options.Hook]. The constants are in the order in which a
// commit reaches them; each method passes only the steps that apply to it.
type Step string

// Steps.
const (
	StepLocked           Step = "locked"       // the directory is locked; nothing was checked
	StepChecked          Step = "checked"      // the target has the base content (existing targets only)
	StepTempWritten      Step = "temp_written" // the new bytes are flushed, and have no permanent name
	StepTempLinked       Step = "temp_linked"  // they have a temporary name next to the target (existing targets only)
	StepRechecked        Step = "rechecked"    // the target still has the base content; with leases, an open for writing waits from here on (existing targets only)
	StepExchanged        Step = "exchanged"    // they are at the path, where another program's open waits for the verdict; the displaced file has a temporary name
	StepVerified         Step = "verified"     // the displaced file has the base content, and no process can write to it
	StepUndone           Step = "undone"       // it did not: the exchange was undone, and the new bytes have the temporary name
	StepSynced           Step = "synced"       // the directory is flushed
	StepUnlinked         Step = "unlinked"     // the displaced file has no name any more
	StepDuplicateDropped Step = "twin_dropped" // another program's bytes were kept already: the duplicate file has no name any more

	StepRecoverySaved  Step = "recovery_saved"   // several hard links: the recovery file is flushed
	StepInPlaceHalf    Step = "in_place_half"    // the first half of the new bytes is written
	StepInPlaceWritten Step = "in_place_written" // all are written, not yet flushed
)
